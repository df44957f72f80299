"""Brute force and devices, for all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

import broadsweep as bs

# HYPOTHESIS_PROFILE=long takes some minutes.
settings.register_profile("short", max_examples=100)
settings.register_profile("long", max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


def devices():
    """Return the devices that there are: the CPU engine, and the GPU or its driver in software."""
    return ["cpu", "gpu"] if bs.adapters() else ["cpu"]


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        found = devices()
        if os.environ.get("BROADSWEEP_NEEDS_GPU") == "1":
            assert "gpu" in found, "there is no adapter to test on"
        metafunc.parametrize("device", found)


def brute_force(boxes):
    """Return the pairs of boxes ``(n, 6)`` that overlap, ascending, by comparing each with each."""
    boxes = np.asarray(boxes)
    lower, upper = boxes[:, :3], boxes[:, 3:]
    valid = (lower <= upper).all(1)
    touch = (lower[:, None] <= upper[None]).all(2)
    touch = touch & touch.T & valid[:, None] & valid[None]
    return np.argwhere(np.triu(touch, 1)).astype(np.uint32)


def scene(n, seed=0, edge=0.1):
    """Return n boxes in the unit cube, float32."""
    rng = np.random.default_rng(seed)
    lower = rng.random((n, 3), np.float32)
    return np.hstack([lower, lower + rng.random((n, 3), np.float32) * np.float32(edge)])


@pytest.fixture
def boxes():
    return scene(400)
