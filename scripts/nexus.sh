#!/usr/bin/env bash
# Compares broadsweep on a GPU with the broad phase of nexus (dimforge), on the same device, and prints CSV. Not in CI; needs Rust,
# rustup, spirv-opt and spirv-val (Debian's spirv-tools), and a network.
#
#   scripts/nexus.sh [OPTION...] [KIND:N...]     the head of benches/nexus/src/main.rs has the options
#   scripts/nexus.sh --build                     builds alone, and prints the path of the program
#
# nexus compiles its kernels with `cargo gpu` 0.10, which this script installs in the target directory, once.
#
#   RUST_GPU_TOOLCHAIN=nightly-2026-07-02   the toolchain of this compiler. It names nightly-2026-07-03, for which rustup offers no
#                                           rustc-dev; the one of the day before builds it unchanged
#
# WGPU_ADAPTER_NAME chooses the adapter.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
command -v spirv-opt >/dev/null || { echo "spirv-opt is missing: install Debian's spirv-tools" >&2 && exit 1; }
toolchain=${RUST_GPU_TOOLCHAIN:-nightly-2026-07-02}
target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
tools=$target/rust-gpu
export CARGO_TARGET_DIR=$target PATH=$tools/bin:$PATH
mkdir -p "$tools/cache/.cargo"

# Prints the folder with the sources of a crate that is a dependency of the package here or of the one in this folder.
sources() {
    cargo metadata --format-version 1 --manifest-path "$2/Cargo.toml" |
        grep -o "\"manifest_path\":\"[^\"]*/$1-[0-9][^\"/]*/Cargo.toml\"" | head -n 1 | sed 's/.*":"\(.*\)\/Cargo.toml"/\1/'
}

{
    if ! [ -x "$tools/bin/cargo-gpu" ]; then
        cargo install cargo-gpu --version 0.10.0 --locked --no-default-features --root "$tools"
    fi
    if ! [ -d "$tools/rustc_codegen_spirv" ]; then
        mkdir -p "$tools/fetch/src"
        printf '[package]\nname = "fetch"\nedition = "2024"\n[workspace]\n[dependencies]\nrustc_codegen_spirv = "=0.10.0"\n' >"$tools/fetch/Cargo.toml"
        touch "$tools/fetch/src/lib.rs"
        cp -r "$(sources rustc_codegen_spirv "$tools/fetch")" "$tools/rustc_codegen_spirv"
        # With the installed spirv-opt and spirv-val, no C++ library is built.
        sed -i 's/^default = \["use-compiled-tools"\]/default = ["use-installed-tools"]/' "$tools/rustc_codegen_spirv/Cargo.toml"
    fi
    rustup toolchain install "$toolchain" --profile minimal -c cargo,rustc,rust-std,clippy,rust-src,rustc-dev,llvm-tools
    commit=$(rustc "+$toolchain" -vV | sed -n 's/^commit-hash: //p')
    # `cargo gpu` reads the toolchain from these two lines.
    sed -i "s/^channel = \"[^\"]*\"/channel = \"$toolchain\"/; s/^# commit_hash = [0-9a-f]*/# commit_hash = $commit/" "$tools/rustc_codegen_spirv/build.rs"
    printf '[patch.crates-io]\nrustc_codegen_spirv = { path = "%s" }\n' "$tools/rustc_codegen_spirv" >"$tools/cache/.cargo/config.toml"
    export XDG_CACHE_HOME=$tools/cache
    cargo gpu install --shader-crate "$(sources nexus_rbd_shaders3d benches/nexus)" --auto-install-rust-toolchain
    cargo build --release --locked --manifest-path benches/nexus/Cargo.toml
} >&2

if [ "${1:-}" = --build ]; then
    echo "$target/release/broadsweep-nexus"
else
    "$target/release/broadsweep-nexus" "$@"
fi
