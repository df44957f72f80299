#!/usr/bin/env bash
# Checks the sources and runs the tests. For Linux; needs Rust.
#
#   scripts/test.sh          lints, and the tests of library, command line, interpreter and Python package on one adapter
#   scripts/test.sh --all    also: long tests, a second Vulkan driver, the validation layer, viewer, page, other libraries in
#                            the benchmark, MuJoCo, Dask, all back ends of naga, spirv-val, documentation, the feature `serde`, the
#                            public items, the oldest Rust. CI runs it.
#   scripts/test.sh --long   also: tests that take an hour: every kind of scene at every size in the interpreter, a thousand
#                            sequences of steps, all tests of the engines on both drivers
#
# The adapter is the GPU of this machine, where there is one, or lavapipe. A kernel can be right on one driver by luck, so a second
# driver runs the tests too: lavapipe has subgroups of 8, SwiftShader of 4, and both order workgroups as no GPU does.
#
# Missing packages are fetched on Debian and its like: lavapipe, the Vulkan loader, the validation layer and spirv-val with
# apt-get install (as root, or through sudo), SwiftShader by unpacking a package under target/, Python packages with pip into
# an environment under target/ (neither needs root). No GPU test is ever skipped: without an adapter this script fails.
#
#   BROADSWEEP_ONE_ADAPTER=1   let --all go on where SwiftShader cannot be fetched (offline, another system); not in CI
#
# The last line is the number of tests over all adapters: `N passed, N failed`.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Where rustup puts it; a shell that is no login shell may not know.
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
# This script chooses the adapters.
unset WGPU_BACKEND WGPU_ADAPTER_NAME BROADSWEEP_LONG
# Without it, Mesa's drivers print an error at each start.
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/nonexistent}

all=false long=false
case "${1:-}" in
'') ;;
--all) all=true ;;
--long)
    all=true long=true
    export BROADSWEEP_LONG=1
    ;;
*)
    echo "usage: scripts/test.sh [--all | --long]" >&2
    exit 2
    ;;
esac

# One selection for all steps, so that nothing is compiled twice with other features.
if $all; then
    selection=(--workspace --locked --features broadsweep/serde,broadsweep-cli/peers)
else
    selection=(--locked -p broadsweep -p broadsweep-laboratory -p broadsweep-cli -p broadsweep-interpreter -p broadsweep-python)
fi
target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
broadsweep=$target/debug/broadsweep
# Incremental compilation makes a first build longer; lines in backtraces take a fifth of the time to compile.
if [ "${CI:-}" = true ]; then
    export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none
fi
work=$target/test-script
mkdir -p "$work"

# ---- steps and jobs ----

times=
step_name= step_start=0

