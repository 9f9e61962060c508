#!/usr/bin/env bash
# Sees to it that there is a Chromium for the tests of the pages (crates/raddle-report/tests/browser).
# Installs Debian's if there is none and that is possible; says so if it is not. The tests are skipped
# then, by name, unless BROWSER_TESTS=required. With `--found` it only looks, and fails if there is none.
set -euo pipefail

for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if program=$(command -v "$name"); then
        echo "browser: $program"
        exit 0
    fi
done
if [ "${1-}" = --found ]; then exit 1; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "browser: none; installing chromium"
    if { apt-get install -y --no-install-recommends chromium fonts-dejavu-core \
        || { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; }
    } >/dev/null 2>&1; then
        echo "browser: $(command -v chromium)"
        exit 0
    fi
    echo "browser: chromium could not be installed"
fi
echo "NOTICE: there is no browser here, so the tests of the pages will be skipped. Install chromium."
