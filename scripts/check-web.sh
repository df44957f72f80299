#!/usr/bin/env bash
# Builds the page, runs it in headless Chromium on a GPU in software, compares what both engines find there, and fails if they
# differ, if nothing is to be seen, if anything is wrong in the console, if the first pairs come later than FIRST_PAIRS_LIMIT (5)
# seconds after navigation, or if the page is a download of more than 1.5 MB. Leaves pictures to be looked at.
#
#   scripts/check-web.sh [FOLDER FOR THE PICTURES]
#
# Needs what scripts/web.sh needs, python3, brotli, and Chromium (Debian: chromium); CHROMIUM may name another one.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
out=${1:-$target/page-check}
mkdir -p "$out"
chromium=$(command -v "${CHROMIUM:-chromium}" || true)
[ -n "$chromium" ] || { echo "missing: chromium" >&2; exit 3; }
command -v brotli >/dev/null || { echo "missing: brotli" >&2; exit 3; }

scripts/web.sh
# As a server compresses it.
size=$(for file in "$target"/page/*; do brotli -c "$file"; done | wc -c)
echo "the page is a download of $size bytes, compressed by brotli"
[ "$size" -lt 1500000 ] || { echo "FAILED: more than 1,500,000" >&2; exit 1; }
python3 scripts/check_web.py "$target/page" "$chromium" "$out"
