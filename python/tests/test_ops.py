"""Operators as functions."""

import numpy as np
import pytest

import tenon
from conftest import BUILD
from tenon._ops import Schema


def test_onnx_operators():
    x = np.array([[1, 2, 3]], np.float32)
    y = tenon.ops.Softmax(x, axis=-1)
    assert np.allclose(y, np.exp(x) / np.exp(x).sum(), atol=1e-6)
    assert np.array_equal(tenon.ops.Add(x, B=x), x + x)
    assert np.array_equal(tenon.ops.Concat([x, x], axis=0), np.concatenate([x, x]))
    a, b = tenon.ops.Split(np.arange(4, dtype=np.float32), num_outputs=2, n_outputs=2)
    assert a.tolist() == [0, 1] and b.tolist() == [2, 3]
    assert tenon.ops.Cast(x, to=np.int64).dtype == np.int64
    assert tenon.ops.Clip(x, None, np.float32(2)).tolist() == [[1, 2, 2]]
    assert tenon.ops.Transpose(x, perm=[1, 0]).shape == (3, 1)
    values, indices = tenon.ops.TopK(x, np.array([2], np.int64))
    assert values.tolist() == [[3, 2]] and indices.tolist() == [[2, 1]]


def test_strings_and_sequences():
    y = tenon.ops.StringConcat(np.array(["a", "b"], object), np.array(["x", "y"], object))
    assert y.tolist() == ["ax", "by"]
    items = tenon.ops.SequenceConstruct([np.zeros(2, np.float32), np.ones(3, np.float32)])
    assert [i.tolist() for i in items] == [[0, 0], [1, 1, 1]]


def test_what_is_wrong_is_said():
    x = np.zeros(3, np.float32)
    with pytest.raises(AttributeError, match="Softmax"):
        tenon.ops.Softmacks
    with pytest.raises(TypeError, match="no argument 'axes'"):
        tenon.ops.Softmax(x, axes=1)
    with pytest.raises(TypeError, match="1 arguments in order"):
        tenon.ops.Softmax(x, x)
    with pytest.raises(tenon.Error, match="axis"):
        tenon.ops.Softmax(x, axis="left")
    with pytest.raises(TypeError, match="n_outputs"):
        tenon.ops.Split(x)
    with pytest.raises(ValueError, match="version"):
        tenon.ops.Gelu(x, version=3)
    assert "Softmax" in dir(tenon.ops) and "axis" in tenon.ops.Softmax.__doc__


def test_every_schema_is_understood():
    for _, name, _, text, _ in tenon.Runtime(discover=False)._ops():
        schema = Schema(text)
        assert all(a.name.isidentifier() for a in schema.arguments), (name, text)
        assert schema.n_outputs + schema.has_output_list > 0 or "?" in text, (name, text)


def test_a_plugin():
    """Operators of a domain that a plug-in brings."""
    contrib = BUILD / "plugins" / "contrib" / "contrib.so"
    if not contrib.exists():
        pytest.skip(f"there is no {contrib}")
    runtime = tenon.Runtime(plugins=[contrib], discover=False)
    x = np.array([-1, 0, 1], np.float32)
    assert np.allclose(runtime.ops.com.microsoft.Gelu(x), [-0.158655, 0, 0.841345], atol=1e-5)
    assert "contrib" in repr(runtime) and "Gelu" in dir(runtime.ops.com.microsoft)
    with pytest.raises(tenon.Error, match="nowhere.so"):
        tenon.Runtime(plugins=["/nowhere.so"], discover=False)


def test_types_without_a_run():
    x = np.zeros((2, 3, 8, 8), np.float32)
    w = np.zeros((4, 3, 3, 3), np.float32)
    assert tenon.ops.Conv.infer(x, w) == [("tensor", "f32", (2, 4, 6, 6))]
    assert tenon.ops.Split.infer(x, num_outputs=2, axis=3, n_outputs=2)[1][2] == (2, 3, 8, 4)
    assert tenon.ops.NonZero.infer(x) == [("tensor", "i64", (4, None))]
    with pytest.raises(tenon.Error, match="Conv"):
        tenon.ops.Conv.infer(x, w[:, :2])
