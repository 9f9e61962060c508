#!/usr/bin/env bash
# Sees to it that there is a valgrind for `cargo xtask budgets`. Installs Debian's if there is none and that is
# possible; says so if it is not. The budgets are not checked then.
set -euo pipefail

if program=$(command -v valgrind); then
    echo "valgrind: $program"
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "valgrind: none; installing it"
    if { apt-get install -y --no-install-recommends valgrind \
        || { apt-get update && apt-get install -y --no-install-recommends valgrind; }
    } >/dev/null 2>&1; then
        echo "valgrind: $(command -v valgrind)"
        exit 0
    fi
    echo "valgrind: it could not be installed"
fi
echo "NOTICE: there is no valgrind here, so the budgets of instructions will not be checked. Install valgrind."
