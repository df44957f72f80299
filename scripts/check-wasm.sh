#!/usr/bin/env bash
# Checks that the library compiles for browsers. Not the command line, which has no use there.
#
#   scripts/check-wasm.sh
#
# Takes either toolchain for wasm32:
#   rustup target add wasm32-unknown-unknown
#   apt-get install rustc-web cargo-web rust-web-src     (Debian; the standard library is compiled here, 1 minute)
#
# Ends with status 3 where there is none, so that a caller can tell that from an error.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH

check=(check --package broadsweep --lib --locked --target wasm32-unknown-unknown)
# A warning for this target alone (something unused there) would be seen nowhere else.
export RUSTFLAGS="-D warnings"

if [ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" ]; then
    cargo "${check[@]}"
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -d /usr/lib/rustlib/src/rust/library ]; then
    # Debian has the standard library's source only, and cargo compiles that where it thinks it is a nightly.
    # First in PATH, since cargo calls rustc and rustdoc by name.
    export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    cargo "${check[@]}" -Z build-std=std,panic_abort
else
    echo "there is no toolchain for wasm32-unknown-unknown" >&2
    exit 3
fi
