#!/usr/bin/env bash
# Compares the times of two builds of the binary: whole calls, the two builds in turn, on the same scenes.
#
#   scripts/compare-timings.sh BEFORE AFTER SCENE...
#   scripts/compare-timings.sh ../before/target/release/broadsweep target/release/broadsweep uniform:1000000 uniform:100
#
# Each round runs both builds once, and the next round runs them in the other order. A round that is not counted goes
# first. For each scene and engine it prints the median time of both, and the median of the rounds' ratios with the
# quartiles beside it: AFTER is slower where the ratio is above 1. It fails where the two found other pairs.
#
#   ROUNDS=15          counted rounds
#   RUNS=1             calls of each build, scene and round, of which the median counts: the first of a process asks the
#                      system for all its memory, later ones have it
#   ENGINES=gpu,cpu    as in `broadsweep bench --engines`
#
# Both builds need the benchmark: `cargo build --release --features broadsweep-cli/bench`.

set -euo pipefail
export LC_ALL=C

if [ $# -lt 3 ]; then
    sed -n '2,17s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
before=$1 after=$2
shift 2
scenes=$(IFS=, && echo "$*")
rounds=${ROUNDS:-15}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

measure() {
    "$2" bench --scenes "$scenes" --engines "${ENGINES:-gpu,cpu}" --runs "${RUNS:-1}" --limit 60 --out "$work/$1" >/dev/null
    awk -F, -v round="$round" -v side="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print round, side, $at["scene"] ":" $at["boxes"], $at["engine"], $at["median_ms"], $at["hash"] }
    ' "$work/$1/results.csv" >>"$work/rows"
}

for round in $(seq 0 "$rounds"); do
    printf '\rround %d of %d' "$round" "$rounds" >&2
    if [ "$round" = 0 ]; then
        measure before "$before"
        measure after "$after"
        # Not counted: files, drivers and clocks are warm from here on.
        : >"$work/rows"
    elif [ $((round % 2)) = 0 ]; then
        measure before "$before"
        measure after "$after"
    else
        measure after "$after"
        measure before "$before"
    fi
done
echo >&2

awk "$(cat "$(dirname "${BASH_SOURCE[0]}")/quantile.awk")"'
    function of(side, key,    i, values) {
        for (i = 1; i <= rounds; i++) values[i] = time[side, key, i]
        sort(values, rounds)
        return quantile(values, rounds, 0.5)
    }
    {
        key = $3 " " $4
        if (!(key in seen)) { seen[key] = 1; keys[++count] = key }
        time[$2, key, $1] = $5
        if (!(key in hash)) hash[key] = $6
        if (hash[key] != $6) differs[key] = 1
        if ($1 > rounds) rounds = $1
    }
    END {
        printf "%-32s %-10s %12s %12s %8s %8s %8s\n", "scene", "engine", "before, ms", "after, ms", "ratio", "q1", "q3"
        for (k = 1; k <= count; k++) {
            key = keys[k]
            split(key, name, " ")
            for (i = 1; i <= rounds; i++) {
                if (!time["before", key, i] || !time["after", key, i]) {
                    printf "%-32s %-10s was not measured by both\n", name[1], name[2]
                    failed = 1
                    break
                }
                ratios[i] = time["after", key, i] / time["before", key, i]
            }
            if (i <= rounds) continue
            sort(ratios, rounds)
            printf "%-32s %-10s %12.3f %12.3f %8.3f %8.3f %8.3f%s\n", name[1], name[2], of("before", key),
                of("after", key), quantile(ratios, rounds, 0.5), quantile(ratios, rounds, 0.25),
                quantile(ratios, rounds, 0.75), (key in differs ? "  OTHER PAIRS" : "")
            if (key in differs) failed = 1
        }
        exit failed
    }
' "$work/rows"
