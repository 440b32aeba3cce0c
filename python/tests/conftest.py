"""What the tests share: where things are, and models made by hand."""

import os
import pathlib

import numpy as np
import pytest

import tenon

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = SOURCE / "tests" / "data"
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", SOURCE / "build"))


@pytest.fixture(scope="session")
def net():
    """x: f32[batch,3,4,4] -> y: f32[batch,5]"""
    return tenon.load(DATA / "net.onnx", threads=2)


@pytest.fixture(scope="session")
def image():
    return np.random.default_rng(1).random((2, 3, 4, 4), dtype=np.float32)
