#!/usr/bin/env bash
# Checks types for systems that this is not built on, where their std is installed (`rustup target add TARGET`); says so where it is not.
# Nothing is linked and nothing is run.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=(-p raddle -p raddle-loom -p raddle-shuttle --features "raddle/check,raddle/actors")
has() { [ -d "$("${RUSTC:-rustc}" --print target-libdir --target "$1")" ]; }

for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
    if ! has "$target"; then
        echo "NOTICE: there is no std for $target here, so types are not checked for it. rustup target add $target"
        continue
    fi
    echo "types for $target"
    RUSTFLAGS="-D warnings" cargo check --locked --target "$target" "${libraries[@]}"
    case $target in
    *windows*)
        # The command needs a Unix, and says so instead of a hundred errors.
        said=$(cargo check --locked --target "$target" -p cargo-raddle 2>&1) && { echo "cargo-raddle is not to compile for $target"; exit 1; }
        grep -q "cargo-raddle needs a Unix" <<<"$said" || { echo "$said"; exit 1; }
        ;;
    *) RUSTFLAGS="-D warnings" cargo check --locked --target "$target" -p cargo-raddle ;;
    esac
done
