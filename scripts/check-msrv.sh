#!/usr/bin/env bash
# Checks that the published packages and the Python package compile with the oldest Rust that Cargo.toml allows (`rust-version`).
#
#   scripts/check-msrv.sh
#
# rustup installs that version where it is not there. Ends with status 3 where it cannot, so that a caller can tell that from an error.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH

version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! { command -v rustup && rustup toolchain install "$version" --profile minimal; } >/dev/null 2>&1; then
    echo "Rust $version is not installed, and rustup cannot install it here" >&2
    exit 3
fi
export RUSTUP_TOOLCHAIN=$version
rustc --version
cargo check --locked --package broadsweep --package broadsweep-cli --package broadsweep-python --features broadsweep/serde
cargo check --locked --package broadsweep --no-default-features
