#!/usr/bin/env bash
# Tests and measures this library on the GPU of this machine, and writes a page about it. For Linux.
#
#   scripts/measure-gpu.sh [OPTIONS] NAME         builds (needs Rust), then measures for up to 8 minutes. Writes benches/results/gpus/NAME/:
#                                                 README.md with tables and charts, results.json
#   scripts/measure-gpu.sh --pack DIR [OPTIONS]   builds, and makes a folder of at most 60 MB with programs and the Vulkan loader
#   DIR/measure-gpu.sh [OPTIONS] NAME             does as the first, on a machine without Rust; writes NAME/ where it is called. Needs
#                                                 neither root nor a network, but a driver with Vulkan
#
#   --against COMMIT   measures what stays on the device with this commit too, in turn with the present one; with --pack, the folder does
#   --scenes A,B       scenes of what stays on the device [uniform:1000,uniform:10000,uniform:100000,uniform:1000000]
#   --share PERCENT    of the time of each step; a step that takes longer is cut, and the page says so [100]
#   --with-nexus       also measures nexus; scripts/nexus.sh describes its build
#   --with-cuda-peers  with --pack, the folder also has the Python package and wheels of Warp, Newton and NumPy, 230 MB more
#
# On a CUDA device, Warp and Newton are measured too, in 3 minutes more, if Python has them and NumPy or the folder has their
# wheels. Otherwise the page has the reason. PYTHON chooses Python [python3]; for wheels it needs pip.
# WGPU_ADAPTER_NAME chooses the adapter. Ends with 1 if a test fails or a step is cut.

set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
    sed -n '/^#   /s/^# *//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

pack='' against='' name='' share=100 with_nexus=false with_cuda_peers=false
python=${PYTHON:-python3}
scenes=uniform:1000,uniform:10000,uniform:100000,uniform:1000000
while [ $# -gt 0 ]; do
    case "$1" in
    --pack | --against | --scenes | --share)
        [ $# -gt 1 ] || usage
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --with-nexus) with_nexus=true ;;
    --with-cuda-peers) with_cuda_peers=true ;;
    -*) usage ;;
    *)
        [ -z "$name" ] || usage
        name=$1
        ;;
    esac
    shift
done
case "$name" in */* | .*) usage ;; esac
[ -n "$name$pack" ] || usage
if $with_cuda_peers && [ -z "$pack" ]; then usage; fi

# ---- the programs ----

# Builds the benchmark of what stays on the device, in the sources in this folder, and prints its path.
build_recorded() {
    (cd "$1" && cargo build --release --locked -p broadsweep-laboratory --bench recorded --message-format json-render-diagnostics) |
        sed -n 's/.*"name":"recorded".*"executable":"\([^"]*\)".*/\1/p'
}

# Builds the Python package into this folder, with the program that compares it with Warp and Newton.
build_cuda_peers() {
    mkdir -p "$1/peers"
    cargo build --release --locked -p broadsweep-python
    cp -r python/broadsweep benches/cuda_peers.py "$1/peers/"
    cp "$target/release/libbroadsweep_python.so" "$1/peers/broadsweep/_native.abi3.so"
    strip "$1/peers/broadsweep/_native.abi3.so"
}

# Downloads wheels for this machine and each version of Python that may be on the other one. Only those of NumPy differ.
download_wheels() {
    local version
    for version in 3.10 3.11 3.12 3.13; do
        "$python" -m pip download --quiet --disable-pip-version-check --only-binary :all: --python-version "$version" \
            --dest "$1/peers/wheels" newton numpy warp-lang ||
            echo "there are no wheels of Warp, Newton and NumPy for Python $version" >&2
    done
}