# Begins a step, and notes the time of the one before.
step() {
    if [ -n "$step_name" ]; then
        times+=$(printf '%4d:%02d  %s' $(((SECONDS - step_start) / 60)) $(((SECONDS - step_start) % 60)) "$step_name")$'\n'
    fi
    step_name=$* step_start=$SECONDS
    printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

fail() {
    printf '\nFAILED: %s\n' "$*" >&2
    exit 1
}

# Jobs that run beside the steps, each in a process group of its own, which ends with this script.
declare -A jobs
trap 'for job in "${!jobs[@]}"; do
    if kill -- "-${jobs[$job]}" 2>/dev/null; then
        echo "NOT FINISHED: $job, see $work/$job.txt" >&2
    fi
done' EXIT

# Begins a command beside the steps; its output goes to a file.
begin() {
    local name=$1
    set -m
    "${@:2}" </dev/null >"$work/$name.txt" 2>&1 9>&- &
    jobs[$name]=$!
    set +m
}

# Waits for a command that runs beside the steps, and returns its status.
finish() {
    local status=0
    wait "${jobs[$1]}" || status=$?
    unset "jobs[$1]"
    return "$status"
}

# ---- packages ----

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
swiftshader=$work/swiftshader
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

mujoco_python=$work/mujoco/bin/python
# Fails where there is no Python or no network, or where they have no build of it.
install_mujoco() {
    # Both, and in these versions: an earlier run may have been stopped, or be of other ones.
    local core=4.0.1 control=1.0.50
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

# Compares the pairs of spheres with those of MuJoCo's second filter, with the package that was put together.
run_mujoco_spheres() {
    local script=$PWD/examples/mujoco/spheres.py
    (cd "$work" && PYTHONPATH=$work/package/python "$mujoco_python" -B "$script" pairs stacker tilted --steps 40 --every 10)
}

python=$work/python/bin/python
python_packages=(hypothesis numpy pytest)
if $all; then
    python_packages+=(ase dask distributed ipctk matscipy mypy pyarrow scipy tqdm vesin zarr)
fi
# Fails where there is no Python or no network.
install_python() {
    # An earlier run may have been stopped, or have needed less.
    "$python" -c "import $(IFS=,; echo "${python_packages[*]}")" && return
    rm -rf "$work/python"
    python3 -m venv "$work/python" &&
        "$python" -m pip install --quiet --retries 1 --timeout 20 "${python_packages[@]/#distributed/dask[distributed]}"
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

has_swiftshader() (
    use_driver "$swiftshader/vk_swiftshader_icd.json"
    adapters
)

# ---- the validation layer ----

# wgpu hands the layer's messages to a logger that tests do not have, and goes on. So the layer writes them
# itself. It opens its file anew for each instance of each process and truncates it: hence a pipe.
layer_pipe=$work/layer.pipe
layer_log=$work/layer.log

# Informations are requested because one of them reports that the layer is on. The layer's cache would keep shaders
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

# Runs a command with the layer on; the layer's messages are then in $layer_log.
with_layer() {
    # Without its own copy of 9 the reader ends with this script, however that ends.
    sed '/^end of run$/q' <"$layer_pipe" 9>&- >"$layer_log" &
    local reader=$! status=0
    (
        # With WGPU_DEBUG wgpu names WGSL as the language of a shader, which Debian 12's layer takes for an error.
        export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_SETTINGS_PATH=$work/vk_layer_settings.txt WGPU_DEBUG=0
        "$@"
    ) || status=$?
    printf '\nend of run\n' >&9
    wait "$reader"
    return "$status"
}

# In the words of Debian 12's layer, or in those of layers since 2025.
layer_was_on() {
    grep -qE 'Khronos Validation Layer Active|CURRENT-VALIDATION-ENABLED' "$layer_log"
}

# Prints the layer's reports, except these, which do not concern our calls:
# - new layers report that they know other names for the settings above, which old ones need;
# - a mistake of new layers that wgpu ignores too (https://github.com/gfx-rs/wgpu/issues/7696).
layer_messages() {
    grep -E 'Validation (Performance )?(Error|Warning)' "$layer_log" |
        grep -vE 'VALIDATION-SETTINGS|VUID-StandaloneSpirv-None-10684'
}

# ---- tests ----

total_passed=0
total_failed=0
summary=

# Adds counts to the totals. Any other error counts as one failed test.
add_results() {
    local name=$1 status=$2 passed=$3 failed=$4 others=$5
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        echo "FAILED: $name ended with status $status, and no test says why (a crash?)" >&2
        failed=1
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    summary+="$name: $passed passed, $failed failed, $others"$'\n'
}

# Adds the results that test programs printed into a file.
add_rust_results() {
    local name=$1 file=$2 status=$3 passed failed others
    read -r passed failed others < <(awk '
        /^test result:/ { passed += $4; failed += $6; ignored += $8; left += $12 }
        END { printf "%d %d %d ignored%s\n", passed, failed, ignored, left ? ", " left " not run" : "" }' "$file")
    add_results "$name" "$status" "$passed" "$failed" "$others"
}

# Builds all tests and the library for Python, and lists the test programs, a line each, separated by tabs: the folder to run it
# in, kind, name, file.
build_tests() {
    cargo build "${selection[@]}" --lib --bins --examples --tests --message-format json-render-diagnostics >"$work/artifacts.json"
    sed -nE 's|.*"manifest_path":"([^"]*)/Cargo.toml".*"kind":\["([^"]*)".*"name":"([^"]*)".*"test":true\},"features".*"executable":"([^"]*)".*|\1\t\2\t\3\t\4|p' \
        "$work/artifacts.json" >"$work/programs.txt"
    [ "$(wc -l <"$work/programs.txt")" = "$(grep -c '"test":true},"features"' "$work/artifacts.json")" ] ||
        fail "cargo's list of test programs has a form that this script does not know: $work/artifacts.json"
}

# Names of test programs. Those without an adapter run once.
once='kernels translations'
# The results of these depend on the adapter, so that they run on the second one too.
on_both='filters flow queries stages steps laboratory'
if $long; then
    on_both+=' cli'
fi

# Runs the test programs of these names, with the given arguments. Fails if one fails, after all of them.
run_programs() {
    local names=" $1 " status=0 folder kind name program
    while IFS=$'\t' read -r folder kind name program; do
        if [ "$kind" = test ] && [[ $names = *" $name "* ]]; then
            names=${names/" $name "/ }
            run_program "$folder" "$program" "${@:2}" || status=1
        fi
    done <"$work/programs.txt"
    # Back ends are translated with --all only.
    if $all && [ -n "${names// /}" ]; then
        echo "FAILED: there are no test programs$names" >&2
        status=1
    fi
    return "$status"
}

run_program() {
    printf '\n     Running %s\n' "$2"
    (cd "$1" && "$2" "${@:3}" </dev/null)
}

# `cargo test` ignores long tests. Those in modules of the name at_length take minutes each.
ignored=()
if $all; then
    ignored=(--include-ignored --skip at_length::)
fi

# Runs all test programs that need an adapter, and doctests.
run_all_programs() {
    local status=0 folder kind name program
    while IFS=$'\t' read -r folder kind name program; do
        if [ "$kind" != test ] || [[ " $once " != *" $name "* ]]; then
            run_program "$folder" "$program" "${ignored[@]}" || status=1
        fi
    done <"$work/programs.txt"
    cargo test "${selection[@]}" --doc --no-fail-fast || status=1
    return "$status"
}

# Runs all tests on the adapter that there is. With --all the validation layer reads their calls: the same on each adapter in
# software, so that only one of them has it.
run_tests() {
    local name=$1 status=0 with=()
    step "tests on $name"
    ! $all || with=(with_layer)
    "${with[@]}" run_all_programs 2>&1 | tee "$work/tests.txt" || status=$?
    if $all && ! layer_was_on; then
        echo "FAILED: the validation layer was not on, so nothing is known of its messages on $name" >&2
        total_failed=$((total_failed + 1))
    elif $all && layer_messages >&2; then
        echo "FAILED: the validation layer reported the above on $name" >&2
        total_failed=$((total_failed + 1))
    fi
    add_rust_results "$name" "$work/tests.txt" "$status"
}

# Runs the tests that depend on the adapter on the second one. A line in the list of the others that matches no test is an error.
# Begins when those without an adapter have ended: three jobs at a time take longer on two cores.
run_second() {
    local skips=() name
    tail --pid="${jobs[once]}" -f /dev/null
    use_driver "$swiftshader/vk_swiftshader_icd.json"
    if ! $long; then
        run_programs "$on_both" --list >"$work/list.txt"
        while read -r name; do
            grep -qF -- "$name" "$work/list.txt" || fail "scripts/one-adapter.txt: no test has $name in its name"
            skips+=(--skip "$name")
        done < <(grep -vE '^(#|[[:space:]]*$)' scripts/one-adapter.txt)
    fi
    run_programs "$on_both" "${ignored[@]}" "${skips[@]}"
}

# Runs the tests that take minutes on the adapter that there is.
run_at_length() {
    local name=$1 status=0
    step "long steps and scenes on $name"
    run_programs 'flow queries steps neighbours' --ignored at_length:: 2>&1 | tee "$work/tests.txt" || status=$?
    add_rust_results "$name, at length" "$work/tests.txt" "$status"
}

# Puts the Python package together from the library that was built with the tests: with checks of overflow, and without compiling
# everything again as `scripts/wheel.sh` does.
assemble_python() {
    rm -rf "$work/package" && mkdir -p "$work/package/python" "$work/package/examples" "$work/package/docs/guide/src" &&
        cp -r examples/ipctk "$work/package/examples" &&
        cp docs/guide/src/python.md "$work/package/docs/guide/src" &&
        cp -r python/broadsweep python/tests python/README.md python/pyproject.toml "$work/package/python" &&
        cp "$target/debug/libbroadsweep_python.so" "$work/package/python/broadsweep/_native.abi3.so"
}

# Runs the tests of the Python package, its doctests and the examples of its README, on the adapter that there is.
run_python_tests() {
    local selected=(-m "not long")
    cd "$work/package/python" || return
    if $all; then
        selected=()
        "$python" -B -m mypy --cache-dir "$work/mypy" >"$work/mypy.txt" || {
            cat "$work/mypy.txt"
            echo "1 failed: types of the Python package"
        }
    fi
    # By its path, for the processes that tests start elsewhere.
    PYTHONPATH=$PWD BROADSWEEP_NEEDS_GPU=1 "$python" -B -m pytest -q -rs --color=no -p no:cacheprovider \
        --doctest-modules --ignore broadsweep/newton.py "${selected[@]}" tests broadsweep
}

add_python_results() {
    local status=$1 out=$work/python.txt
    count() { grep -oE "[0-9]+ ($1)\b" "$out" | awk '{ sum += $1 } END { print sum + 0 }'; }
    add_results Python "$status" "$(count passed)" "$(count 'failed|errors?')" "$(count skipped) skipped"
}

# Has Khronos' validator read all SPIR-V that naga writes. A module that is not valid counts as a failed test.
run_spirv_val() {
    local status=0 out=$work/spirv-val.txt
    rm -rf "$work/modules"
    "$target/debug/examples/translate" "$work/modules"
    scripts/spirv-val.sh "$work/modules" >"$out" 2>&1 || status=$?
    grep -v '^ok ' "$out" >&2 || true
    summary+="spirv-val: $(grep -c '^ok ' "$out" || true) modules valid"$'\n'
    [ "$status" = 0 ] || add_results spirv-val "$status" 0 "$(grep -c '^BAD ' "$out" || true)" "modules"
}

# ---- what is run ----

not_run=()

step "format"
cargo fmt --all --check
# Python packages are fetched while Rust is compiled.
if command -v python3 >/dev/null && ! python3 -c 'import ensurepip' 2>/dev/null; then
    (install_packages python3-venv) >"$work/venv.log" 2>&1 || true
fi
begin install-python install_python
! $all || begin install-mujoco install_mujoco

if command -v python3 >/dev/null; then
    step "shape"
    python3 scripts/shape.py || fail "a size is above its limit (scripts/shape.py)"
    step "documents"
    python3 scripts/claims.py || fail "a claim of docs/exactness.md names no test, or one that does not exist (scripts/claims.py)"
    python3 scripts/links.py || fail "a link leads nowhere (scripts/links.py)"
    python3 scripts/figures.py --check || fail "a figure is not what scripts/figures.py draws"
    python3 scripts/results.py --check || fail "a page of benches/results is not what scripts/results.py makes of the CSV files"
else
    not_run+=("scripts/shape.py, claims.py, links.py, figures.py and results.py, without python3")
fi
step "lints"
if $all; then
    cargo clippy --workspace --all-targets --locked --features broadsweep/serde,broadsweep-cli/peers,broadsweep-interpreter/mutants -- -D warnings
    # The library without a GPU: what only the GPU engine uses is unused there.
    cargo clippy --package broadsweep --lib --no-default-features --locked -- -D warnings
    step "documentation"
    RUSTDOCFLAGS="-D warnings" cargo doc "${selection[@]}" --no-deps
    step "browser build"
    status=0
    scripts/check-wasm.sh || status=$?
    case $status in
    0) ;;
    3) not_run+=("the check for wasm32") ;;
    *) fail "the library does not compile for the browser" ;;
    esac
    step "public items"
    status=0
    scripts/api.sh || status=$?
    case $status in
    0) ;;
    3) not_run+=("the comparison of public items (scripts/api.sh), as its version of Rust cannot be installed here") ;;
    *) fail "the public items differ from docs/api.txt (scripts/api.sh --update writes it)" ;;
    esac
    step "oldest Rust"
    status=0
    scripts/check-msrv.sh || status=$?
    case $status in
    0) ;;
    3) not_run+=("the check with the oldest Rust (scripts/check-msrv.sh), which rustup cannot install here") ;;
    *) fail "the library does not compile with the oldest Rust that Cargo.toml allows" ;;
    esac
