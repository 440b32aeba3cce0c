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


def test_what_a_function_raises_is_the_cause():
    class Wordless(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    def run(raised):
        @tenon.op("acme::Fails(Tensor x) -> Tensor")
        def fails(x):
            raise raised

        tenon.Runtime(plugins=[fails], threads=1, discover=False).ops.acme.Fails(x)

    long = ValueError("odd " * 99)
    for raised, words in [(long, "ValueError: odd odd"), (Wordless(), "Wordless$")]:
        with pytest.raises(tenon.Error, match=words) as caught:
            run(raised)
        assert caught.value.__cause__ is raised and raised.__traceback__
    for raised in (KeyboardInterrupt(), SystemExit(3)):  # no errors of the operator
        with pytest.raises(type(raised)) as caught:
            run(raised)
        assert caught.value is raised
    with pytest.raises(ValueError, match="no input") as caught:
        tenon.load(chain(b"Relu"))(z=x)
    assert caught.value.__cause__ is None


def test_what_is_no_function_and_what_is_there_already():
    with pytest.raises(TypeError, match="Twice: 3 is no function"):
        tenon.op("acme::Twice(Tensor x) -> Tensor y")(3)
    with pytest.warns(RuntimeWarning, match="that one stays in use"):
        runtime = tenon.Runtime(plugins=[twice], threads=1, discover=False)
        runtime.add(tenon.op("acme::Twice(Tensor x) -> Tensor y")(lambda x: x))
    assert runtime.ops.acme.Twice(x).tolist() == [-2, 0, 4]


def test_cycles_are_collected():
    class Cell:
        pass

    def through_an_operator(cell):
        @tenon.op("acme::Same(Tensor x) -> Tensor y")
        def same(x):
            return x if cell.model else None

        cell.model = tenon.load(chain(b"acme::Same"), plugins=[same])
        cell.model(x)

    def through_a_session(cell):
        class Array(np.ndarray):
            pass

        session = tenon.load(chain(b"Relu")).session()
        given, written = x.copy().view(Array), np.empty(3, np.float32).view(Array)
        session.set_input("x", given)
        session.set_output("y", written)
        given.cell = written.cell = cell
        cell.session = session
        session.run()

    for make in (through_an_operator, through_a_session):
        cell = Cell()
        alive = weakref.ref(cell)
        make(cell)
        del cell
        gc.collect()
        assert alive() is None, make.__name__
