"""Operators as nodes of ggml's graphs; needs libggml-python."""

import ctypes as c
import pathlib

import numpy as np
import pytest

libggml = pytest.importorskip("libggml")

import tenon  # noqa: E402

FOLDER = pathlib.Path(libggml.__file__).parent / "lib64"
OURS = pathlib.Path(tenon.__file__).parent / "lib" / "tenon_ggml.so"
MEMORY = 1 << 24


class Params(c.Structure):
    _fields_ = [("size", c.c_size_t), ("buffer", c.c_void_p), ("no_alloc", c.c_bool)]


def typed(function, result, *arguments):
    function.restype, function.argtypes = result, arguments
    return function


@pytest.fixture(scope="module")
def ggml():
    for name in ("libggml-base.so", "libggml-cpu.so"):
        library = c.CDLL(str(FOLDER / name), c.RTLD_GLOBAL)
        base = library if "base" in name else base
    p, i64 = c.c_void_p, c.c_int64
    typed(base.ggml_init, p, Params)
    typed(base.ggml_free, None, p)
    typed(base.ggml_tensor_overhead, c.c_size_t)
    typed(base.ggml_new_tensor_2d, p, p, c.c_int, i64, i64)
    typed(base.ggml_get_data, p, p)
    typed(base.ggml_sqr, p, p, p)
    typed(base.ggml_new_graph, p, p)
    typed(base.ggml_build_forward_expand, None, p, p)
    custom = (p, p, c.c_int, i64, i64, i64, i64, c.POINTER(p), c.c_int, p, c.c_int, p)
    typed(base.ggml_custom_4d, *custom)
    for name in ("transpose", "cont"):
        typed(getattr(base, f"ggml_{name}"), p, p, p)
    typed(library.ggml_graph_compute_with_ctx, c.c_int, p, p, c.c_int)
    base.compute = library.ggml_graph_compute_with_ctx
    return base


@pytest.fixture(scope="module")
def ours():
    library = c.CDLL(str(OURS))
    text = c.c_char_p
    typed(library.tenon_ggml_create, c.c_void_p, text, text, c.c_size_t, text, c.c_size_t)
    typed(library.tenon_ggml_error, text, c.c_void_p)
    typed(library.tenon_ggml_free, None, c.c_void_p)
    return library


TYPES = {"float32": 0, "float16": 1, "int8": 24, "int16": 25, "int32": 26, "int64": 27}
TYPES.update(float64=28, bfloat16=30)
Q4_0 = 2


def run(ggml, ours, op, attributes, x, *, times=1, change=None, kind=None, out=None):
    """op(x), or op(x, x, ...), and what went wrong. change: of the input, before it goes in."""
    why = c.create_string_buffer(1000)
    call = ours.tenon_ggml_create(op, attributes, ggml.ggml_tensor_overhead(), why, 1000)
    ctx = ggml.ggml_init(Params(MEMORY, None, False))
    kind = TYPES[x.dtype.name] if kind is None else kind
    out = np.empty_like(x) if out is None else out
    t = ggml.ggml_new_tensor_2d(ctx, kind, *x.shape[::-1])
    c.memmove(ggml.ggml_get_data(t), x.tobytes(), x.nbytes if kind != Q4_0 else 0)
    t = change(ctx, t) if change else t
    inputs = (c.c_void_p * times)(*[t] * times)
    function = c.cast(ours.tenon_ggml_run, c.c_void_p)
    dims = (*out.shape[::-1], 1, 1)
    y = ggml.ggml_custom_4d(
        ctx, TYPES[out.dtype.name], *dims, inputs, times, function, 1, call
    )
    graph = ggml.ggml_new_graph(ctx)
    ggml.ggml_build_forward_expand(graph, y)
    assert ggml.compute(ctx, graph, 2) == 0
    out = np.frombuffer(c.string_at(ggml.ggml_get_data(y), out.nbytes), out.dtype)
    error = ours.tenon_ggml_error(call).decode()
    ggml.ggml_free(ctx)
    ours.tenon_ggml_free(call)
    return out, error


