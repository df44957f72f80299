#!/usr/bin/env bash
# Checks the sources and runs the whole test suite, and what depends on the adapter on a second implementation of Vulkan. For Linux;
# needs Rust.
#
#   scripts/test.sh
#
# Results of kernels that are right on one driver by luck are what the second driver is for: lavapipe runs
# subgroups of 8, SwiftShader of 4, and both order workgroups as no GPU does. The first adapter's tests have the Vulkan
# validation layer on, and fail if the layer reports anything; the same tests call Vulkan the same way on the second one.
#
# What is missing is fetched on Debian and its like: lavapipe, the Vulkan loader, the validation layer and spirv-val with
# apt-get install (as root, or through sudo), SwiftShader by unpacking a package under target/ (needs neither).
# No GPU test is ever skipped: without an adapter this script fails.
#
# MuJoCo, for the comparison with its contacts, is installed with pip into an environment under target/ where that is
# possible; where it is not, a recording is compared with. What the tests of the Python package need is installed there too.
#
#   BROADSWEEP_LONG=1          what shows the same again in the longest tests of the interpreter too, all tests of the engines on the
#                              second adapter, and 200 steps of every moving scene and a thousand sequences of steps on both: an hour more
#   BROADSWEEP_ONE_ADAPTER=1   go on where SwiftShader cannot be had (offline, another system); not in CI
#
# The last line is the number of tests over all adapters: `N passed, N failed`.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Where rustup puts it; a shell that is no login shell may not know.
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
# This script chooses the adapters.
unset WGPU_BACKEND WGPU_ADAPTER_NAME

target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
broadsweep=$target/debug/broadsweep
# Other libraries, which the benchmark compares with, have tests too.
features=broadsweep-cli/peers
# Incremental compilation makes a first build longer; lines in backtraces take a fifth of the time to compile.
if [ "${CI:-}" = true ]; then
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none
fi
work=$target/test-script
mkdir -p "$work"

