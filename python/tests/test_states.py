"""States of models, which a session keeps; entries of files that hold several."""

import gc
import threading

import numpy as np
import pytest

import tenon
from conftest import DATA

ONES = np.ones(2, np.float32)


@pytest.fixture(scope="module")
def summing():
    """total += amount, and answers it."""
    return tenon.load(DATA / "tflite" / "states" / "model.tflite", entry="add", threads=1)


@pytest.fixture(scope="module")
def getting():
    """The total of the same file."""
    return tenon.load(DATA / "tflite" / "states" / "model.tflite", entry="get", threads=1)


def running(model):
    """A session of it, on ones."""
    session = model.session()
    for value in model.inputs:
        session.set_input(value.name, ONES)
    return session


def test_a_session_keeps_them(summing):
    (total,) = summing.states
    assert (total.name, total.type, total.kind) == ("total", "f32[2]", "tensor")
    assert "state  total: f32[2]" in repr(summing) and "total" in summing._repr_html_()
    session, other = running(summing), running(summing)
    first = session.state("total")
    for k in range(1, 4):
        session.run()
        assert np.array_equal(session.state("total"), first + k)
    assert np.array_equal(other.state("total"), first)
    kept = session.state("total")
    session.reset()
    assert np.array_equal(session.state("total"), first)
    session.set_state("total", kept)
    kept[:] = 1000  # it was copied
    session.run()
    assert np.array_equal(session.output("total"), first + 4)
    session.set_state("total", [5, 6])  # lists have no dtype of their own
    assert np.array_equal(session.state("total"), np.array([5, 6], np.float32))


def test_calls_begin_anew(summing):
    y = summing(ONES)
    assert np.array_equal(summing(ONES), y)
    assert np.array_equal(summing.run({"amount": ONES})["total"], y)
    session = tenon.InferenceSession(DATA / "executorch" / "state" / "model.pte")
    feeds = {"input_0": np.ones((2, 3), np.float32)}
    assert np.array_equal(session.run(None, feeds)[0], session.run(None, feeds)[0])


def test_what_does_not_fit(summing, net):
    session = running(summing)
    before = session.state("total")
    with pytest.raises(tenon.ShapeError, match=r"state 'total': got f32\[3\], it is f32\[2\]"):
        session.set_state("total", np.zeros(3, np.float32))
    with pytest.raises(tenon.ShapeError, match=r"state 'total': got f64\[2\], it is f32\[2\]"):
        session.set_state("total", np.zeros(2))
    with pytest.raises(TypeError, match="state 'total': is None"):
        session.set_state("total", None)
    with pytest.raises(TypeError, match="state 'total': Tenon has no type for elements of"):
        session.set_state("total", np.zeros(2, "M8[s]"))
    for use in (session.state, lambda name: session.set_state(name, ONES)):
        for name in ("sum", 0, None, "\udc80"):
            with pytest.raises(ValueError, match=r"no state .*, only \('total',\)"):
                use(name)
    with pytest.raises(ValueError, match="no state 'x', nor any other"):
        net.session().state("x")
    assert np.array_equal(session.state("total"), before)
    assert net.states == [] and net.entries == []
    net.session().reset()  # there is nothing to do
    with pytest.raises(RuntimeError, match="not initialised"):
        tenon.Session.__new__(tenon.Session).reset()


def test_states_whose_shape_is_open():
    model = tenon.load(DATA / "torchscript" / "Buffers" / "model.pt", threads=1)
    assert {v.name: v.shape for v in model.states} == {"total": (3,), "last": None, "n": ()}
    session = model.session()
    at_first = {v.name: session.state(v.name) for v in model.states}
    last = np.full_like(at_first["last"], 3, shape=[7] * at_first["last"].ndim)
    session.set_state("last", last)
    assert np.array_equal(session.state("last"), last)
    session.reset()
    assert all(np.array_equal(session.state(name), value) for name, value in at_first.items())


def test_entries(summing, getting):
    assert summing.entries == ["add", "get"]
    path = DATA / "tflite" / "states" / "model.tflite"
    with pytest.raises(tenon.NotFoundError, match="'put'"):
        tenon.load(path, entry="put")
    with pytest.raises(TypeError, match="entry|argument"):
        tenon.load(path, entry=7)


def test_sharing(summing, getting):
    session, reader = running(summing), running(getting)
    session.run()
    reader.share(session)
    reader.share(session)
    session.share(session)
    for _ in range(3):
        session.run()
        reader.run()
        assert np.array_equal(reader.output("total"), session.output("total"))
    reader.reset()
    assert np.array_equal(session.state("total"), running(summing).state("total"))
    for other in (None, summing, "x"):
        with pytest.raises(TypeError, match="share: takes a Session"):
            session.share(other)
    with pytest.raises(RuntimeError, match="not initialised"):
        session.share(tenon.Session.__new__(tenon.Session))


def test_sharing_across_runtimes():
    """What is shared lives on when the other session, its model and its runtime are gone."""
    path = DATA / "tflite" / "states" / "model.tflite"
    other = running(tenon.Runtime(threads=1).load(path, entry="add"))
    session = running(tenon.Runtime(threads=1).load(path, entry="add"))
    other.run()
    session.share(other)
    want = other.state("total") + 1
    del other
    gc.collect()
    session.run()
    assert np.array_equal(session.state("total"), want)


def test_threads_on_common_states(summing):
    """Each run is whole; whoever comes beside another one is told so."""
    sessions = [running(summing) for _ in range(3)]
    for session in sessions[1:]:
        session.share(sessions[0])
    first, ran, wrong = sessions[0].state("total"), [], []

    def work(session):
        for _ in range(2000):
            try:
                session.run()
                ran.append(1)
                a, b = session.state("total") - first
                wrong.extend([1] if a != b else [])
            except tenon.Error as error:
                if error.status != "TN_ERR_STATE" or "another session" not in str(error):
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(s,)) for s in sessions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert np.array_equal(sessions[1].state("total"), first + len(ran))