else
    cargo clippy --package broadsweep --lib --locked -- -D warnings
fi

step "building the tests"
build_tests
begin once run_programs "$once" "${ignored[@]}"

step "adapters"
packages=()
adapters || packages+=(libvulkan1 mesa-vulkan-drivers)
if $all; then
    with_layer "$broadsweep" adapters >/dev/null 2>&1 || true
    layer_was_on || packages+=(vulkan-validationlayers)
    command -v spirv-val >/dev/null || packages+=(spirv-tools)
    compgen -G '/usr/share/vulkan/icd.d/lvp_icd*.json' >/dev/null || packages+=(mesa-vulkan-drivers)
fi
if [ "${#packages[@]}" -gt 0 ]; then
    install_packages "${packages[@]}"
    adapters || fail "there is no Vulkan adapter, although lavapipe is installed"
    if $all; then
        with_layer "$broadsweep" adapters >/dev/null
        layer_was_on || fail "the Vulkan validation layer does not load, although it is installed"
    fi
fi
if $all; then
    two_adapters=true
    if ! has_swiftshader; then
        fetch_swiftshader || true
        if ! has_swiftshader; then
            two_adapters=false
            not_run+=("the tests on SwiftShader")
            if [ "${BROADSWEEP_ONE_ADAPTER:-}" != 1 ] || [ "${CI:-}" = true ]; then
                fail "no second adapter (to test on one only, and not in CI: BROADSWEEP_ONE_ADAPTER=1)"
            fi
        fi
    fi
    step "spirv-val"
    run_spirv_val

    step "MuJoCo"
    unset BROADSWEEP_MUJOCO
    if finish install-mujoco; then
        export_mujoco || fail "MuJoCo is installed, and examples/mujoco/export.py could not export its models"
    else
        not_run+=("MuJoCo, as it cannot be fetched here ($(tail -n 1 "$work/install-mujoco.txt")); its recording was tested")
    fi
