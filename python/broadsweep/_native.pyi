from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

class GpuError(RuntimeError): ...
class CandidateLimitError(ValueError): ...

class Report:
    box_count: int
    invalid_count: int
    first_invalid: list[int]
    giant_count: int
    entry_count: int
    candidate_count: int
    pair_count: int
    axis: str
    direction: list[float]
    cell_size: float
    passes: int
    all_pairs_up_to: int
    tree_join: bool
    gpu_bytes: int
    def __init__(self, *fields: Any) -> None: ...

class StepReport:
    box_count: int
    invalid_count: int
    first_invalid: list[int]
    pair_count: int
    created_count: int
    lost_count: int
    persisting_count: int
    searched: bool
    moved_count: int
    reason: str
    def __init__(self, *fields: Any) -> None: ...

class TreeReport:
    box_count: int
    invalid_count: int
    first_invalid: list[int]
    growth: float
    bytes: int
    def __init__(self, *fields: Any) -> None: ...

class QueryReport:
    query_count: int
    invalid_count: int
    first_invalid: list[int]
    answer_count: int
    def __init__(self, *fields: Any) -> None: ...

_Pairs = NDArray[np.uint32]
_Lists = dict[str, Any]

class Pieces(Iterator[_Pairs]):
    report: Report | None
    def __iter__(self) -> Pieces: ...
    def __next__(self) -> _Pairs: ...
    def close(self) -> None: ...

class Engine:
    reason: str | None
    adapter: tuple[str, str] | None
    thread_count: int
    def __init__(
        self,
        device: str,
        axis: str,
        cell_size: str | float,
        order: str,
        all_pairs_up_to: int | None,
        memory_budget: int | None,
        candidate_limit: int | None,
        threads: int | None,
    ) -> None: ...
    def set_filters(self, lists: _Lists) -> None: ...
    def update_lists(self, lists: _Lists) -> None: ...
    def change_filters(self, name: str, first: int, values: NDArray[Any]) -> None: ...
    def find_pairs(self, boxes: NDArray[np.float32]) -> tuple[_Pairs, Report]: ...
    def find_pairs_between(self, first: NDArray[np.float32], second: NDArray[np.float32]) -> tuple[_Pairs, Report]: ...
    def find_events(
        self,
        boxes: NDArray[np.float32],
        generations: NDArray[np.uint32] | None,
        was: NDArray[np.uint32] | None,
        moved: NDArray[np.uint32] | None,
        changes_only: bool,
    ) -> tuple[_Pairs, _Pairs, tuple[_Pairs, NDArray[np.int64], _Pairs] | None, StepReport]: ...
    def forget_steps(self) -> None: ...
    def stream(self, boxes: NDArray[np.float32]) -> Pieces: ...
    def memory_plan(self, box_count: int) -> list[tuple[str, int]]: ...
    def memory_bytes(self) -> int: ...
    def compile(self, box_count: int, progress: Callable[[int, int], object] | None) -> None: ...

class Tree:
    reason: str | None
    adapter: tuple[str, str] | None
    thread_count: int
    def __init__(self, device: str, threads: int | None) -> None: ...
    def set_filters(self, lists: _Lists) -> None: ...
    def update_lists(self, lists: _Lists) -> None: ...
    def change_filters(self, name: str, first: int, values: NDArray[Any]) -> None: ...
    def build(self, boxes: NDArray[np.float32]) -> TreeReport: ...
    def refit(self, boxes: NDArray[np.float32]) -> TreeReport: ...
    def report(self) -> TreeReport: ...
    def nearest_hits(self, kind: str, casts: NDArray[np.float32], filter_lists: _Lists) -> tuple[_Pairs, QueryReport]: ...
    def any_hits(
        self, kind: str, casts: NDArray[np.float32], filter_lists: _Lists
    ) -> tuple[NDArray[np.bool_], QueryReport]: ...
    def hits(
        self, kind: str, casts: NDArray[np.float32], k: int | None, filter_lists: _Lists
    ) -> tuple[NDArray[np.uint64], _Pairs, QueryReport]: ...
    def overlaps(
        self, kind: str, shapes: NDArray[np.float32], filter_lists: _Lists
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], QueryReport]: ...
    def overlaps_convex(
        self, half_spaces: NDArray[np.float32], starts: NDArray[np.uint64], filter_lists: _Lists
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint32], QueryReport]: ...
    def nearest(
        self, points: NDArray[np.float32], k: int, filter_lists: _Lists
    ) -> tuple[NDArray[np.uint64], _Pairs, QueryReport]: ...

def adapters() -> list[dict[str, str]]: ...

_Points = list[tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]]
_Neighbours = tuple[_Pairs, NDArray[np.uint64], NDArray[np.int32], NDArray[Any], NDArray[Any], int]

def find_neighbours_f32(sets: _Points, search: dict[str, Any], device: str, threads: int | None) -> _Neighbours: ...
def find_neighbours_f64(sets: _Points, search: dict[str, Any], device: str, threads: int | None) -> _Neighbours: ...
def id_pairs(pairs: _Pairs, ids: NDArray[np.uint64]) -> NDArray[np.uint64]: ...
def round_spheres(spheres: NDArray[np.float64], threads: int | None) -> NDArray[np.float32]: ...
def round_outward(boxes: NDArray[np.float64], threads: int | None) -> tuple[NDArray[np.float32], list[float], list[float]]: ...
