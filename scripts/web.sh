#!/usr/bin/env bash
# Builds the page, target/page: a folder of static files that any server can serve. With --serve, serves it on this machine.
#
#   scripts/web.sh [--serve [PORT]]
#
# Takes what scripts/check-wasm.sh takes, and lld. wasm-bindgen, in the version of Cargo.lock, is compiled into target/web-tools where
# it is not installed (some minutes, once); wasm-opt is taken from PATH, or from npm's package binaryen if there is npm.

set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH

target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
out=$target/page
tools=$target/web-tools
version=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p}' Cargo.lock)

bindgen=$(command -v wasm-bindgen || true)
if [ "$("${bindgen:-false}" --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
    bindgen=$tools/bin/wasm-bindgen
    if [ "$("$bindgen" --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
        cargo install wasm-bindgen-cli --version "$version" --root "$tools"
    fi
fi

build=(build --package broadsweep-web --profile web --locked --target wasm32-unknown-unknown)
if [ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null)" ]; then
    cargo "${build[@]}"
elif [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -d /usr/lib/rustlib/src/rust/library ]; then
    # As in check-wasm.sh. Debian's rustc has no linker for wasm of its own.
    (
        export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="-C linker=wasm-ld"
        cargo "${build[@]}" -Z build-std=std,panic_abort
    )
else
    echo "there is no toolchain for wasm32-unknown-unknown: scripts/check-wasm.sh says which there are" >&2
    exit 3
fi

rm -rf "$out"
mkdir -p "$out"
"$bindgen" --target web --no-typescript --out-dir "$out" \
    "$target/wasm32-unknown-unknown/web/broadsweep_web.wasm"
cp examples/web/page/* "$out"

wasm=$out/broadsweep_web_bg.wasm
before=$(stat -c %s "$wasm")
opt=$(command -v wasm-opt || true)
# Older ones (Debian 12 has 108) write a page that does not start.
if [ -z "$opt" ] || [ "$("$opt" --version | cut -d ' ' -f 3)" -lt 120 ]; then
    opt=$tools/node_modules/.bin/wasm-opt
    if [ ! -x "$opt" ] && command -v npm >/dev/null; then
        npm install --silent --no-audit --no-fund --prefix "$tools" binaryen@125.0.0 >/dev/null || true
    fi
fi
if [ -x "$opt" ]; then
    "$opt" -O3 --all-features "$wasm" -o "$wasm.small"
    mv "$wasm.small" "$wasm"
else
    echo "NOT RUN: wasm-opt, as it cannot be had here" >&2
fi
printf '%s: %d bytes, %d before wasm-opt, %d compressed by gzip\n' \
    "$out" "$(stat -c %s "$wasm")" "$before" "$(gzip -9c "$wasm" | wc -c)"

if [ "${1:-}" = --serve ]; then
    port=${2:-8080}
    echo "http://127.0.0.1:$port"
    exec python3 -m http.server --bind 127.0.0.1 --directory "$out" "$port"
fi