fi

has_python=false
if finish install-python; then
    assemble_python
    has_python=true
    if $all; then
        step "guide and Python reference"
        status=0
        PYTHONPATH=$work/package/python scripts/docs.sh --no-rust || status=$?
        case $status in
        0) ;;
        3) not_run+=("the guide and the Python reference (scripts/docs.sh), as their tools cannot be fetched here") ;;
        *) fail "the documentation cannot be built (scripts/docs.sh)" ;;
        esac
    fi
    if $all && [ -n "${BROADSWEEP_MUJOCO:-}" ]; then
        step "MuJoCo's second filter"
        run_mujoco_spheres || fail "a pair that MuJoCo keeps is missing (examples/mujoco/spheres.py)"
    fi
else
    not_run+=("Python, as its packages cannot be fetched here ($(tail -n 1 "$work/install-python.txt"))")
    [ "${CI:-}" != true ] || fail "no Python: $(tail -n 1 "$work/install-python.txt")"
fi

if $all && $two_adapters; then
    begin second run_second
fi

# Runs the tests of Python and Rust on the adapter that there is.
test_adapter() {
    local status=0
    if $has_python; then
        step "Python on $1"
        (run_python_tests) 2>&1 | tee "$work/python.txt" || status=$?
        add_python_results "$status"
    fi
    run_tests "$1"
}

on_gpu=false
if has_gpu; then
    on_gpu=true
    test_adapter "this machine's GPU"
fi
if $all || ! $on_gpu; then
    for driver in /usr/share/vulkan/icd.d/lvp_icd*.json; do
        [ -e "$driver" ] || fail "there is no lavapipe: apt-get install mesa-vulkan-drivers"
        use_driver "$driver"
        test_adapter lavapipe
        ! $long || run_at_length lavapipe
        break
    done
fi

# Waits for test programs that run beside the others, and adds their results.
finish_tests() {
    local status=0
    step "waiting for the tests $1"
    finish "$2" || status=$?
    cat "$work/$2.txt"
    add_rust_results "$1" "$work/$2.txt" "$status"
}
finish_tests "without an adapter" once
if [ -n "${jobs[second]:-}" ]; then
    finish_tests "on SwiftShader" second
    if $long; then
        use_driver "$swiftshader/vk_swiftshader_icd.json"
        run_at_length SwiftShader
    fi
fi

step "summary"
printf '%s\n%s' "$times" "$summary"
[ "${#not_run[@]}" = 0 ] || printf 'NOT RUN: %s\n' "${not_run[@]}"
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" = 0 ]
