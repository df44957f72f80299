#!/usr/bin/env bash
# Builds the Python package, wheel and sdist, and tries the wheel where there is no Rust. Needs Rust, Python 3.10 or later
# and, for maturin and NumPy, the network.
#
#   scripts/wheel.sh [OUT]       into python/dist, if not told otherwise
#
# The wheel is installed into an environment of its own, in which the README's examples and all tests of the package run.
# The sdist is built too, as pip would on a system for which there is no wheel, with BROADSWEEP_SDIST=1: that compiles
# everything again.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
out=$(realpath -m "${1:-python/dist}")
work=$PWD/target/wheel
python=${PYTHON:-python3}
mkdir -p "$work" "$out"

step() {
    printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

step "maturin"
[ -x "$work/build/bin/maturin" ] || "$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet 'maturin>=1.9,<2'

step "wheel and sdist"
# Where nothing of the tree can be imported by mistake.
rm -f "$out"/broadsweep-*
(cd python && "$work/build/bin/maturin" build --release --locked --strip --out "$out" && "$work/build/bin/maturin" sdist --out "$out")
ls -l "$out"

# Without Rust, and without the tree: only what is installed there can be imported.
try() {
    local environment=$work/$1 installed=$2
    rm -rf "$environment" "$work/tests"
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet "$installed[test]"
    mkdir "$work/tests"
    cp -r python/tests python/README.md "$work/tests"
    (
        cd "$work/tests"
        # Where there is neither cargo nor rustc.
        without_rust=$(tr ':' '\n' <<<"$PATH" | while read -r folder; do
            [ -e "$folder/cargo" ] || [ -e "$folder/rustc" ] || printf '%s:' "$folder"
        done)
        export PATH=${without_rust%:}
        "$environment/bin/python" -c '
import shutil, broadsweep
assert not shutil.which("rustc") and not shutil.which("cargo"), "there is a Rust here"
print("installed:", broadsweep.__file__, broadsweep.__version__, broadsweep.BroadPhase())'
        "$environment/bin/python" -m pytest -q -rs -p no:cacheprovider tests
    )
}

step "the wheel, in an environment of its own"
try installed "$out"/broadsweep-*.whl
if [ "${BROADSWEEP_SDIST:-}" = 1 ]; then
    step "the sdist, in an environment of its own"
    try from-source "$out"/broadsweep-*.tar.gz
fi
