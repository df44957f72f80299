#!/usr/bin/env bash
# Compares the public items of the library with docs/api.txt.
#
#   scripts/api.sh            fails where they differ, and prints the difference
#   scripts/api.sh --update   writes docs/api.txt anew; commit it with the change
#
# A line that goes or changes breaks callers: it needs a new minor version before 1.0, and a line in CHANGELOG.md. rustdoc lists the items;
# its JSON is unstable, so that one version of the compiler is used: the one in use, or one that rustup installs.
#
# Ends with status 3 where that version is not there and cannot be installed, so that a caller can tell that from an error.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH

compiler=1.95.0
list=docs/api.txt

if [ "$(rustc --version | cut -d' ' -f2)" != "$compiler" ]; then
    if ! { command -v rustup && rustup toolchain install "$compiler" --profile minimal; } >/dev/null 2>&1; then
        echo "Rust $compiler is not installed, and rustup cannot install it here" >&2
        exit 3
    fi
    export RUSTUP_TOOLCHAIN=$compiler
fi

target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# rustdoc alone takes unstable options from a stable compiler here: crates that saw the variable too would be compiled again.
printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' >"$target/rustdoc-json"
chmod +x "$target/rustdoc-json"
RUSTDOC=$target/rustdoc-json cargo rustdoc --quiet --package broadsweep --lib --all-features --locked -- -Z unstable-options --output-format json
new=$target/api.txt
cargo run --quiet --locked --manifest-path scripts/api/Cargo.toml --target-dir "$target/api" -- "$target/doc/broadsweep.json" >"$new"

if [ "${1:-}" = --update ]; then
    cp "$new" "$list"
elif ! diff --unified=0 "$list" "$new"; then
    echo "The public items of the library differ from $list. If that is meant: scripts/api.sh --update" >&2
    exit 1
fi