def compute(ggml, ours, op, attributes, x, n_inputs=1):
    """square(op(x)), and what went wrong."""
    why = c.create_string_buffer(1000)
    call = ours.tenon_ggml_create(op, attributes, ggml.ggml_tensor_overhead(), why, 1000)
    assert call, why.value
    ctx = ggml.ggml_init(Params(MEMORY, None, False))
    rows, columns = x.shape
    t = ggml.ggml_new_tensor_2d(ctx, 0, columns, rows)
    c.memmove(ggml.ggml_get_data(t), x.tobytes(), x.nbytes)
    inputs = (c.c_void_p * n_inputs)(*[t] * n_inputs)
    run = c.cast(ours.tenon_ggml_run, c.c_void_p)
    y = ggml.ggml_custom_4d(ctx, 0, columns, rows, 1, 1, inputs, n_inputs, run, 1, call)
    graph, z = ggml.ggml_new_graph(ctx), ggml.ggml_sqr(ctx, y)
    ggml.ggml_build_forward_expand(graph, z)
    assert ggml.compute(ctx, graph, 2) == 0
    out = np.frombuffer(c.string_at(ggml.ggml_get_data(z), x.nbytes), np.float32).reshape(x.shape)
    error = ours.tenon_ggml_error(call).decode()
    ggml.ggml_free(ctx)
    ours.tenon_ggml_free(call)
    return out, error


def test_operators(ggml, ours):
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    y, error = compute(ggml, ours, b"Softmax", b"axis=0", x)
    e = np.exp(x)
    np.testing.assert_allclose(y, (e / e.sum(0)) ** 2, rtol=1e-5)
    assert not error
    y, error = compute(ggml, ours, b"Add", b"", x, 2)
    np.testing.assert_allclose(y, (2 * x) ** 2, rtol=1e-6)
    if any(p["name"] == "contrib" for p in tenon.Runtime().plugins()):
        y, error = compute(ggml, ours, b"com.microsoft::QuickGelu", b"alpha=2.0", x)
        np.testing.assert_allclose(y, (x / (1 + np.exp(-2 * x))) ** 2, rtol=1e-4, atol=1e-6)


def test_errors(ggml, ours):
    x = np.ones((2, 4), np.float32)
    y, error = compute(ggml, ours, b"Nothing", b"", x)
    assert "no operator 'Nothing'" in error and not y.any()
    y, error = compute(ggml, ours, b"Softmax", b"axis=7", x)
    assert "axis" in error and not y.any()
    why = c.create_string_buffer(1000)
    assert not ours.tenon_ggml_create(b"Softmax", b"", 300, why, 1000)
    assert b"not laid out" in why.value


@pytest.mark.parametrize("name", TYPES)
def test_types(ggml, ours, name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name) if name == "bfloat16" else name
    x = np.arange(-8, 16).reshape(3, 8).astype(dtype)
    y, error = run(ggml, ours, b"Abs", b"", x)
    assert not error
    np.testing.assert_array_equal(y, np.abs(x).ravel())
    for keeps in (b"keepdims=0", b"keepdims=1"):  # of rank 0, and [1,1]
        y, error = run(ggml, ours, b"ReduceMax", keeps, x, out=np.empty((1, 1), dtype))
        if name == "int16":  # ONNX has none
            assert "ReduceMax" in error and not y.any()
        else:
            assert not error and y.tolist() == [15]


def test_what_is_refused(ggml, ours):
    x = np.ones((4, 32), np.float32)
    turned = np.empty((32, 4), np.float32)
    y, error = run(ggml, ours, b"Abs", b"", x, change=ggml.ggml_transpose, out=turned)
    assert "not in order; ggml_cont makes it so" in error and not y.any()
    cont = lambda ctx, t: ggml.ggml_cont(ctx, ggml.ggml_transpose(ctx, t))  # noqa: E731
    y, error = run(ggml, ours, b"Abs", b"", x, change=cont, out=turned)
    assert not error and y.all()
    for pattern, op, attributes, more in [
        ("of a type that Tenon does not take", b"Abs", b"", {"kind": Q4_0}),
        ("output 'Y' is f32[4,32]", b"Abs", b"", {"out": np.empty((4, 16), np.float32)}),
        ("f32", b"Abs", b"", {"out": np.empty((4, 32), np.int32)}),
        ("input 1 is one too many", b"Abs", b"", {"times": 2}),
        ("attributes are 'name=value; ...', not 'axis'", b"Softmax", b"axis", {}),
        ("axes", b"Softmax", b"axes=1", {}),
    ]:
        y, error = run(ggml, ours, op, attributes, x, **more)
        assert pattern in error and not y.any(), (pattern, error)
    why = c.create_string_buffer(1000)
    overhead = ggml.ggml_tensor_overhead()
    assert not ours.tenon_ggml_create(b"x" * 300, b"", overhead, why, 1000)
    assert b"too long" in why.value
    assert not ours.tenon_ggml_load_plugin(b"/no/such.so", why, 1000)
    assert b"/no/such.so" in why.value
