#!/usr/bin/env bash
# Sees to it that there is a nats-server for the tests of many machines (crates/raddle-fleet/tests/faults, crates/cargo-raddle/tests/it/fleet.rs).
# Installs Debian's if there is none and that is possible; says so if it is not. The tests are skipped
# then, by name, unless NATS_TESTS=required. With `--found` it only looks, and fails if there is none.
set -euo pipefail

# Debian has it where not every user looks.
PATH=$PATH:/usr/sbin
if program=$(command -v nats-server); then
    echo "nats-server: $program"
    exit 0
fi
if [ "${1-}" = --found ]; then exit 1; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "nats-server: none; installing it"
    # iproute2 for the test that cuts a network.
    if { apt-get install -y --no-install-recommends nats-server iproute2 \
        || { apt-get update && apt-get install -y --no-install-recommends nats-server iproute2; }
    } >/dev/null 2>&1; then
        echo "nats-server: $(command -v nats-server)"
        exit 0
    fi
    echo "nats-server: it could not be installed"
fi
echo "NOTICE: there is no nats-server here, so the tests of many machines will be skipped. Install nats-server."
