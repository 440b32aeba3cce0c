"""Whatever comes in, an exception comes out: random arguments, and threads that make, run and drop
models at once. The interpreter must never end. TENON_FUZZ_SECONDS makes it last longer."""

import gc
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tenon
from conftest import DATA

SECONDS = float(os.environ.get("TENON_FUZZ_SECONDS", "3"))
MODELS = ["net", "default", "types", "branch", "missing", "wrong", "truncated", "picture"]


class Hostile:
    """Every protocol that is looked for, with random answers."""

    def __init__(self, rng):
        self.rng = rng

    def __array__(self, *args, **options):
        return any_object(self.rng)

    def __dlpack__(self, *args, **options):
        if self.rng.random() < 0.5:
            raise TypeError("no")
        return any_object(self.rng)

    def __len__(self):
        return self.rng.choice([0, 3, 10**9])

    def __getitem__(self, index):
        return any_object(self.rng)

    def __fspath__(self):
        return any_object(self.rng)

    def __iter__(self):
        raise KeyboardInterrupt if self.rng.random() < 0.01 else ValueError("no")

    def __eq__(self, other):
        raise ValueError("no")

    def __hash__(self):
        return 1


class Interface:
    """An __array_interface__ that lies about all but its memory."""

    def __init__(self, rng):
        self.keep = np.zeros(64, np.uint8)
        self.__array_interface__ = {
            "data": (self.keep.ctypes.data, False),
            "shape": rng.choice([(2,), (0,), (2, 3), (-1,), "x", (2**62, 4)]),
            "typestr": rng.choice(["<f4", ">f4", "|V7", "<M8[s]", "|O", "zz", "<U2"]),
            "version": rng.choice([3, 2, "a"]),
        }


DTYPES = ["f4", ">f4", "f8", "f2", "i1", "i8", ">i2", "u1", "?", "c8", "O", "U3", "S2", "M8[s]",
          "V4", "g", [("a", "f4"), ("b", "i2")]]  # fmt: skip


def any_array(rng):
    shape = [rng.choice([0, 1, 2, 3, 4, 5]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 4, 9]))]
    if rng.random() < 0.3:
        shape = [rng.choice([0, 1, 2, 7]), 3, 4, 4]
    array = np.zeros(shape, np.dtype(rng.choice(DTYPES)) if rng.random() < 0.6 else np.float32)
    how = rng.randrange(8)
    if how == 0:
        array = array[..., ::-1] if array.ndim else array
    elif how == 1:
        array = np.asfortranarray(array)
    elif how == 2:
        array.flags.writeable = False
    elif how == 3 and not array.dtype.hasobject:
        array = (
            np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1) if array.size else array
        )
    elif how == 4:
        array = np.broadcast_to(array, (2, *array.shape)) if array.ndim < 9 else array
    elif how == 5:
        array = np.ma.masked_array(array)
    return array


def any_object(rng, depth=0):
    kind = rng.randrange(22 if depth < 3 else 14)
    plain = [
        None,
        True,
        1,
        -1,
        2**80,
        1.5,
        float("nan"),
        1j,
        "x",
        "\udc80\0",
        b"\0x",
        object(),
        int,
        ...,
    ]
    if kind < 4:
        return rng.choice(plain)
    if kind < 14:
        return any_array(rng)
    if kind == 14:
        return [any_object(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 15:
        return tuple(any_object(rng, depth + 1) for _ in range(rng.randrange(4)))
    if kind == 16:
        return {
            rng.choice(["x", "y", 1, None, (), "in_f32"]): any_object(rng, depth + 1)
            for _ in range(2)
        }
    if kind == 17:
        return Hostile(rng)
    if kind == 18:
        return Interface(rng)
    if kind == 19:
        return memoryview(bytearray(rng.randrange(9)))
    if kind == 20:
        return rng.choice([np.float32(1), np.int64(3), np.str_("x"), np.datetime64("2000", "s")])
    return bytearray(b"\1\2\3\4")


def any_path(rng):
    name = rng.choice(MODELS)
    data = (DATA / f"{name}.onnx").read_bytes()
    if rng.random() < 0.3 and data:
        data = bytearray(data)
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    return rng.choice(
        [
            DATA / f"{name}.onnx",
            str(DATA / f"{name}.onnx"),
            data,
            any_object(rng),
            "/nowhere",
            "a\0b",
        ]
    )


def names_of(model, rng):
    return rng.choice(
        [v.name for v in [*model.inputs, *model.outputs]] + ["nothing", 1, None, (), "\udc80"]
    )


def call(rng, model, session):
    args = [any_object(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 5]))]
    feeds = {names_of(model, rng): any_object(rng) for _ in range(rng.randrange(3))}
    named = {k: v for k, v in feeds.items() if isinstance(k, str)}
    return rng.choice(
        [
            lambda: model(*args),
            lambda: model(*args, **named),
            lambda: model.run(feeds),
            lambda: model.run(*args),
            lambda: model.run(feeds, outputs=any_object(rng)),
            lambda: model._run_list([names_of(model, rng)], feeds),
            lambda: session.set_input(names_of(model, rng), any_object(rng)),
            lambda: session.set_output(names_of(model, rng), any_object(rng)),
            lambda: session.run(),
            lambda: session.output(names_of(model, rng)),
            lambda: session.prepare(),
            lambda: session.assume_inputs(),
            lambda: session.profile(any_object(rng)),
            lambda: (session.steps(), session.plan(), session.events()),
            lambda: model.explain(*args, **named),
            lambda: model.save(any_object(rng), any_object(rng)) if rng.random() < 0.1 else None,
            lambda: type(model).__init__(model, *args),
            lambda: type(session).__init__(session, *args),
            lambda: repr(model),
        ]
    )


