"""Compare a call from Python with the same call from Rust, in turn.

python overhead.py REPEAT [N] [ROUNDS]

REPEAT is the program that `cargo build --release -p broadsweep-laboratory --example repeat` makes. Both keep their engine,
and find pairs in canonical order. Medians of each round are compared, and the median of their ratios is printed.
"""

import subprocess
import sys
import tempfile
import time

import numpy as np

import broadsweep as bs


def main(repeat: str, n: int = 100_000, rounds: int = 15) -> None:
    rng = np.random.default_rng(0)
    lower = rng.random((n, 3), np.float32)
    boxes = np.hstack([lower, lower + rng.random((n, 3), np.float32) * np.float32(2.0 / n ** (1 / 3))])
    calls = max(5, 2_000_000 // n)
    engine = bs.BroadPhase("cpu")
    pairs = engine.find_pairs(boxes)
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, boxes)
        file.flush()
        ratios, ours, theirs = [], [], []
        for _ in range(rounds):
            done = subprocess.run([repeat, file.name, str(calls)], capture_output=True, text=True, check=True)
            rust = np.median([float(line) for line in done.stdout.split()])
            times = []
            for _ in range(calls + 1):
                start = time.perf_counter()
                engine.find_pairs(boxes)
                times.append(time.perf_counter() - start)
            python = np.median(times[1:])
            ratios.append(python / rust), ours.append(python), theirs.append(rust)
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    print(f"{n} boxes, {len(pairs)} pairs, {rounds} rounds of {calls} calls")
    print(
        f"Rust {np.median(theirs) * 1e3:.3f} ms, Python {np.median(ours) * 1e3:.3f} ms: "
        f"{middle:.3f} times ({low:.3f} to {high:.3f})"
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