step() {
    printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

fail() {
    printf '\nFAILED: %s\n' "$*" >&2
    exit 1
}

# ---- Debian packages ----

install_packages() {
    step "installing $*"
    local root=()
    if [ "$(id -u)" != 0 ]; then
        # Where nobody can type a password, sudo must not ask for one.
        root=(sudo)
        [ -t 0 ] || root+=(-n)
    fi
    command -v apt-get >/dev/null || fail "$* missing, and there is no apt-get: install what your system calls them"
    if [ "${#root[@]}" -gt 0 ] && ! { command -v sudo >/dev/null && "${root[@]}" true; }; then
        fail "$* missing, and installing takes root: apt-get install $*"
    fi
    # The lists of a fresh machine are empty or old.
    "${root[@]}" apt-get update
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# Chromium brings SwiftShader along. Lists and package stay under target/, so that this needs no root and
# changes nothing on the machine.
fetch_swiftshader() {
    step "fetching SwiftShader"
    local apt=$work/apt
    rm -rf "$apt" "$swiftshader"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/unpacked"
    local options=(-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update &&
        (cd "$apt" && apt-get "${options[@]}" download chromium-common) &&
        dpkg-deb -x "$apt"/chromium-common_*.deb "$apt/unpacked" &&
        mkdir -p "$swiftshader" &&
        mv "$apt/unpacked/usr/lib/chromium/"{libvk_swiftshader.so,vk_swiftshader_icd.json} "$swiftshader" &&
        rm -rf "$apt"
}

# ---- adapters ----

# From here on Vulkan has this driver only. Old loaders know only the second name.
use_driver() {
    export VK_DRIVER_FILES=$1 VK_ICD_FILENAMES=$1
}

# Lists the adapters; fails where there is none.
adapters() {
    "$broadsweep" adapters --json 2>/dev/null
}

has_gpu() {
    adapters | grep -o '"type":"[^"]*"' | grep -v software >/dev/null
}

swiftshader=$work/swiftshader
has_swiftshader() (
    use_driver "$swiftshader/vk_swiftshader_icd.json"
    adapters
)

# ---- the validation layer ----

# wgpu hands the layer's messages to a logger that tests do not have, and goes on. So the layer writes them
# itself. It opens its file anew for each instance of each process and truncates it: hence a pipe.
layer_pipe=$work/layer.pipe
layer_log=$work/layer.log
layer=(
    VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
    "VK_LAYER_SETTINGS_PATH=$work/vk_layer_settings.txt"
    # With it wgpu names WGSL as the language of a shader, which Debian 12's layer takes for an error.
    WGPU_DEBUG=0
)

# Informations are asked for because one of them says that the layer is on. The layer's cache would keep shaders
# that were valid in an earlier run from being validated in this one.
cat >"$work/vk_layer_settings.txt" <<END
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn,perf,info
khronos_validation.log_filename = $layer_pipe
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION
khronos_validation.disables = VK_VALIDATION_FEATURE_DISABLE_SHADER_VALIDATION_CACHE_EXT
END
rm -f "$layer_pipe"
mkfifo "$layer_pipe"
# Held open for both, so that neither end ever waits for the other.
exec 9<>"$layer_pipe"

# Runs a command with the layer on; what the layer said is then in $layer_log.
with_layer() {
    # Without its own copy of 9 the reader ends with this script, however that ends.
    sed '/^end of run$/q' <"$layer_pipe" 9>&- >"$layer_log" &
    local reader=$! status=0
    env "${layer[@]}" "$@" || status=$?
    printf '\nend of run\n' >&9
    wait "$reader"
    return "$status"
}

without_layer() {
    "$@"
}

# In the words of Debian 12's layer, or in those of layers since 2025.
layer_was_on() {
    grep -qE 'Khronos Validation Layer Active|CURRENT-VALIDATION-ENABLED' "$layer_log"
}

# What the layer reported, without these, which say nothing of our calls:
# - new layers say that they know other names for the settings above, which old ones need;
# - a mistake of new layers that wgpu ignores too (https://github.com/gfx-rs/wgpu/issues/7696).
layer_messages() {
    grep -E 'Validation (Performance )?(Error|Warning)' "$layer_log" |
        grep -vE 'VALIDATION-SETTINGS|VUID-StandaloneSpirv-None-10684'
}

# ---- MuJoCo ----

mujoco_python=$work/mujoco/bin/python

# Fails where there is no Python or no network, or where they have no build of it.
install_mujoco() {
    # Both, and in these versions: an earlier run may have been stopped, or be of other ones.
    local core=4.0.0 control=1.0.50
    "$mujoco_python" -c "import mujoco
from importlib.metadata import version
assert (version('mujoco-core'), version('dm_control')) == ('$core', '$control')" && return
    rm -rf "$work/mujoco"
    # Of dm_control only the models are needed, not what it depends on.
    python3 -m venv "$work/mujoco" &&
        "$mujoco_python" -m pip install --quiet --retries 1 --timeout 20 mujoco-core==$core &&
        "$mujoco_python" -m pip install --quiet --retries 1 --timeout 20 --no-deps dm_control==$control
}

# Simulates nine models, for a test to compare with.
export_mujoco() {
    local script=$PWD/examples/mujoco/export.py
    export BROADSWEEP_MUJOCO=$work/mujoco-frames
    rm -rf "$BROADSWEEP_MUJOCO"
    # MuJoCo writes a log into the current directory.
    (cd "$work" && "$mujoco_python" -B "$script" --worlds --out "$BROADSWEEP_MUJOCO" \
        dog humanoid_CMU quadruped stacker tilted pairs humanoids:10 pile:300 sleepers)
}

# ---- Python ----

python=$work/python/bin/python

# Fails where there is no Python or no network.
install_python() {
    # An earlier run may have been stopped.
    "$python" -c 'import dask, distributed, hypothesis, ipctk, mypy, numpy, pyarrow, pytest, scipy, tqdm, zarr' && return
    rm -rf "$work/python"
    python3 -m venv "$work/python" || return
    "$python" -m pip install --quiet --retries 1 --timeout 20 'dask[distributed]' hypothesis ipctk mypy numpy pyarrow pytest scipy tqdm zarr
}

# Puts the package together from the library that the workspace is built with: with checks of overflow, and without compiling
# everything again as `scripts/wheel.sh` does.
assemble_python() {
    cargo build --workspace --lib --locked --features "$features" &&
        rm -rf "$work/package" && mkdir -p "$work/package/python" "$work/package/examples" &&
        cp -r examples/ipctk "$work/package/examples" &&
        cp -r python/broadsweep python/tests python/README.md python/pyproject.toml "$work/package/python" &&
        cp "$target/debug/libbroadsweep_python.so" "$work/package/python/broadsweep/_native.abi3.so"
}

# ---- tests ----

total_passed=0
total_failed=0
summary=

# Adds what `cargo test` printed into a file, and ended with, to the totals; with other failures beside its own.
add_results() {
    local name=$1 out=$2 status=$3 others=$4 passed failed ignored left
    read -r passed failed ignored left < <(awk '
        /^test result:/ { passed += $4; failed += $6; ignored += $8; left += $12 }
        END { print passed + 0, failed + 0, ignored + 0, left + 0 }' "$out")
    # Whatever else is wrong counts as a failed test, so that the last line never looks as if all were well.
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        echo "FAILED: cargo test ended with status $status on $name, and no test says why (a crash?)" >&2
        failed=1
    fi
    failed=$((failed + others))
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    summary+="$name: $passed passed, $failed failed, $ignored ignored"
    [ "$left" = 0 ] || summary+=", $left not run"
    summary+=$'\n'
}

test_command=(cargo --color never test --workspace --locked --features "$features")

# Runs the tests on an adapter: all, or those of some targets. The layer takes a fifth to a third of the time, and reads what
# the library calls, which is the same on each adapter in software: one of them has it.
run_tests() {
    local name=$1 run=$2 status=0 layer_failures=0
    step "tests on $name"
    "$run" "${test_command[@]}" --no-fail-fast "${@:3}" 2>&1 | tee "$work/tests.txt" || status=$?
    if [ "$run" = without_layer ]; then
        :
    elif ! layer_was_on; then
        echo "FAILED: the validation layer was not on, so nothing is known of its messages on $name" >&2
        layer_failures=1
    elif layer_messages >&2; then
        echo "FAILED: the validation layer reported the above on $name" >&2
        layer_failures=1
    fi
    add_results "$name" "$work/tests.txt" "$status" "$layer_failures"
}

# Begins tests on SwiftShader while others run: one core of two idles where a test waits for its adapter. What they print waits for
# finish_second_tests.
second_tests=
begin_second_tests() {
    local icd=$swiftshader/vk_swiftshader_icd.json
    step "tests on SwiftShader begin beside the others, into $work/second.txt"
    # In a group of its own, which ends with this script.
    setsid env VK_DRIVER_FILES="$icd" VK_ICD_FILENAMES="$icd" "${test_command[@]}" --no-fail-fast "$@" >"$work/second.txt" 2>&1 9>&- &
    second_tests=$!
    trap 'echo "NOT FINISHED: the tests on SwiftShader, see $work/second.txt" >&2; kill -- "-$second_tests" || true' EXIT
}

finish_second_tests() {
    local status=0
    step "waiting for the tests on SwiftShader"
    wait "$second_tests" || status=$?
    trap - EXIT
    cat "$work/second.txt"
    add_results SwiftShader "$work/second.txt" "$status" 0
}

# Tests without an adapter, which run once. Of the whole workspace, so that nothing is compiled anew with other features.
run_once() {
    local name=$1 test=$2 status=0
    step "tests: $name"
    "${test_command[@]}" --test "$test" 2>&1 | tee "$work/tests.txt" || status=$?
    add_results "$name" "$work/tests.txt" "$status" 0
}

# Runs the tests of the Python package, its doctests and the examples of its README, on the adapter that there is.
run_python_tests() {
    local status=0 passed failed skipped out=$work/python-tests.txt
    step "Python"
    (cd "$work/package/python" && "$python" -B -m mypy --cache-dir "$work/mypy") || {
        echo "FAILED: types of the Python package" >&2
        total_failed=$((total_failed + 1))
    }
    # By its path, for the processes that tests start elsewhere.
    (cd "$work/package/python" && PYTHONPATH=$PWD BROADSWEEP_NEEDS_GPU=1 "$python" -B -m pytest -q -rs --color=no -p no:cacheprovider \
        --doctest-modules --ignore broadsweep/newton.py tests broadsweep) 2>&1 | tee "$out" || status=$?
    count() { grep -oE "[0-9]+ $1" "$out" | tail -n 1 | grep -oE '[0-9]+' || echo 0; }
    passed=$(count passed) failed=$(($(count failed) + $(count 'errors?'))) skipped=$(count skipped)
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        echo "FAILED: pytest ended with status $status, and no test says why" >&2
        failed=1
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    summary+="Python: $passed passed, $failed failed, $skipped skipped"$'\n'
}

# Has Khronos' validator read all SPIR-V that naga writes. A module that is not valid counts as a failed test.
has_spirv_val=true
run_spirv_val() {
    if ! command -v spirv-val >/dev/null && ! (install_packages spirv-tools); then
        has_spirv_val=false
        echo "NOT RUN: spirv-val, as it cannot be had here" >&2
        [ "${CI:-}" != true ] || fail "no spirv-val"
        return
    fi
    step "spirv-val"
    local status=0 passed failed
    rm -rf "$work/modules"
    "$target/debug/examples/translate" "$work/modules"
    scripts/spirv-val.sh "$work/modules" >"$work/spirv-val.txt" 2>&1 || status=$?
    grep -v '^ok ' "$work/spirv-val.txt" >&2 || true
    passed=$(grep -c '^ok ' "$work/spirv-val.txt" || true)
    failed=$(grep -c '^BAD ' "$work/spirv-val.txt" || true)
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        echo "FAILED: spirv-val.sh ended with status $status" >&2
        failed=1
    fi
    total_failed=$((total_failed + failed))
    summary+="spirv-val: $passed modules valid, $failed not"$'\n'
}

# ---- what is run ----

step "format"
cargo fmt --all --check
# MuJoCo and Python packages are fetched while Rust is compiled.
if command -v python3 >/dev/null && ! python3 -c 'import ensurepip' 2>/dev/null; then
    (install_packages python3-venv) >"$work/venv.log" 2>&1 || true
fi
# In process groups of their own, which end with this script, and without its pipe.
set -m
install_mujoco </dev/null >"$work/mujoco.log" 2>&1 9>&- &
mujoco_install=$!
install_python </dev/null >"$work/python.log" 2>&1 9>&- &
python_install=$!
set +m
trap 'kill -- "-$mujoco_install" "-$python_install" 2>/dev/null || true' EXIT
step "lints"
lints=(--locked --features "$features,broadsweep-interpreter/mutants" -- -D warnings)
cargo clippy --workspace --all-targets "${lints[@]}"
# Those that run by themselves are no part of all targets.
cargo clippy --workspace --test kernels --test translations "${lints[@]}"
# Of the library without a GPU, too: what only the GPU engine uses is not there.
cargo clippy --package broadsweep --lib --no-default-features --locked -- -D warnings
step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --features "$features"
step "browser build"
status=0
scripts/check-wasm.sh || status=$?
case $status in
0) ;;
3) echo "NOT RUN: the check for wasm32 (optional)" >&2 ;;
*) fail "the library does not compile for the browser" ;;
esac

step "building the tests"
"${test_command[@]}" --no-run
run_once interpreter kernels
run_once "naga's back ends" translations
run_spirv_val

step "MuJoCo"
unset BROADSWEEP_MUJOCO
has_mujoco=false
if wait "$mujoco_install"; then
    export_mujoco || fail "MuJoCo is installed, and examples/mujoco/export.py could not export its models"
    has_mujoco=true
else
    echo "NOT RUN: MuJoCo, as it cannot be had here ($(tail -n 1 "$work/mujoco.log")); its recording is tested" >&2
fi

step "building for Python"
has_python=false
if wait "$python_install"; then
    assemble_python
    has_python=true
else
    echo "NOT RUN: the Python package, as what it needs cannot be had here ($(tail -n 1 "$work/python.log"))" >&2
fi
trap - EXIT

step "adapters"
packages=()
adapters || packages+=(libvulkan1 mesa-vulkan-drivers)
with_layer "$broadsweep" adapters >/dev/null 2>&1 || true
layer_was_on || packages+=(vulkan-validationlayers)
if [ "${#packages[@]}" -gt 0 ]; then
    install_packages "${packages[@]}"
    adapters || fail "there is no Vulkan adapter, although lavapipe is installed"
    with_layer "$broadsweep" adapters >/dev/null
    layer_was_on || fail "the Vulkan validation layer does not load, although it is installed"
fi

two_adapters=true
if ! has_swiftshader; then
    fetch_swiftshader || true
    if ! has_swiftshader; then
        two_adapters=false
        echo "NOT RUN: the tests on a second adapter, as SwiftShader cannot be had here" >&2
        if [ "${BROADSWEEP_ONE_ADAPTER:-}" != 1 ] || [ "${CI:-}" = true ]; then
            fail "no second adapter (to test on one only, and not in CI: BROADSWEEP_ONE_ADAPTER=1)"
        fi
    fi
fi

if has_gpu; then
    run_tests "this machine's GPU" with_layer
    if $has_python; then
        run_python_tests
    fi
fi
if $two_adapters; then
    # Those that depend on what an adapter computes. What the host does with submissions, pieces, windows, slabs, tiles, budgets, memory, changed
    # lists and lost devices, and for the command line, is tested on the first. So are the CPU engine, and what runs the kernels of other
    # tests again on more boxes, queries or filters.
    second=(--test filters --test flow --test queries --test stages --test steps --test laboratory)
    if [ "${BROADSWEEP_LONG:-}" = 1 ]; then
        second+=(--test cli)
    else
        second+=(-- --skip submissions:: --skip streams:: --skip startup:: --skip slab --skip owner::tiles
            --skip owner::included --skip lists::included --skip in_windows --skip lists_of_any_length
            --skip budget --skip default_limits --skip buffers_that_exist --skip small_bindings --skip report_holds --skip grow_and_shrink
            --skip memory:: --skip changes:: --skip headers:: --skip submitted:: --skip streamed::sequences --skip on_the_cpu --skip edited::
            --skip filters_that_nobody --skip sequences_have_the_right_events_on_the_gpu --skip the_memory_of
            --skip more_lists_than_are_kept --skip any_number_of_threads --skip cpu_engine:: --skip through_the_tree_together
            --skip more_tiles_than_a_piece --skip pairs_of_fast_boxes
            --skip larger_scenes_are_exact --skip larger_scenes_in_tiles --skip many_giants_give_the_same_list_whether
            --skip changes_of_every_list_in_ranges --skip rays_that_go_together_are --skip what_spheres_and_capsules_touch
            --skip real_scenes --skip filters_that_change_during --skip a_million_excluded --skip whether_all_pairs_are_tested)
    fi
    begin_second_tests "${second[@]}"
fi
for driver in /usr/share/vulkan/icd.d/lvp_icd*.json; do
    if [ -e "$driver" ]; then
        use_driver "$driver"
        # These take one core, while the second adapter takes the other.
        if $has_python; then
            run_python_tests
        fi
        run_tests lavapipe with_layer
        if [ "${BROADSWEEP_LONG:-}" = 1 ]; then
            run_tests "lavapipe, steps at length" without_layer --test steps -- --ignored
        fi
        break
    fi
done
if $two_adapters; then
    finish_second_tests
    if [ "${BROADSWEEP_LONG:-}" = 1 ]; then
        use_driver "$swiftshader/vk_swiftshader_icd.json"
        # 200 steps of every moving scene, and a thousand sequences of 20 steps.
        run_tests "SwiftShader, steps at length" without_layer --test steps -- --ignored
    fi
fi

step "summary"
printf '%s' "$summary"
if ! $two_adapters; then
    echo "NOT RUN: the tests on SwiftShader"
fi
if ! $has_spirv_val; then
    echo "NOT RUN: spirv-val"
fi
if ! $has_python; then
    echo "NOT RUN: Python"
fi
if ! $has_mujoco; then
    echo "NOT RUN: MuJoCo here and now; its recording was tested"
fi
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ]
