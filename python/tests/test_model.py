"""Loading, calling and looking at models."""

import array
import json
import pathlib
import subprocess

import numpy as np
import pytest

import tenon
from conftest import BUILD, DATA, chain


def test_equals_the_command(net, image, tmp_path):
    """The same numbers as `tenon run`."""
    np.save(tmp_path / "x.npy", image)
    subprocess.run(
        [BUILD / "tenon", "run", DATA / "net.onnx", "-i", f"x={tmp_path}/x.npy", "-o", tmp_path],
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert np.array_equal(net(image), np.load(tmp_path / "y.npy"))


def test_ways_to_call(net, image):
    y = net(image)
    assert y.shape == (2, 5) and y.dtype == np.float32
    assert np.array_equal(net(x=image), y)
    assert np.array_equal(net.run({"x": image})["y"], y)
    assert list(net.run({"x": image}, outputs=["y"])) == ["y"]
    assert net.run({"x": image}, outputs=[]) == {}


def test_any_object_that_holds_numbers(net, image):
    y = net(image)
    assert np.array_equal(net(image.tolist()), y)
    flat = array.array("f", image.ravel())
    assert np.array_equal(net(memoryview(flat).cast("B").cast("f", image.shape)), y)
    assert np.array_equal(net(np.asfortranarray(image)), y)
    assert np.array_equal(net(image.astype(">f4")), y)
    assert np.array_equal(net(np.repeat(image, 2, axis=3)[..., ::2]), y)
    frozen = image.copy()
    frozen.flags.writeable = False
    assert np.array_equal(net(frozen), y)
    unaligned = np.frombuffer(b"\0" + image.tobytes(), dtype=np.float32, offset=1).reshape(
        image.shape
    )
    assert np.array_equal(net(unaligned), y)


def test_outputs_are_the_callers(net, image):
    first = net(image)
    kept = first.copy()
    second = net(image * 2)
    assert np.array_equal(first, kept) and not np.array_equal(first, second)
    assert not np.shares_memory(first, second) and first.flags.writeable and first.flags.owndata


def test_shapes_come_and_go(net, image):
    for n in (2, 1, 2, 0, 1, 7):
        x = np.resize(image, (n, 3, 4, 4))
        assert net(x).shape == (n, 5)
        if n:
            assert np.allclose(net(x)[0], net(image)[0], atol=1e-5)


def test_description(net):
    (x,), (y,) = net.inputs, net.outputs
    assert (x.name, x.kind, x.dtype, x.shape, x.has_default) == (
        "x",
        "tensor",
        "f32",
        ("batch", 3, 4, 4),
        False,
    )
    assert (y.name, y.type) == ("y", "f32[batch,5]")
    assert "x: f32[batch,3,4,4]" in repr(net) and "<table>" in net._repr_html_()
    assert net.format == "onnx" and isinstance(net.metadata, dict)


def test_from_bytes(net, image):
    data = (DATA / "net.onnx").read_bytes()
    model = tenon.load(data)
    del data
    assert np.allclose(model(image), net(image), atol=1e-5)


def test_defaults():
    model = tenon.load(DATA / "default.onnx")
    assert [v.name for v in model.inputs if v.has_default] == ["scale", "to", "c"]
    x = np.full((2, 2), 2, np.float32)
    without = model(x)
    given = model(x, scale=np.full(2, 50, np.float32))
    assert not np.array_equal(without, given)
    assert np.array_equal(model(x), without)


def test_explain_and_profile(net, image):
    plan = net.explain(image)
    assert len(plan) == plan.totals["n_steps"] > 0 and "Conv" in repr(plan)
    assert any(step.refused for step in plan.steps) and "<table>" in plan._repr_html_()
    assert len(net.explain()) == len(plan)
    with pytest.raises(ValueError, match="runs: is 0, at least one"):
        net.profile(image, runs=0)
    profile = net.profile(image, runs=3)
    assert profile.total_ns > 0 and {op for op, *_ in profile.by_op} == {s.op for s in plan.steps}


def test_trace(net, image, tmp_path):
    import json

    net.profile(x=image).save(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_session(net, image):
    session = net.session()
    out = np.empty((2, 5), np.float32)
    session.set_input("x", image)
    session.set_output("y", out)
    session.run()
    assert session.output("y") is out and np.array_equal(out, net(image))
    image2 = image + 1
    session.set_input("x", image2)
    session.run()
    assert np.array_equal(out, net(image2))
    session.set_output("y", None)
    session.run()
    assert session.output("y") is not out
    session.set_output("y", np.empty((2, 4), np.float32))
    with pytest.raises(ValueError, match=r"output 'y' is f32\[2,5\], which does not fit"):
        session.run()


@pytest.mark.parametrize("ops", [(b"Tanh",), (b"Transpose",), (b"Softmax", b"Transpose")])
def test_output_that_lies_over_its_input(ops):
    """What is read after it would be written is written afterwards."""
    model = tenon.load(chain(*ops))
    x = np.random.default_rng(3).standard_normal((16, 16), dtype=np.float32)
    want = model(x)
    for at in (0, 1, 17, 100, 255, 256, 300):
        memory = np.zeros(600, np.float32)
        source, y = memory[100:356].reshape(16, 16), memory[at : at + 256].reshape(16, 16)
        source[:] = x
        session = model.session()
        session.set_input("x", source)
        session.set_output("y", y)
        session.run()
        assert np.array_equal(y, want), at


def test_one_runtime_for_all():
    a, b = tenon.load(DATA / "net.onnx"), tenon.load(DATA / "net.onnx")
    assert type(a) is tenon.Model and a is not b
    runtime = tenon.Runtime(threads=1)
    model = runtime.load(DATA / "net.onnx")
    del runtime
    assert model(np.zeros((1, 3, 4, 4), np.float32)).shape == (1, 5)


def test_save(net, image, tmp_path):
    net.save(tmp_path / "again.onnx")
    assert np.allclose(tenon.load(tmp_path / "again.onnx")(image), net(image), atol=1e-5)


def test_include_folder_and_version():
    assert pathlib.Path(tenon.__file__).parent.name == "tenon" and tenon.__version__.count(".") == 2


def test_device():
    x = np.random.default_rng(5).standard_normal((3, 37), dtype=np.float32)
    want = tenon.load(DATA / "mlp.onnx")(x)
    for device in ("shadow", ["shadow:0"], ("auto",)):
        np.testing.assert_allclose(tenon.load(DATA / "mlp.onnx", device=device)(x), want, rtol=1e-5)
    steps = tenon.load(DATA / "mlp.onnx", device="shadow", fallback="forbid").explain(x).steps
    assert any(s.device.startswith("shadow") for s in steps)
    with pytest.raises(tenon.NotFoundError, match="warp"):
        tenon.load(DATA / "mlp.onnx", device="warp")
    with pytest.raises(ValueError, match="fallback: is 'forbid', 'warn' or 'allow', not 'never'"):
        tenon.load(DATA / "mlp.onnx", device="shadow", fallback="never")
    with pytest.raises(TypeError, match="device"):
        tenon.load(DATA / "mlp.onnx", device=[7])


def test_device_arrays():
    """Inputs and outputs that stay on a device, and come down as they are."""
    plain, there = tenon.load(DATA / "mlp.onnx"), tenon.load(DATA / "mlp.onnx", device="shadow")
    name, to = plain.inputs[0].name, plain.outputs[0].name
    x = np.random.default_rng(1).standard_normal(
        [3 if isinstance(d, str) else d for d in plain.inputs[0].shape]
    ).astype(np.float32)
    want = plain(x)
    a, b = there.to_device(x), there.to_device(np.zeros_like(want))
    session = there.session()
    session.set_input(name, a)
    session.set_output(to, b)
    for factor in (1, -2, 0.5):
        a.write(x * np.float32(factor))
        session.run()
        assert session.output(to) is b
        np.testing.assert_allclose(b.numpy(), plain(x * np.float32(factor)), rtol=1e-5)
    assert (b.shape, b.dtype) == (want.shape, "f32") and "f32[3," in repr(b)
    np.testing.assert_allclose(there(a), plain(a.numpy()), rtol=1e-5)  # copied as any other
    session.set_output(to, None)
    session.run()
    np.testing.assert_allclose(session.output(to), b.numpy(), rtol=1e-5)
    del there, a, b  # the session keeps what it is bound to
    session.run()


def test_device_arrays_that_do_not_fit():
    there = tenon.load(DATA / "mlp.onnx", device="shadow")
    name, to = there.inputs[0].name, there.outputs[0].name
    session = there.session()
    small = there.to_device(np.zeros(3, np.float32))
    with pytest.raises(tenon.Error, match="the model takes"):
        session.set_input(name, small)
    with pytest.raises(ValueError, match="another dtype or shape"):
        small.write(np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="no device holds"):
        there.to_device(np.array(["a"]))
    with pytest.raises(tenon.Error, match="'cuda:9' is no device"):
        there.to_device(np.zeros(3), device="cuda:9")
    with pytest.raises(tenon.Error, match="loaded without a device"):
        tenon.load(DATA / "mlp.onnx").to_device(np.zeros(3))
    other = tenon.load(DATA / "mlp.onnx", device="shadow")
    x = np.zeros([2 if isinstance(d, str) else d for d in other.inputs[0].shape], np.float32)
    with pytest.raises(tenon.Error, match="of another model"):
        session.set_input(name, other.to_device(x))
    session.set_input(name, there.to_device(x))
    session.set_output(to, small)
    with pytest.raises(tenon.Error, match="its buffer has 12"):
        session.run()
    with pytest.raises(RuntimeError, match="not initialised"):
        type(small).__new__(type(small)).numpy()



def test_whole_numbers():
    for threads in (10**30, -(10**30)):
        with pytest.raises(ValueError, match="threads: is 1?-?10*"):
            tenon.Runtime(threads=threads)
    with pytest.raises(ValueError, match="n_outputs: is -1, from 0 to 4096"):
        tenon.ops.Relu(np.zeros(3, np.float32), n_outputs=-1)
    with pytest.raises(TypeError, match="load: model is None"):
        tenon.load(None)


def test_precision():
    """Weights in 16 bits: nearly the same answer, and not quite."""
    x = np.linspace(-1, 1, 37, dtype=np.float32)[None]
    want = tenon.load(DATA / "mlp.onnx")(x)
    for precision, tolerance in (("f16", 1e-3), ("bf16", 1e-2)):
        y = tenon.load(DATA / "mlp.onnx", precision=precision)(x)
        assert y.dtype == np.float32 and not np.array_equal(y, want)
        assert np.abs(y - want).max() < tolerance * np.abs(want).max()
    with pytest.raises(ValueError, match="not 'f8'"):
        tenon.load(DATA / "mlp.onnx", precision="f8")


def test_report(image, tmp_path):
    """The page of `tenon report`, with what the model was loaded with."""

    def data(page):
        text = pathlib.Path(page).read_text(encoding="utf-8")
        return json.loads(text.split('id="data">\n')[1].split("\n</script>")[0])

    model = tenon.load(DATA / "net.onnx", threads=2, optimize=False)
    first = model.report(image, path=tmp_path / "first.html", seconds=0.01)
    shown = data(first)["report"]
    assert shown["machine"]["threads"] == 2 and shown["steps"][0]["inputs"][0]["type"] == "f32[2,3,4,4]"
    assert len(shown["steps"]) == len(model.explain(image))
    assert "<iframe" in first._repr_html_()
    of_bytes = tenon.load((DATA / "net.onnx").read_bytes(), threads=1)
    second = of_bytes.report(path=tmp_path / "second.html", seconds=0.01, compare=first)
    assert [r["machine"]["threads"] for r in data(second)["compared"]] == [2]
    with pytest.raises(tenon.Error, match="holds no page"):
        model.report(path=tmp_path / "third.html", seconds=0.01, compare=DATA / "net.onnx")
    picture = tenon.load(DATA / "picture_nhwc.onnx", threads=1)
    third = picture.report([[[[0, 1, 2]] * 2]], path=tmp_path / "third.html", seconds=0.01)
    assert data(third)["report"]["after"]["values"][0][1] == "u8[1,1,2,3]"


def test_inputs_of_reports_have_any_name(tmp_path):
    arrays = {"file": np.ones(2), "a/b:0": np.arange(3)}
    tenon._report._save(tmp_path / "inputs.npz", arrays)
    with np.load(tmp_path / "inputs.npz") as saved:
        assert {k: v.tolist() for k, v in saved.items()} == {"file": [1, 1], "a/b:0": [0, 1, 2]}