def others(rng, runtime):
    args = [any_object(rng) for _ in range(rng.randrange(4))]
    op = rng.choice(
        [
            "Softmax",
            "Add",
            "Concat",
            "Conv",
            "Split",
            "Loop",
            "SequenceConstruct",
            "StringNormalizer",
        ]
    )
    text = rng.choice(["1", "[1, 2]", "None", '"', "[", "True", "x" * 300])
    names = ["input", "A", "axis", "inputs", "X", "", "\udc80"]
    return rng.choice(
        [
            lambda: getattr(tenon.ops, op)(*args),
            lambda: getattr(tenon.ops, op)(*args, n_outputs=rng.choice([0, 1, 2, 5000, -1, 2**40])),
            lambda: getattr(tenon.ops, op)(*args, axis=any_object(rng)),
            lambda: runtime._run_op(
                op, 0, tuple((rng.choice(names), text, True) for _ in range(2)), 1
            ),
            lambda: runtime._run_op(
                op,
                rng.choice([0, -1, 7, 10**6]),
                tuple((rng.choice(names), a, False) for a in args),
                1,
            ),
            lambda: runtime._run_op(any_object(rng), 0, any_object(rng), 1),
            lambda: runtime.load_plugin(any_object(rng)),
            lambda: runtime.cache_weights(any_object(rng)) if rng.random() < 0.1 else None,
            lambda: tenon.Runtime(
                threads=rng.choice([0, 1, 2, -5, "x"]), pins=any_object(rng), discover=False
            ),
            lambda: tenon.from_dlpack(any_object(rng)),
            lambda: tenon.Session(any_object(rng)),
            lambda: tenon.Session.__new__(tenon.Session).run(),
            lambda: tenon.Model.__new__(tenon.Model)(*args),
            lambda: tenon.Model.__new__(tenon.Model).run({}),
            lambda: tenon.Model.__new__(tenon.Model).inputs,
            lambda: tenon.Session(tenon.Model.__new__(tenon.Model)),
            lambda: tenon.Runtime.__new__(tenon.Runtime)._ops(),
            lambda: tenon.load(any_path(rng), runtime=tenon.Runtime.__new__(tenon.Runtime)),
            lambda: tenon.InferenceSession(any_path(rng)).run(any_object(rng), any_object(rng)),
        ]
    )


def attempt(do):
    """True if it went well. A SystemError is a mistake in the module, as is the interpreter's end."""
    try:
        do()
        return True
    except SystemError:
        raise
    except (Exception, KeyboardInterrupt):
        return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(int(os.environ.get("TENON_FUZZ_SEEDS", "2"))))
