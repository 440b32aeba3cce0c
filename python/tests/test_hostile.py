"""What scripts get wrong is an exception that names the argument; nothing is answered that is not so."""

import ctypes
import importlib
import subprocess
import sys

import numpy as np
import pytest

import tenon
import tenon.serve
from conftest import DATA, chain


class Raises:
    """An object that is asked for its elements."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *args, **options):
        raise self.error


class Lends:
    """An object that has the tensor of another one, or what is none."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        if isinstance(self.capsule, BaseException):
            raise self.capsule
        return self.capsule


def test_what_numpy_refuses_names_the_input(net, image):
    with pytest.raises(ValueError, match="^input 'x': setting an array element with a sequence") as e:
        net([[1, 2], [3]])
    assert isinstance(e.value.__cause__, ValueError)
    with pytest.raises(MemoryError, match="^input 'x': Unable to allocate"):
        net(np.broadcast_to(np.float32(1), (2**40, 3, 4, 4)))
    with pytest.raises(TypeError, match="^input 'x': __dlpack__ answered <class 'str'>"):
        net(Lends("none"))
    used = image.__dlpack__()
    assert np.array_equal(net(Lends(used)), net(image))
    with pytest.raises(TypeError, match="^input 'x': __dlpack__ answered <class 'PyCapsule'>"):
        net(Lends(used))  # it is used up
    with pytest.raises(ValueError, match="^input 'x': odd"):
        net(Raises(ValueError("odd")))


