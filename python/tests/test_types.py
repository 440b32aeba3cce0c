"""Element types, strings, lists: in and out."""

import numpy as np
import pytest

import tenon
from conftest import DATA, field

VALUES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "bool": np.bool_,
    "c64": np.complex64,
}
NARROW = {"bf16": "bfloat16", "f8": "float8_e4m3fn", "i4": "int4"}


@pytest.fixture(scope="module")
def feeds():
    pytest.importorskip("ml_dtypes")
    return {
        **{f"in_{k}": np.array([0, 1, 1], t) for k, t in VALUES.items()},
        **narrow(),
        "in_string": np.array(["", "a", "ü€😀"], object),
    }


def narrow():
    import ml_dtypes

    return {f"in_{k}": np.array([0, 1, -2], getattr(ml_dtypes, t)) for k, t in NARROW.items()}


@pytest.fixture(scope="module")
def types():
    return tenon.load(DATA / "types.onnx")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def test_every_type_comes_back(types, feeds):
    for n in (0, 1, 3):
        given = {k: v[:n] for k, v in feeds.items()}
        result = types.run(given)
        for name, value in given.items():
            assert same(result[name.replace("in_", "out_")], value), name


def test_strings(types, feeds):
    for form in (np.array(["x", "yy", "z\n"]), np.array([b"x", b"yy", b"z\n"]), ["x", "yy", "z\n"]):
        result = types.run({**feeds, "in_string": form}, outputs=["out_string"])["out_string"]
        assert result.dtype == object and result.tolist() == ["x", "yy", "z\n"]
    odd = np.array([b"\xff\xfe", "\udc80", "nul\0inside"], object)
    result = types.run({**feeds, "in_string": odd})["out_string"]
    assert [s.encode("utf-8", "surrogateescape") for s in result] == [
        b"\xff\xfe",
        b"\x80",
        b"nul\0inside",
    ]
    with pytest.raises(TypeError, match="in_string.*element 1"):
        types.run({**feeds, "in_string": np.array(["a", 1, "b"], object)})


def test_plain_numbers_get_the_declared_type(types, feeds):
    result = types.run({**feeds, "in_u8": [1, 2, 255], "in_f16": (0.5, 1, 2)})
    assert result["out_u8"].tolist() == [1, 2, 255] and result["out_f16"].tolist() == [0.5, 1, 2]
    with pytest.raises((OverflowError, TypeError)):
        types.run({**feeds, "in_u8": [1, 2, 2**70]})
    with pytest.raises((OverflowError, TypeError)):
        types.run({**feeds, "in_u8": [1, 2, None]})
    with pytest.raises(TypeError, match="in_i32"):
        types.run({**feeds, "in_i32": [1.5, 2, 3]})


def test_dtypes_are_not_cast(types, feeds):
    with pytest.raises(tenon.ShapeError, match="in_f32.*f64"):
        types.run({**feeds, "in_f32": np.zeros(3)})
    with pytest.raises(TypeError, match="M8"):
        types.run({**feeds, "in_f32": np.zeros(3, "M8[s]")})


class Capsule:
    """An object that only has __dlpack__, like another framework's tensor."""

    def __init__(self, array, old=False):
        self.array, self.old = array, old

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("old", [False, True])
def test_dlpack(net, image, old):
    y = net(image)
    if not old and int(np.__version__.split(".")[0]) < 2:
        pytest.skip("NumPy 1 gives capsules of DLPack 0 only")
    assert np.array_equal(net(Capsule(image, old)), y)
    assert np.array_equal(net(Capsule(np.asfortranarray(image), old)), y)
    view = tenon.from_dlpack(Capsule(image, old))
    assert np.shares_memory(view, image) and view.flags.c_contiguous
    del image
    assert np.isfinite(view).all()
    assert np.from_dlpack(y) is not None  # and out again


def test_dlpack_of_bad_objects():
    class Bad:
        def __dlpack__(self, **options):
            return 1

    with pytest.raises(TypeError, match="no DLPack capsule"):
        tenon.from_dlpack(Bad())
    with pytest.raises(AttributeError):
        tenon.from_dlpack(1)
    with pytest.raises(Exception):
        tenon.from_dlpack(Capsule(np.zeros(3, "M8[s]"), True))
    used = np.zeros(3).__dlpack__()

    class Twice:
        def __dlpack__(self, **options):
            return used

    assert tenon.from_dlpack(Twice()).shape == (3,)
    with pytest.raises(TypeError, match="no DLPack capsule"):
        tenon.from_dlpack(Twice())


def test_sequences_and_optionals():
    ops = tenon.ops
    with pytest.raises(tenon.Error):
        ops.SequenceAt(np.zeros(3), np.int64(0))


def _maps():
    """x: map of i64 to f32 -> DictVectorizer -> ZipMap -> y: sequence of map of i64 to f32"""
    ints = lambda name, a, b: field(5, field(1, name) + bytes([0x40, a, 0x40, b, 0xA0, 1, 7]))  # noqa: E731
    of_map = field(5, b"\x08\x07" + field(2, field(1, b"\x08\x01")))
    nodes = b""
    for x, op, y, attr in (
        (b"x", b"DictVectorizer", b"v", ints(b"int64_vocabulary", 5, 1)),
        (b"v", b"ZipMap", b"y", ints(b"classlabels_int64s", 10, 20)),
    ):
        node = field(1, x) + field(2, y) + field(4, op) + attr + field(7, b"ai.onnx.ml")
        nodes += field(1, node)
    graph = nodes + field(2, b"maps") + field(11, field(1, b"x") + field(2, of_map))
    graph += field(12, field(1, b"y") + field(2, field(4, field(1, of_map))))
    return b"\x08\x08" + field(7, graph) + field(8, field(1, b"ai.onnx.ml") + b"\x10\x01")


def test_maps():
    model = tenon.load(_maps())
    assert model.inputs[0].type == "map of i64 to f32"
    assert model.outputs[0].type == "sequence of map of i64 to f32"
    assert model({1: 2.5, 7: 3.0}) == [{10: 0.0, 20: 2.5}]
    assert model({}) == [{10: 0.0, 20: 0.0}]
    for bad in ([1.0], {"a": 1.0}, {1: "b"}, np.zeros(2)):
        with pytest.raises((tenon.Error, TypeError, ValueError)):
            model(bad)
    session = tenon.InferenceSession(_maps())
    assert session.get_inputs()[0].type == "map(int64,tensor(float))"
    assert session.get_outputs()[0].type == "seq(map(int64,tensor(float)))"
    assert session.run(None, {"x": {5: 1.0}}) == [[{10: 1.0, 20: 0.0}]]
