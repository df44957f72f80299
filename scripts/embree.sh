#!/usr/bin/env bash
# Compares the CPU engine with Intel's Embree 3, in which boxes are user geometry: times of building a tree, of rays and of all
# pairs, and the answers. Not in CI; for Debian and its like; needs Rust.
#
#   scripts/embree.sh [SCENE...]           KIND:N or FILE.npy [uniform:1000000]
#
# Libembree-dev and a C++ compiler are installed where they are missing (as root, or through sudo). Each round runs both
# programs on the same boxes and rays, one after the other, the next round in the other order. For each question it prints
# the median times of the rounds, and the median of their ratios, ours by the fastest of Embree's, with the quartiles beside
# it; then what Embree's answers have in common with ours. Embree's time of pairs has a build and `rtcCollide` of the tree with
# itself.
#
#   ROUNDS=5           rounds
#   RUNS=3             calls of a round, of which the median counts, after one that does not count
#   THREADS="1 2"      numbers of threads, the same for both
#   ONLY="build camera incoherent pairs"   questions: a build, kinds of rays (there is also `short`), pairs
#   COUNT=1000000      rays of a kind
#   QUERIES=PROGRAM    the benchmark `queries`, where it is built already
#   PAIRS=PROGRAM      the benchmark `pairs`, where it is built already
#   FIRST="chrt -f 50" what goes before both programs
#
# Ends with 3 if something could not be had.

set -euo pipefail
export LC_ALL=C

# Files are named from where the script was called.
scenes=()
for scene in "${@:-uniform:1000000}"; do
    if [ -e "$scene" ]; then scene=$(realpath "$scene"); fi
    scenes+=("$scene")
done
queries=${QUERIES:+$(realpath "$QUERIES")}
pairs=${PAIRS:+$(realpath "$PAIRS")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
rounds=${ROUNDS:-5} runs=${RUNS:-3} count=${COUNT:-1000000}
read -ra threads <<<"${THREADS:-1 2}"
read -ra questions <<<"${ONLY:-build camera incoherent pairs}"
read -ra first <<<"${FIRST:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() {
    g++ -std=c++20 -O3 -march=native -o "$work/embree" benches/embree/embree.cpp -lembree3 -pthread
}

if ! { command -v g++ && [ -e /usr/include/embree3/rtcore.h ]; } >/dev/null; then
    root=()
    if [ "$(id -u)" != 0 ]; then root=(sudo -n); fi
    {
        "${root[@]}" apt-get update &&
            "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends g++ libembree-dev
    } >&2 || true
fi
if ! compile; then
    echo "could not be had: Embree 3 (libembree-dev) and a compiler of C++20 (g++)" >&2
    exit 3
fi
# Builds a benchmark, and prints its path.
built() {
    cargo bench --locked -p broadsweep-laboratory --bench "$1" --no-run --message-format json |
        sed -n 's/.*"name":"'"$1"'".*"executable":"\([^"]*\)".*/\1/p'
}
with_queries=false
for what in "${questions[@]}"; do [ "$what" = pairs ] || with_queries=true; done
! $with_queries || queries=${queries:-$(built queries)}
pairs=${pairs:-$(built pairs)}

# Prints `time|QUESTION|ENGINE|MS`, as the other program does.
ours() {
    if [ "$2" = pairs ]; then
        "${first[@]}" "$pairs" --threads "$1" --runs "$runs" "$scene"
        return
    fi
    local only=build
    [ "$2" = build ] || only="$2 rays nearest,$2 rays any"
    "${first[@]}" "$queries" --engines cpu --threads "$1" --runs "$runs" --queries "$count" --only "$only" "$scene" |
        sed -nE 's/^ *(build|.* hit) +cpu( build)? +([0-9.]+) ms.*/time|\1|ours|\3/p'
}

theirs() {
    local answers=()
    case $2 in
        build) ;;
        pairs) answers=(pairs "$work/pairs.npy") ;;
        *) answers=("$2" "$work/$2.npy" "$work/$2-nearest.npy") ;;
    esac
    "${first[@]}" "$work/embree" "$1" "$runs" "$work/boxes.npy" "${answers[@]}"
}

# Measures one question once.
measure() {
    local round=$1 thread=$2 what=$3 side
    for side in $([ $((round % 2)) = 0 ] && echo ours theirs || echo theirs ours); do
        if [ "$side" = ours ]; then ours "$thread" "$what"; else theirs "$thread" "$what"; fi
    done | sed "s/^/$round|$thread|/" >>"$work/rows"
}

table() {
    awk -F'|' "$(cat scripts/quantile.awk)"'
        function median(key, engine,    i, values) {
            if (!((key, engine, 1) in time)) return 0
            for (i = 1; i <= rounds; i++) values[i] = time[key, engine, i]
            sort(values, rounds)
            return quantile(values, rounds, 0.5)
        }
        function shown(ms) { return ms ? sprintf(ms < 100 ? "%.1f" : "%.0f", ms) : "" }
        $3 == "time" {
            key = $4 "|" $2
            if (!(key in seen)) { seen[key] = 1; keys[++count] = key }
            time[key, $5, $1] = $6
            if ($1 > rounds) rounds = $1
        }
        END {
            print "| milliseconds | threads | ours | Embree low | medium | medium, packets of 8 | ours / its fastest |"
            print "|---|---|---|---|---|---|---|"
            split("low medium packets", engines, " ")
            for (k = 1; k <= count; k++) {
                key = keys[k]
                split(key, name, "|")
                # Embree has no order of pairs: both of ours are compared with it.
                theirs = key
                sub(/^canonical /, "", theirs)
                fastest = ""
                for (e = 1; e <= 3; e++) {
                    ms[e] = median(theirs, engines[e])
                    if (ms[e] && (fastest == "" || ms[e] < ms[fastest])) fastest = e
                }
                for (i = 1; i <= rounds; i++) ratios[i] = time[key, "ours", i] / time[theirs, engines[fastest], i]
                sort(ratios, rounds)
                printf "| %s | %s | %s | %s | %s | %s | %.2f (%.2f, %.2f) |\n", name[1], name[2], shown(median(key, "ours")),
                    shown(ms[1]), shown(ms[2]), shown(ms[3]), quantile(ratios, rounds, 0.5),
                    quantile(ratios, rounds, 0.25), quantile(ratios, rounds, 0.75)
            }
        }
    ' "$work/rows"
}

for scene in "${scenes[@]}"; do
    rm -f "$work/rows" "$work"/*.npy
    if $with_queries; then
        "$queries" --engines cpu --threads 2 --runs 1 --queries "$count" --only "rays nearest" --out "$work" "$scene" >&2
    fi
    "$pairs" --threads 2 --runs 1 --out "$work" "$scene" >&2
    for round in $(seq "$rounds"); do
        for thread in "${threads[@]}"; do
            for what in "${questions[@]}"; do
                printf '\r%s: round %d of %d, %d threads, %-10s' "$scene" "$round" "$rounds" "$thread" "$what" >&2
                measure "$round" "$thread" "$what"
            done
        done
    done
    echo >&2
    printf '\n%s\n\n' "$scene"
    table
    # Threads and rounds make no difference to answers.
    printf '\nRays that Embree answers as ours, and pairs that it finds as ours, with the tree of that build:\n\n'
    awk -F'|' '$3 == "equal" && !seen[$4, $5]++ { printf "- %s, %s: %s\n", $4, $5, $6 }' "$work/rows"
done