def test_random_arguments(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    runtime = tenon.Runtime(threads=2, discover=False)
    model = runtime.load(DATA / "net.onnx")
    session = model.session()
    until, went_well, n = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < until:
        if rng.random() < 0.03:
            made = []
            attempt(lambda: made.append(runtime.load(any_path(rng))))
            if made:
                model, session = made[0], made[0].session()
        went_well += attempt(
            call(rng, model, session) if rng.random() < 0.7 else others(rng, runtime)
        )
        n += 1
    assert n > 50 and went_well > 5
    x = np.ones((1, 3, 4, 4), np.float32)
    assert np.array_equal(
        runtime.load(DATA / "net.onnx")(x), tenon.load(DATA / "net.onnx", threads=2)(x)
    )


def test_threads_make_run_and_drop_models(image):
    """Models that others are running are dropped; what a call answered stays right."""
    runtime = tenon.Runtime(threads=2)
    expected = runtime.load(DATA / "net.onnx")(image)
    shelf = [runtime.load(DATA / "net.onnx") for _ in range(4)]
    until, wrong = time.monotonic() + SECONDS, []

    def work(seed):
        rng = random.Random(seed)
        kept = []
        while time.monotonic() < until:
            k = rng.randrange(len(shelf))
            if rng.random() < 0.05:
                shelf[k] = runtime.load(
                    DATA / "net.onnx"
                )  # the one there was dies under its callers
            model = shelf[k]
            n = rng.choice([1, 2])
            y = model(image[:n])
            kept = [*kept[-5:], y]
            if not np.allclose(y, expected[:n], atol=1e-6):
                wrong.append(y)
            if rng.random() < 0.02:
                gc.collect()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_session_is_one_threads(image):
    model = tenon.load(DATA / "net.onnx", threads=2)
    session = model.session()
    session.set_input("x", np.repeat(image, 500, axis=0))
    until, refused, ran = time.monotonic() + 1, [], []

    def work():
        while time.monotonic() < until:
            (ran if attempt(session.run) else refused).append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert ran  # that others were refused depends on the machine


def test_cancel(image):
    """A run that another thread stops says so, and the session runs again."""
    session = tenon.load(DATA / "net.onnx", threads=1).session()
    session.set_input("x", np.repeat(image, 20000, axis=0))
    session.run()
    stop, done = threading.Event(), []

    def work():
        while not stop.is_set():
            session.cancel()

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(200):
        try:
            session.run()
        except tenon.CancelledError:
            done.append(1)
            break
    stop.set()
    thread.join()
    session.run()
    assert done and session.output("y").shape == (40000, 5)


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
import tenon

def press():
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

model = tenon.load(sys.argv[1], threads=2)
x = np.ones(2, np.float32)
session = model.session()
session.set_input("x", x)
before = signal.getsignal(signal.SIGINT)
for endless in lambda: model(x), session.run, lambda: tenon.InferenceSession(sys.argv[1]).run(None, {"x": x}):
    press()
    try:
        endless()
    except KeyboardInterrupt:
        print("stopped")
assert signal.getsignal(signal.SIGINT) is before
pressed = []
signal.signal(signal.SIGINT, lambda *_: pressed.append(1))   # a program that does not want to end
press()
threading.Timer(1, session.cancel).start()
try:
    session.run()
except tenon.CancelledError:
    print("cancelled", len(pressed))
"""


PRESSED_BEFORE = """
import collections, ctypes, functools, operator, signal, sys
import numpy as np
import tenon

press = functools.partial(getattr(ctypes.CDLL(None), "raise"), signal.SIGINT)
session = tenon.load(sys.argv[1], threads=1).session()
session.set_input("x", np.ones(2, np.float32))
try:    # no line of Python between the signal and the run, where the interpreter would see it
    collections.deque(map(operator.methodcaller("__call__"), [press, session.run]), maxlen=0)
except KeyboardInterrupt:
    print("stopped")
"""


def test_interrupt_before_a_run():
    """Ctrl-C that came when a run was about to begin is not lost."""
    ran = subprocess.run(
        [sys.executable, "-c", PRESSED_BEFORE, DATA / "endless.onnx"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.stdout, ran.stderr) == ("stopped\n", "")


def test_interrupt():
    """Ctrl-C stops a run of the main thread, where it would raise KeyboardInterrupt."""
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, DATA / "endless.onnx"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.stdout.split(), ran.stderr) == (["stopped"] * 3 + ["cancelled", "1"], "")


def test_a_dict_that_changes_while_it_is_read(net, image):
    feeds = {"x": image}

    class Name(str):
        def __hash__(self):
            feeds.clear()
            return hash(str(self))

        def __eq__(self, other):
            return str(self) == other

    feeds[Name("z")] = image
    for _ in range(10):
        feeds["x"] = image
        attempt(lambda: net.run(feeds))


def test_memory_is_given_back(net, image):
    import resource

    for _ in range(200):
        net(image)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    big = np.repeat(image, 20, axis=0)
    for _ in range(3000):
        net(big)
        attempt(lambda: net(big[:, :2]))
        attempt(lambda: net(["x"]))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_after_a_fork(image):
    """A child loads and runs models of its own; the parent goes on."""
    model = tenon.load(DATA / "net.onnx", threads=1)
    y = model(image)
    child = os.fork()
    if not child:
        good = np.array_equal(tenon.Runtime(threads=2).load(DATA / "net.onnx")(image), y)
        os._exit(0 if good and np.array_equal(model(image), y) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(model(image), y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_drops_what_it_inherited(image):
    """A child has none of the parent's threads, and waits for none when it drops a model."""
    model = tenon.Runtime(threads=4).load(DATA / "net.onnx")
    y = model(image)
    child = os.fork()
    if not child:
        good = np.array_equal(model(image), y)
        del model
        gc.collect()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(model(image), y)


def test_errors_of_a_package_that_is_imported_anew():
    """A notebook that drops the modules of the package catches the new module's errors."""
    run = f"""
import sys, tenon
for name in [n for n in sys.modules if n.startswith("tenon")]: del sys.modules[name]
import tenon
model = tenon.load({str(DATA / "net.onnx")!r})
try: model([1.0])
except tenon.ShapeError: print("caught")
"""
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, timeout=60)
    assert done.stdout == "caught\n", done.stderr
