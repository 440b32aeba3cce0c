"""Operators written in Python."""

import gc
import random
import threading
import weakref

import numpy as np
import pytest

import tenon
from conftest import chain
from test_attack import any_object, attempt

x = np.array([-1, 0, 2], np.float32)


@tenon.op("acme::Twice(Tensor x) -> Tensor y")
def twice(x):
    return 2 * x


def test_in_a_model():
    """Between operators of Tenon, by several threads at once."""
    model = tenon.load(
        chain(b"Relu", b"acme::Twice", b"Neg", b"acme::Twice"), plugins=[twice], threads=2
    )
    assert model(x).tolist() == [0, 0, -8]
    assert model(np.zeros((0, 2), np.float32)).shape == (0, 2)
    wrong = []

    def work(k):
        for n in range(100):
            data = np.full(n % 7 + 1, k, np.float32)
            if not np.array_equal(model(data), -4 * data):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_attributes_of_every_type():
    @tenon.op(
        "acme.x::All(Tensor x, Tensor? b=None, *, float f=1.5, int i=2, bool on=True, str s='a', int[] ks=[1, 2],"
        " float[] fs=[0.5], str[] ss=['p', 'q'], int? n=None, float? m=None) -> (Tensor y, Tensor z)"
    )
    def everything(x, b, **named):
        seen.append((b, named))
        return x, np.array(["ü"], object)

    seen = []
    ops = tenon.Runtime(plugins=everything, threads=1, discover=False).ops
    y, z = ops.acme.x.All(x)
    assert np.array_equal(y, x) and z.tolist() == ["ü"]
    assert seen.pop() == (
        None,
        {
            "f": 1.5,
            "i": 2,
            "on": True,
            "s": "a",
            "ks": [1, 2],
            "fs": [0.5],
            "ss": ["p", "q"],
            "n": None,
            "m": None,
        },
    )
    given = {
        "f": -1.0,
        "i": 7,
        "on": False,
        "s": "xyz",
        "ks": [],
        "fs": [1.0, 2.0],
        "ss": ["r"],
        "n": 0,
        "m": 3.0,
    }
    ops.acme.x.All(x, x, **given)
    b, named = seen.pop()
    assert np.array_equal(b, x) and named == given


def one(text, function=lambda x: x):
    """A runtime with this operator."""
    return tenon.Runtime(plugins=[tenon.op(text)(function)], threads=1, discover=False)


def test_what_goes_wrong_is_said():
    with pytest.raises(tenon.Error, match="AttributeError.*nothing"):
        one("acme::Foo(Tensor x) -> Tensor", lambda x: x.nothing).ops.acme.Foo(x)
    with pytest.raises(tenon.Error, match="answers 2 values, the schema says 1"):
        one("acme::Foo(Tensor x) -> Tensor", lambda x: (x, x)).ops.acme.Foo(x)
    with pytest.raises(tenon.Error, match="1x"):
        one("acme::Foo(Tensor 1x) -> Tensor")
    for text in (
        "Foo(Tensor x) -> Tensor",
        "acme::Foo",
        "acme::Foo(Tensor[] x) -> Tensor",
        "acme::Foo(Tensor x, *, Graph g) -> Tensor",
        "acme::Foo(Tensor x) -> Tensor[]",
    ):
        with pytest.raises(ValueError):
            tenon.op(text)


def test_functions_are_let_go():
    class Function:
        def __call__(self, x):
            return x

    function = Function()
    runtime = tenon.Runtime(
        plugins=[tenon.op("acme::Same(Tensor x) -> Tensor")(function)], discover=False
    )
    gone = weakref.ref(function)
    model = runtime.load(chain(b"acme::Same"))
    del function, runtime
    gc.collect()
    assert np.array_equal(model(x), x)
    del model
    gc.collect()
    assert gone() is None


def test_whatever_a_function_answers():
    rng = random.Random(3)
    op = tenon.op("acme::Any(Tensor x) -> Tensor")(lambda x: any_object(rng))
    runtime = tenon.Runtime(plugins=[op], threads=2, discover=False)
    model = runtime.load(chain(b"Relu", b"acme::Any", b"Neg"))
    for _ in range(300):
        attempt(lambda: model(x))
        attempt(lambda: runtime.ops.acme.Any(any_object(rng)))