class Managed(ctypes.Structure):
    """A tensor of DLPack, as its header has it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


LIES = {
    "has no shape": dict(shape=None),
    "has -1 dims": dict(ndim=-1),
    "negative dimensions": dict(shape=(2, -3, 4, 4)),
    "too big": dict(shape=(2**62, 3, 4, 4), strides=None),
    "beyond all": dict(strides=(2**62, 16, 4, 1)),
    "beyond all addresses": dict(strides=(2**60 + 5, 16, 2**60, 1)),
    "strides or an offset beyond": dict(byte_offset=2**63),
    "or an offset beyond": dict(byte_offset=2**64 - 1),
    "strides or": dict(strides=(-(2**60), 16, 4, 1)),
}


@pytest.mark.parametrize("says", LIES)
def test_dlpack_that_lies(net, image, says):
    def ints(values):
        return (ctypes.c_int64 * len(values))(*values) if values else None

    given = {"shape": image.shape, "strides": (48, 16, 4, 1), "ndim": 4, "byte_offset": 0, **LIES[says]}
    held = [ints(given.pop(name)) for name in ("shape", "strides")]
    tensor = Managed(image.ctypes.data, (1, 0), dtype=(2, 32, 1, 0), **given)
    tensor.shape, tensor.strides = held
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    with pytest.raises(ValueError, match=f"^input 'x': .*{says}"):
        net(Lends(new(ctypes.addressof(tensor), b"dltensor", None)))


def test_numbers_out_of_range_name_the_input():
    picture = tenon.load(DATA / "picture_nhwc.onnx", threads=1)
    name = picture.inputs[0].name
    for number in (256, -1, 2**70):
        with pytest.raises((OverflowError, TypeError), match=f"^input '{name}': "):
            picture([[[[number, 1, 2]] * 2]])
    relu = tenon.load(chain(b"Relu"), threads=1)
    assert relu([16777217, 5])[0] == 16777216  # f32 rounds


@pytest.mark.parametrize("error", [ZeroDivisionError("z"), KeyboardInterrupt(), BufferError("b")])
def test_what_objects_raise_goes_on(net, error):
    for hostile in (Raises(error), Lends(error)):
        with pytest.raises(type(error)) as e:
            net(hostile)
        assert e.value is error


def test_masked_elements_are_refused(net, image):
    masked = np.ma.masked_array(image, mask=np.zeros(image.shape, bool))
    assert np.array_equal(net(masked), net(image))
    masked[0, 0, 0, 0] = np.ma.masked
    with pytest.raises(ValueError, match=r"input 'x': elements of it are masked"):
        net(masked)


def test_an_array_of_other_dims_is_not_the_output(net, image):
    session, want = net.session(), net(image)
    session.set_input("x", image)
    for shape in ((5, 2), (10,), (1, 2, 5), (3, 5)):
        array = np.zeros(shape, np.float32)
        session.set_output("y", array)
        session.run()
        got = session.output("y")
        assert got.shape == (2, 5) and got is not array and np.array_equal(got, want)
        assert np.array_equal(array.ravel()[:10], want.ravel())
    array = np.zeros((2, 5), np.float32)
    session.set_output("y", array)
    session.run()
    assert session.output("y") is array
    array.shape = (5, 2)  # the caller's, from now on of other dims
    assert session.output("y").shape == (2, 5)


def test_arguments_of_load():
    for name in ("format", "entry", "precision", "fallback"):
        with pytest.raises(TypeError, match=f"load: {name} must be a str, not 16"):
            tenon.load(DATA / "net.onnx", **{name: 16})
    with pytest.raises(TypeError, match="load: device must be a str or several, not 3"):
        tenon.load(DATA / "net.onnx", device=3)


def net():
    return tenon.load(DATA / "net.onnx")


X = np.zeros((2, 3, 4, 4), np.float32)
MISTAKES = {
    "load: model is 5, not a path": lambda: tenon.load(5),
    "plugins: must be a list, not 5": lambda: tenon.Runtime(plugins=5),
    "plugins: must be a path, not 5": lambda: tenon.load(DATA / "net.onnx", plugins=[5]),
    "plugin: must be a path, not <class 'int'>": lambda: tenon.Runtime().load_plugin(5),
    "pins: must be a list, not 5": lambda: tenon.load(DATA / "net.onnx", pins=5),
    "pins: must be a str, not 5": lambda: tenon.Runtime(pins=[5]),
    "load: optimize must be a bool, not 'no'": lambda: tenon.load(DATA / "net.onnx", optimize="no"),
    "load: runtime must be a Runtime, not 5": lambda: tenon.load(DATA / "net.onnx", runtime=5),
    "folder: must be a path, not <class 'int'>": lambda: tenon.Runtime().cache_weights(5),
    "outputs: must be a list of names, not <class 'int'>": lambda: net().run({"x": X}, outputs=5),
    "runs: must be an int, not 'a'": lambda: net().profile(X, runs="a"),
    "path: must be a path, not 5": lambda: net().profile(X).save(5),
    "compare: must be a path, not 5": lambda: net().report(X, compare=5),
    "op: the schema must be a str, not 5": lambda: tenon.op(5),
    "providers: must be a list of names, not 5": lambda: tenon.InferenceSession("x", providers=5),
    "providers: holds 5, no name": lambda: tenon.InferenceSession("x", providers=[5]),
    "register_custom_ops_library: must be": lambda: tenon.SessionOptions().register_custom_ops_library(5),
    "ortvalue_from_numpy: takes a NumPy array": lambda: tenon.OrtValue.ortvalue_from_numpy(5),
    "iobinding: must be an IOBinding, not 5": lambda: tenon.InferenceSession(
        DATA / "net.onnx"
    ).run_with_iobinding(5),
    "a batch is a dict of columns, not": lambda: tenon.serve.Predictor(DATA / "net.onnx")("z"),
}


@pytest.mark.parametrize("says", MISTAKES)
def test_messages_name_the_argument(says):
    with pytest.raises(TypeError) as error:
        MISTAKES[says]()
    assert says in str(error.value)


def test_modules_that_need_no_other_package():
    for name in ("ggml", "litert", "onnxruntime", "serve"):
        importlib.import_module(f"tenon.{name}")


def test_schemas_that_answer_nothing():
    for text in ("acme::Foo(Tensor x)", "acme::Foo()", "acme::Foo(Tensor x) -> "):
        with pytest.raises(ValueError, match="^schema '.*': what it answers is missing"):
            tenon.op(text)


def test_addresses_of_nothing():
    binding = tenon.InferenceSession(DATA / "net.onnx").io_binding()
    with pytest.raises(ValueError, match="buffer_ptr: is 0"):
        binding.bind_input("x", "cpu", 0, np.float32, X.shape, 0)


def test_functions_that_run_models(image):
    """A function of Python may run the model it stands in; what never ends is an error."""

    @tenon.op("acme::Again(Tensor x) -> Tensor")
    def again(x):
        return x if x[0] > 5 else models["again"](x + 1)

    @tenon.op("acme::Endless(Tensor x) -> Tensor")
    def endless(x):
        return models["endless"](x)

    @tenon.op("acme::Own(Tensor x) -> Tensor")
    def own(x):
        session.run()
        return x

    ops = {"again": (again, b"acme::Again"), "endless": (endless, b"acme::Endless")}
    ops["own"] = (own, b"acme::Own")
    models = {k: tenon.load(chain(name), plugins=[op]) for k, (op, name) in ops.items()}
    x = np.ones(3, np.float32)
    assert np.array_equal(models["again"](x), [6, 6, 6])
    with pytest.raises(tenon.Error):
        models["endless"](x)
    session = models["own"].session()
    session.set_input("x", x)
    with pytest.raises(tenon.Error, match="in use by another thread"):
        session.run()


INSIDE = """
try:
    import tenon
    print("imported", flush=True)
except ImportError as error:
    print("refused", "interpreter" in str(error), flush=True)
"""


@pytest.mark.parametrize("first", ["", "import tenon"])
def test_subinterpreters_are_refused(first):
    """By Tenon or, before it, by CPython; the main interpreter goes on."""
    run = f"""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
{first}
(getattr(interpreters, "exec", None) or interpreters.run_string)(interpreters.create(), {INSIDE!r})
import tenon
import tenon.serve
print(tenon.ops.Relu([-1.0, 2.0]).tolist())
"""
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, timeout=60)
    assert done.stdout == "refused True\n[0.0, 2.0]\n", done.stderr
