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


def field(number, content):
    """A field of protobuf that holds bytes."""
    size, head = len(content), b""
    while size >= 128:
        head, size = head + bytes([size % 128 | 128]), size // 128
    return bytes([number << 3 | 2]) + head + bytes([size]) + content


def chain(*ops, domain=b"acme"):
    """An ONNX model whose f32 input x goes through operators of one input and output to y."""
    names = [b"x", *(b"v%d" % k for k in range(1, len(ops))), b"y"]
    nodes = b""
    for k, op in enumerate(ops):
        own, name = op.split(b"::") if b"::" in op else (b"", op)
        node = field(1, names[k]) + field(2, names[k + 1]) + field(4, name) + field(7, own)
        nodes += field(1, node)
    of = lambda name: field(1, name) + field(2, field(1, b"\x08\x01"))  # noqa: E731
    graph = nodes + field(2, b"chain") + field(11, of(b"x")) + field(12, of(b"y"))
    opsets = field(8, b"\x10\x12") + field(8, field(1, domain) + b"\x10\x01")
    return b"\x08\x08" + field(7, graph) + opsets
