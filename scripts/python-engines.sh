#!/usr/bin/env bash
# Tests the Python package with the engines and packages that take too long to install or to compile for each test run: Newton
# (whose kernels take a minute) and IPC Toolkit, both with their own broad phases and with this one; benches/cuda_peers.py on
# Warp's CPU device; and the packages that find pairs too, side by side. Needs Rust, Python 3.10 or later and the network, and
# takes some minutes.
#
#   scripts/python-engines.sh            all of it
#   scripts/python-engines.sh peers      the rows of benches/results/python/packages.csv alone
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
work=$PWD/target/engines
python=$work/environment/bin/python
mkdir -p "$work"

"$python" -c 'import coal, ipctk, jax, newton, rtree, scipy, warp' 2>/dev/null || {
    rm -rf "$work/environment"
    "${PYTHON:-python3}" -m venv "$work/environment"
    "$python" -m pip install --quiet coal hypothesis ipctk "jax[cpu]" matplotlib newton numpy pytest rtree scipy warp-lang
}
cargo build --release --locked -p broadsweep-python
rm -rf "$work/package"
mkdir "$work/package"
cp -r python/broadsweep "$work/package"
cp target/release/libbroadsweep_python.so "$work/package/broadsweep/_native.abi3.so"
export PYTHONPATH=$work/package

if [ "${1:-}" != peers ]; then
    # `python -m pytest` would import the sources in this folder, which have no native module.
    (cd python && PYTHONDONTWRITEBYTECODE=1 "$work/environment/bin/pytest" -q -p no:cacheprovider tests/test_newton.py \
        tests/test_cuda_peers.py tests/test_ipctk.py tests/test_arrays.py)
    "$python" -B examples/newton/pile.py --worlds 2 --bodies 200 --steps 60
    "$python" -B examples/newton/pile.py --worlds 2 --bodies 200 --steps 20 --speculative 0.016667
    "$python" -B examples/ipctk/cloth.py --steps 10
fi
"$python" -B python/benches/peers.py
