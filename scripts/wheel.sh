#!/usr/bin/env bash
# Builds the Python package, wheels and sdist, and tests it where there is no Rust. Needs Rust, Python 3.10 or later and,
# for maturin and NumPy, the network.
#
#   scripts/wheel.sh [OUT]          builds into OUT (python/dist by default), and tests
#   scripts/wheel.sh --test OUT     tests the wheels in OUT, with NumPy alone
#
# One wheel serves Python 3.10 and later. It is installed into an empty environment of each other Python that is found, and
# the README's examples and the package's tests run there: in the last one with all that tests can use (Dask among it), in
# the others with NumPy alone. A free-threaded Python needs a wheel of its own, which is built and tested where there is one.
#
#   PYTHON=python3                          builds
#   PYTHONS="python3.10 python3.13"         test [default: one of each version from 3.10 on, except PYTHON's]
#   FREE_PYTHONS="python3.14t"              free-threaded ones, which build and test [default: one of each version]
#   BROADSWEEP_SDIST=1                      installs and tests the sdist too, which compiles everything again
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
builds=true extras='[test]'
if [ "${1:-}" = --test ]; then
    builds=false extras=
    shift
fi
out=${1:-python/dist}
work=$PWD/target/wheel
python=${PYTHON:-python3}
mkdir -p "$work" "$out"
out=$(cd "$out" && pwd)

step() {
    printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

# Prints a Python of each version from 3.10 on, except $1: from PATH, or of pyenv. With a second argument "t", free-threaded ones.
pythons() {
    local except=$1 suffix=${2:-} minor candidate
    for minor in $(seq 10 19); do
        [ "$minor" != "$except" ] || continue
        for candidate in "python3.$minor$suffix" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*"$suffix"/bin/python3; do
            # pyenv has commands of versions that are not chosen, and they fail.
            if "$candidate" -c 'import ensurepip' 2>/dev/null; then
                echo "$candidate"
                break
            fi
        done
    done
}
tests=${PYTHONS-$(pythons "$("$python" -c 'import sys; print(sys.version_info.minor)')")}
free=${FREE_PYTHONS-$(pythons none t)}
tests=${tests:-$python}

if $builds; then
    step "maturin"
    [ -x "$work/build/bin/maturin" ] || "$python" -m venv "$work/build"
    "$work/build/bin/pip" install --quiet 'maturin>=1.9,<2'

    step "wheels and sdist"
    rm -f "$out"/broadsweep-*
    maturin() {
        (cd python && "$work/build/bin/maturin" "$@" --out "$out")
    }
    maturin build --release --locked --strip
    for interpreter in $free; do
        maturin build --release --locked --strip --interpreter "$interpreter"
    done
    maturin sdist
fi
for file in "$out"/broadsweep-*; do
    printf '%s: %d bytes\n' "${file##*/}" "$(wc -c <"$file")"
done
[ -n "$free" ] || echo "NOT RUN: a wheel for free-threaded Python, as there is no such Python here"

# Installs a file with what its tests need into an empty environment. Tests it without Rust and without the tree: only what
# is installed there can be imported.
try() {
    local interpreter=$1 installed=$2 bin=$work/try/bin
    shift 2
    step "${installed##*/} in $("$interpreter" -c 'import sys; print("Python", sys.version)')"
    rm -rf "$work/try" "$work/tests"
    "$interpreter" -m venv "$work/try"
    [ -d "$bin" ] || bin=$work/try/Scripts
    "$bin/python" -m pip install --quiet "$installed" "$@"
    mkdir "$work/tests"
    cp -r python/tests python/README.md "$work/tests"
    mkdir -p "$work/docs/guide/src"
    cp docs/guide/src/python.md "$work/docs/guide/src"
    (
        cd "$work/tests"
        # Where there is neither cargo nor rustc.
        without_rust=$(tr ':' '\n' <<<"$PATH" | while read -r folder; do
            [ -e "$folder/cargo" ] || [ -e "$folder/rustc" ] || [ -e "$folder/rustc.exe" ] || printf '%s:' "$folder"
        done)
        export PATH=${without_rust%:}
        "$bin/python" -c '
import importlib.metadata, shutil, broadsweep
assert not shutil.which("rustc") and not shutil.which("cargo"), "there is a Rust here"
print("installed:", broadsweep.__file__, broadsweep.__version__, broadsweep.BroadPhase())
print(importlib.metadata.metadata("broadsweep")["Project-URL"])'
        "$bin/python" -m pytest -q -rs -p no:cacheprovider tests
    )
}

wheel=$(echo "$out"/broadsweep-*-abi3-*.whl)
last=${tests##*[[:space:]]}
for interpreter in $tests; do
    if [ "$interpreter" = "$last" ]; then
        try "$interpreter" "$wheel$extras" hypothesis pytest
    else
        try "$interpreter" "$wheel" hypothesis pytest
    fi
done
for interpreter in $free; do
    tag=$("$interpreter" -c 'import sys; print(f"cp3{sys.version_info.minor}t")')
    try "$interpreter" "$(echo "$out"/broadsweep-*-"$tag"-*.whl)" hypothesis pytest
done
if [ "${BROADSWEEP_SDIST:-}" = 1 ]; then
    try "$python" "$(echo "$out"/broadsweep-*.tar.gz)" hypothesis pytest
fi