# Builds all programs into this folder.
build() {
    local to=$1 older
    command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
    cd "$here/.."
    mkdir -p "$to/bin"
    target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    cp "$(build_recorded .)" "$to/bin/recorded"
    cargo build --release --locked -p broadsweep-cli --features bench
    cp "$target/release/broadsweep" "$to/bin/"
    CARGO_TARGET_DIR=$target cargo build --release --locked --manifest-path benches/sorts/Cargo.toml
    cp "$target/release/broadsweep-sorts" "$to/bin/sorts"
    if $with_nexus; then cp "$(scripts/nexus.sh --build)" "$to/bin/nexus"; fi
    cp "$(cargo test --locked --test stages --no-run --message-format json-render-diagnostics |
        sed -n 's/.*"name":"stages".*"executable":"\([^"]*\)".*/\1/p')" "$to/bin/stages"
    git describe --always --dirty --abbrev=12 >"$to/commit"
    if [ -n "$against" ]; then
        older=$(mktemp -d)
        git worktree add --quiet --detach "$older/sources" "$against"
        cp "$(CARGO_TARGET_DIR=$target build_recorded "$older/sources")" "$to/bin/recorded-against"
        git rev-parse --short=12 "$against" >"$to/against"
        git worktree remove --force "$older/sources"
    fi
    strip "$to"/bin/*
}

if [ -n "$pack" ]; then
    mkdir -p "$pack"
    pack=$(cd "$pack" && pwd)
    build "$pack"
    if $with_cuda_peers; then
        build_cuda_peers "$pack"
        download_wheels "$pack"
    fi
    cp "$here/measure-gpu.sh" "$pack/"
    loader=$(ldconfig -p | sed -n 's/.*libvulkan\.so\.1 (.*x86-64.* => //p;s/.*libvulkan\.so\.1 (.*AArch64.* => //p' | head -n 1)
    if [ -n "$loader" ]; then
        mkdir -p "$pack/lib"
        cp -L "$loader" "$pack/lib/libvulkan.so.1"
    else
        echo "there is no Vulkan loader to pack: libvulkan.so.1" >&2
    fi
    du -sh "$pack"
    exit
fi

# Prints the reason why Warp and Newton cannot be measured, and fails, if there is one.
cuda_peers_reason() {
    if [ -d "$here/bin" ] && [ ! -d "$here/peers" ]; then
        echo "the folder was packed without --with-cuda-peers"
    else
        PYTHONPATH=$work/python "$python" -c 'import newton, numpy, warp
if not warp.get_cuda_device_count():
    raise SystemExit("Warp has no CUDA device")' 2>&1 >/dev/null | tail -n 1
        return "${PIPESTATUS[0]}"
    fi
    return 1
}

work=$(mktemp -d)
if [ -d "$here/peers/wheels" ]; then
    # A failure shows as a module that is not there.
    "$python" -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-index --find-links "$here/peers/wheels" \
        --target "$work/python" newton numpy warp-lang || true
fi
no_cuda_peers=$(cuda_peers_reason) && no_cuda_peers=''
no_cuda_peers=${no_cuda_peers//[\"|]/}
if [ -d "$here/bin" ]; then
    programs=$here out=$PWD/$name
else
    programs=$(mktemp -d) out=$(cd "$here/.." && pwd)/benches/results/gpus/$name
    trap 'rm -rf "$programs"' EXIT
    build "$programs"
    if [ -z "$no_cuda_peers" ]; then build_cuda_peers "$programs"; fi
fi
if [ -f "$programs/lib/libvulkan.so.1" ] && ! ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1'; then
    export LD_LIBRARY_PATH=$programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/nonexistent}
mkdir -p "$out"
cd "$out"
rm -rf README.md results.json cuda-peers.csv nexus.csv ./*.svg ./*.txt whole-calls

# ---- the steps ----

failed=false
: >"$work/steps"
# What the steps print goes into files; what is said of them, to whoever waits.
exec 3>&2

# Runs a program for at most this many seconds, and notes how it ended.
step() {
    local what=$1 seconds=$(($2 * share / 100)) start=$SECONDS status=0 outcome=done
    shift 2
    echo "== $what" >&3
    timeout --kill-after=5 "$seconds" "$@" || status=$?
    case $status in
    0) ;;
    124 | 137) outcome="cut after $seconds s" failed=true ;;
    *) outcome="failed with status $status" failed=true ;;
    esac
    printf '%s\t%s\t%d\n' "$what" "$outcome" $((SECONDS - start)) >>"$work/steps"
    if [ "$outcome" != done ]; then echo "$what: $outcome" >&3; fi
}

bin=$programs/bin
step "self-test of both engines" 40 "$bin/broadsweep" doctor --limit 30 >"$work/doctor" 2>&1
step "kernels against their mirrors" 120 "$bin/stages" >"$work/stages" 2>&1
tests=$(sed -n 's/^test result: [a-zA-Z]*\. \(.* failed\);.*/\1/p' "$work/stages")
recorded() {
    # shellcheck disable=SC2086
    step "what stays on the device, $1" 75 "$bin/$2" --queries 100000 ${scenes//,/ } >"$work/$2"
}
recorded "$(cat "$programs/commit")" recorded
if [ -x "$bin/recorded-against" ]; then recorded "$(cat "$programs/against")" recorded-against; fi
step "sorts" 40 "$bin/sorts" >"$work/sorts"
if [ -x "$bin/nexus" ]; then step "nexus" 60 "$bin/nexus" >nexus.csv; fi
step "whole calls" 130 "$bin/broadsweep" bench --engines gpu,cpu --scenes uniform,clusters,city --n 1000,10000,100000,1000000 \
    --limit 1 --out "$work/whole-calls" >"$work/bench" 2>&1
if [ -z "$no_cuda_peers" ]; then
    # Both engines of a device must be on it: the table names both.
    PYTHONPATH=$programs/peers:$work/python WARP_CACHE_PATH=$work/warp step "Warp and Newton" 180 \
        "$python" -B "$programs/peers/cuda_peers.py" --rounds 5 --program "$bin/broadsweep" --recorded "$bin/recorded" \
        --csv cuda-peers.csv uniform:1000 uniform:100000 touching:100000 city:100000 rods:70000 uniform:1000000 >"$work/peers"
else
    echo "== Warp and Newton: $no_cuda_peers" >&3
    printf 'Warp and Newton\tnot measured: %s\t0\n' "$no_cuda_peers" >>"$work/steps"
fi

# ---- the page ----

adapter=$(head -n 1 "$work/recorded")
if [ -s "$work/recorded-against" ]; then two="; the second is of commit $(cat "$programs/against")"; fi
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
cp "$work"/whole-calls/time-*.svg "$work/whole-calls/stages.svg" . 2>/dev/null || true
{
    echo "# $name"
    echo
    echo "$adapter, with ${processor:-an unknown processor}, $(nproc) threads. Measured on $(date +%Y-%m-%d) by \`scripts/measure-gpu.sh\`, commit"
    echo "$(cat "$programs/commit"). Times are milliseconds."
    echo
    echo "| step | outcome | seconds |"
    echo "|---|---|---|"
    awk -F'\t' '{ print "| " $1 " | " $2 " | " $3 " |" }' "$work/steps"
    echo
    echo "Kernels against their mirrors: ${tests:-no result}."
    echo
    echo "## What stays on the device"
    echo "Medians of the device${two:-}."
    echo
    awk '
        function trim(text) { gsub(/^ +| +$/, "", text); return text }
        FNR == 1 { file += 1; next }
        FNR == 2 { next }
        /^[^ ]+: [0-9]+ boxes$/ { scene = $1; sub(/:$/, "", scene); if (!(scene in known)) { known[scene]; scenes[++scene_count] = scene } next }
        {
            what = trim(substr($0, 1, 52)); count = split(substr($0, 53), words, " ")
            if (!(what in seen)) { seen[what]; whats[++what_count] = what }
            time[what, scene, file] = count > 1 ? words[1] : words[1] " (host)"
        }
        END {
            line = "| what |"; rule = "|---|"
            for (s = 1; s <= scene_count; s++) { line = line " `" scenes[s] "` |"; rule = rule "---|" }
            print line; print rule
            for (w = 1; w <= what_count; w++) {
                line = "| " whats[w] " |"
                for (s = 1; s <= scene_count; s++) {
                    cell = time[whats[w], scenes[s], 1]
                    if (file > 1 && (whats[w], scenes[s], 2) in time) cell = cell ", " time[whats[w], scenes[s], 2]
                    line = line " " cell " |"
                }
                print line
            }
        }
    ' "$work/recorded" $([ ! -s "$work/recorded-against" ] || echo "$work/recorded-against")
    echo
    echo "## Sorts"
    echo "\`u32\` keys with \`u32\` values, by 32 bits, beside lampshade 0.13."
    echo
    echo "| keys | broadsweep | lampshade | ratio |"
    echo "|---|---|---|---|"
    awk -F, 'NR > 3 { printf "| %s | %s | %s | %s |\n", $1, $4, $5, $6 }' "$work/sorts"
    echo
    echo "## Whole calls"
    echo "From boxes in host memory to pairs there."
    echo
    echo "| scene | boxes | GPU | CPU |"
    echo "|---|---|---|---|"
    awk -F, 'NR > 1 && $5 == "measured" { key = $1 "," $2; if (!(key in seen)) { seen[key]; keys[++n] = key } time[key, $3] = sprintf("%.3g", $7) }
        END { for (i = 1; i <= n; i++) { split(keys[i], of, ","); printf "| %s | %s | %s | %s |\n", of[1], of[2], time[keys[i], "gpu"], time[keys[i], "cpu"] } }' \
        "$work/whole-calls/results.csv" 2>/dev/null || true
    if [ -s nexus.csv ]; then
        echo
        echo "## nexus"
        echo "Boxes and pairs in GPU memory. \`benches/nexus/src/main.rs\` describes the columns."
        echo
        awk -F, -v OFS=' | ' '!/^#/ { $1 = $1; print "| " $0 " |" } /^scene/ { gsub(/[^|]+/, "---"); print "|" $0 "|" }' nexus.csv
    fi
    if [ -s "$work/peers" ]; then
        echo
        echo "## Warp and Newton"
        echo "Boxes and pairs in GPU memory, except in rows with upload and readback. \`benches/cuda_peers.py\` describes the columns."
        echo
        cat "$work/peers"
    fi
    for chart in *.svg; do
        if [ -e "$chart" ]; then printf '\n![%s](%s)\n' "${chart%.svg}" "$chart"; fi
    done
} >README.md
{
    printf '{"name":"%s","adapter":"%s","commit":"%s","steps":[\n' "$name" "${adapter//\"/}" "$(cat "$programs/commit")"
    awk -F'\t' '{ printf "%s{\"step\":\"%s\",\"outcome\":\"%s\",\"seconds\":%s}", (NR > 1 ? ",\n" : ""), $1, $2, $3 }' "$work/steps"
    printf '],\n"recorded":[\n'
    first=true
    for file in recorded recorded-against; do
        [ -s "$work/$file" ] || continue
        $first || echo ,
        first=false
        awk -v of="$file" '
            FNR < 3 { next }
            /^[^ ]+: [0-9]+ boxes$/ { scene = $1; sub(/:$/, "", scene); next }
            {
                what = substr($0, 1, 52); sub(/ +$/, "", what)
                count = split(substr($0, 53), words, " ")
                times = count > 1 ? sprintf("\"device_ms\":%s,\"q1_ms\":%s,\"q3_ms\":%s,\"host_ms\":%s", words[1], words[2], words[4], words[5]) \
                    : sprintf("\"host_ms\":%s", words[1])
                printf "%s{\"program\":\"%s\",\"scene\":\"%s\",\"what\":\"%s\",%s}", (any++ ? ",\n" : ""), of, scene, what, times
            }
        ' "$work/$file"
    done
    printf '],\n"sorts":[\n'
    awk -F, 'NR > 3 { printf "%s{\"keys\":%s,\"broadsweep\":\"%s\",\"lampshade\":\"%s\",\"broadsweep_ms\":%s,\"lampshade_ms\":%s,\"ratio\":%s}", \
        (any++ ? ",\n" : ""), $1, $2, $3, $4, $5, $6 }' "$work/sorts"
    printf '],\n"whole_calls":'
    cat "$work/whole-calls/results.json" 2>/dev/null || echo null
    echo '}'
} >results.json
rm -rf "$work"
echo "$out/README.md"
if $failed; then exit 1; fi
