"""Measures broadsweep.dask: on more boxes than one call takes comfortably, against the slabs of one process, and on few
against one call.

    python measure.py scene BOXES boxes.npy            write boxes, in pieces
    python measure.py dask boxes.npy out MEMORY [K]    pairs by two workers; MEMORY is that of a task, in MiB;
                                                       one worker is killed when K tiles are done
    python measure.py slabs boxes.npy COUNT THREADS    pairs by one process, slab after slab
    python measure.py one boxes.npy THREADS [out]      pairs in one call; compared with all pairs of `out`

Each prints its time, the time of its processors, and the peak of the memory of all its processes together: the resident sets,
summed every 20 ms, so that pages that processes share count in each; and the proportional sets, summed every 200 ms, where
they count once.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil

import broadsweep as bs

PAIRS_PER_BOX = 3
PIECE = 2_000_000


class Peak:
    """The most memory of this process and all that it started."""

    def __enter__(self):
        self.resident = self.proportional = 0
        self.cpu = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        self.begin = time.perf_counter()
        return self

    def watch(self):
        me, turn = psutil.Process(), 0
        while not self.ended.wait(0.02):
            resident = proportional = 0
            if turn % 10 == 0:
                processes = [me, *me.children(recursive=True)]
            for process in processes:
                try:
                    resident += process.memory_info().rss
                    if turn % 10 == 0:
                        proportional += process.memory_full_info().pss
                        times = process.cpu_times()
                        self.cpu[process.pid] = times.user + times.system
                except psutil.Error:
                    pass
            turn += 1
            self.resident, self.proportional = max(self.resident, resident), max(self.proportional, proportional)
        # The time of the watching itself is not counted.
        self.cpu["watching"] = -time.thread_time()

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.begin
        self.ended.set()
        self.thread.join()
        print(
            f"{self.seconds:.1f} s, {sum(self.cpu.values()):.1f} s of processors, "
            f"{self.resident / 2**30:.2f} GiB resident, {self.proportional / 2**30:.2f} GiB proportional"
        )


def scene(count, path):
    """Write uniform boxes with about three pairs each: edges from 0 to a length, along each axis."""
    edge = np.float32((2 * PAIRS_PER_BOX / count) ** (1 / 3))
    boxes = np.lib.format.open_memmap(path, "w+", np.float32, (count, 6))
    for begin in range(0, count, PIECE):
        rng = np.random.default_rng(begin)
        rows = boxes[begin : begin + PIECE]
        rows[:, :3] = rng.random((len(rows), 3), np.float32)
        rows[:, 3:] = rows[:, :3] + rng.random((len(rows), 3), np.float32) * edge
    boxes.flush()


def kill(worker, out, after):
    """Kill a worker when so many tiles are done."""
    while len(list(Path(out).glob("tile=*/*"))) < after:
        time.sleep(0.01)
    os.kill(worker, signal.SIGKILL)
    print(f"killed worker {worker} after {after} tiles")


def by_dask(path, out, memory, after=None):
    import distributed

    import broadsweep.dask

    with Peak():
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster, distributed.Client(cluster) as client:
            if after is not None:
                workers = list(client.run(os.getpid).values())
                threading.Thread(target=kill, args=(workers[0], out, after), daemon=True).start()
            print(broadsweep.dask.find_pairs(path, out, client=client, memory_per_task=memory << 20))


def slabs(path, count, threads):
    """Cut space across x where a sample has its quantiles, and search slab after slab."""
    with Peak():
        boxes = np.load(path, mmap_mode="r")
        sample = np.sort(boxes[:: max(len(boxes) // 100_000, 1), 0])
        cuts = [-np.inf, *sample[np.arange(1, count) * len(sample) // count], np.inf]
        engine = bs.BroadPhase("cpu", threads=threads)
        pairs = searched = 0
        for low, high in zip(cuts, cuts[1:]):
            kept, ids = [], []
            for begin in range(0, len(boxes), PIECE):
                rows = np.load(path, mmap_mode="r")[begin : begin + PIECE]
                touch = np.flatnonzero((rows[:, 0] < high) & (rows[:, 3] >= low))
                kept.append(rows[touch])
                ids.append((touch + begin).astype(np.uint64))
            slab, names = np.concatenate(kept), np.concatenate(ids)
            del kept, ids
            owner = np.array([low, -np.inf, -np.inf, high, np.inf, np.inf], np.float32)
            engine.set_filters(bs.Filters(owner=owner))
            found = engine.find_pairs(slab)
            for begin in range(0, len(found), PIECE):
                bs.id_pairs(found[begin : begin + PIECE], names)
            pairs, searched = pairs + len(found), searched + len(slab)
        print(f"{pairs:,} pairs of {len(boxes):,} boxes in {count} slabs, each box in {searched / len(boxes):.3f}")


def one(path, threads, out=None):
    boxes = np.load(path)
    with Peak():
        pairs = bs.BroadPhase("cpu", threads=threads).find_pairs(boxes)
    print(f"{len(pairs):,} pairs of {len(boxes):,} boxes in one call")
    if out is not None:
        import pyarrow.parquet as pq

        table = pq.read_table(out, columns=["a", "b"])
        shift = np.uint64(32)
        found = (table["a"].to_numpy() << shift) | table["b"].to_numpy()
        found.sort()
        same = np.array_equal(found, (pairs[:, 0].astype(np.uint64) << shift) | pairs[:, 1])
        print("all pairs are the same" if same else "THE PAIRS DIFFER")


if __name__ == "__main__":
    name, *given = sys.argv[1:]
    given = [int(word) if word.isdigit() else word for word in given]
    if name == "scene":
        scene(*given)
    elif name == "dask":
        by_dask(*given)
    elif name == "slabs":
        slabs(*given)
    elif name == "one":
        one(*given)
    else:
        sys.exit(__doc__)
