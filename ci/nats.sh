#!/usr/bin/env bash
# Sees to it that there is a nats-server for the tests of many machines (crates/raddle-fleet/tests/faults, crates/cargo-raddle/tests/it/fleet.rs).
# Installs Debian's if there is none and that is possible; says so if it is not. The tests are skipped
# then, by name, unless NATS_TESTS=required. With `--found` it only looks, and fails if there is none.
set -euo pipefail

# Debian has it where not every user looks.
PATH=$PATH:/usr/sbin
# Whether there is all that the tests use: the server, what cuts a network, what makes certificates.
has_all() { command -v nats-server && command -v ip && command -v openssl; } >/dev/null
if [ "${1-}" = --found ]; then command -v nats-server; exit; fi
if ! has_all && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "nats-server: it, ip or openssl is missing; installing all three"
    packages=(nats-server iproute2 openssl)
    { apt-get install -y --no-install-recommends "${packages[@]}" \
        || { apt-get update && apt-get install -y --no-install-recommends "${packages[@]}"; }
    } >/dev/null 2>&1 || echo "nats-server: not all could be installed"
fi
if program=$(command -v nats-server); then
    echo "nats-server: $program"
    exit 0
fi
echo "NOTICE: there is no nats-server here, so the tests of many machines will be skipped. Install nats-server."
