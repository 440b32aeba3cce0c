"""Scripts of ONNX Runtime's examples with one import changed, and what is refused."""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import tenon as ort
from conftest import BUILD, DATA, SOURCE

NET = str(DATA / "net.onnx")


@pytest.fixture
def session():
    return ort.InferenceSession(NET, providers=["CPUExecutionProvider"])


def test_run(session, net, image):
    name = session.get_inputs()[0].name
    (y,) = session.run(None, {name: image})
    assert np.allclose(y, net(image), atol=1e-6)
    assert np.array_equal(session.run([session.get_outputs()[0].name], {name: image})[0], y)
    assert np.array_equal(session.run([], {name: image})[0], y)
    assert session.get_inputs()[0].type == "tensor(float)" and session.get_inputs()[0].shape == [
        "batch",
        3,
        4,
        4,
    ]
    assert session.get_providers() == ort.get_available_providers() == ["CPUExecutionProvider"]
    assert ort.InferenceSession(open(NET, "rb").read()).run(None, {name: image})[0].shape == y.shape
    meta = session.get_modelmeta()
    assert isinstance(meta.version, int) and isinstance(meta.custom_metadata_map, dict)


def test_errors(session, image):
    with pytest.raises(ValueError, match="nothing"):
        session.run(None, {"nothing": image})
    with pytest.raises(ValueError, match="input 'x' is not set|input 'x'") as error:
        session.run(None, {"x": image[:, :2]})
    assert error.value.status == "TN_ERR_SHAPE"
    with pytest.raises(ort.Error, match="'x' is not set"):
        session.run(None, {})
    with pytest.raises(ValueError, match="no output 'z'"):
        session.run(["z"], {"x": image})
    with pytest.raises(FileNotFoundError, match="nowhere.onnx"):
        ort.InferenceSession("nowhere.onnx")


def test_io_binding(session, net, image):
    binding = session.io_binding()
    binding.bind_cpu_input("x", image)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    assert np.allclose(binding.copy_outputs_to_cpu()[0], net(image), atol=1e-6)
    out = np.zeros((2, 5), np.float32)
    binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    binding.bind_input("x", "cpu", 0, np.float32, image.shape, image.ctypes.data)
    session.run_with_iobinding(binding)
    assert np.allclose(out, net(image), atol=1e-6)
    value = ort.OrtValue.ortvalue_from_numpy(image * 2)
    result = ort.OrtValue.ortvalue_from_shape_and_type([2, 5], np.float32)
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", result)
    session.run_with_iobinding(binding)
    assert np.allclose(result.numpy(), net(image * 2), atol=1e-6)
    assert binding.get_outputs()[0].data_ptr() == result.data_ptr()
    binding.clear_binding_inputs()
    with pytest.raises(ort.Error, match="not set"):
        session.run_with_iobinding(binding)
    small = ort.OrtValue.ortvalue_from_shape_and_type([1, 5], np.float32)
    binding.bind_cpu_input("x", image)
    binding.bind_ortvalue_output("y", small)
    with pytest.raises(ort.ShapeError, match="does not fit"):
        session.run_with_iobinding(binding)
    with pytest.raises(TypeError, match="cannot be bound by their address"):
        binding.bind_input("x", "cpu", 0, object, (2,), image.ctypes.data)


def test_options(image, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling = True
    session = ort.InferenceSession(NET, options)
    y = session.run(None, {"x": image})[0]
    assert np.allclose(y, ort.InferenceSession(NET).run(None, {"x": image})[0], atol=1e-5)
    assert (tmp_path / session.end_profiling()).read_text().startswith("{")
    for name in ("optimized_model_filepath", "nonsense"):
        with pytest.raises(AttributeError, match=name):
            setattr(options, name, 1)
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    with pytest.raises(NotImplementedError, match="ORT_PARALLEL"):
        ort.InferenceSession(NET, options)
    with pytest.raises(TypeError, match="sess_options: must be a SessionOptions, not 3"):
        ort.InferenceSession(NET, 3)
    with pytest.raises(NotImplementedError, match="session.some"):
        ort.SessionOptions().add_session_config_entry("session.some", "1")


def test_profiled_runs_are_runs(image, tmp_path, monkeypatch):
    """Threads, missing inputs, bound values: as without a profile, which has all of the runs."""
    monkeypatch.chdir(tmp_path)
    options = ort.SessionOptions()
    options.enable_profiling = True
    session = ort.InferenceSession(NET, options)
    want = ort.InferenceSession(NET).run(None, {"x": image})[0]
    wrong = []

    def work():
        for _ in range(20):
            try:
                assert np.array_equal(session.run(None, {"x": image})[0], want)
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not wrong
    with pytest.raises(ort.Error, match="'x' is not set"):
        session.run(None, {})
    with pytest.raises(ValueError, match="no output 'z'"):
        session.run(["z"], {"x": image})
    binding = session.io_binding()
    binding.bind_cpu_input("x", image)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    events = json.loads((tmp_path / session.end_profiling()).read_text())["traceEvents"]
    assert len({event["args"]["run"] for event in events}) == 81
    assert session.end_profiling() == "" and np.array_equal(
        session.run(None, {"x": image})[0], want
    )


def test_element_types(session, net, image):
    """Numbers of ONNX's TensorProto stand for types of NumPy."""
    out = ort.OrtValue.ortvalue_from_shape_and_type([2, 5], 1)
    assert (out.element_type(), out.data_type(), out.tensor_size_in_bytes()) == (
        1,
        "tensor(float)",
        40,
    )
    texts = ort.OrtValue.ortvalue_from_numpy(np.array(["a", "bc"]))
    assert (texts.element_type(), texts.data_type()) == (8, "tensor(string)")
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, 1, image.shape, image.ctypes.data)
    binding.bind_ortvalue_output("y", out)
    session.run_with_iobinding(binding)
    assert np.array_equal(out.numpy(), net(image))
    with pytest.raises(NotImplementedError, match="element_type: 99 of ONNX"):
        binding.bind_input("x", "cpu", 0, 99, image.shape, image.ctypes.data)


def test_options_that_were_left_out(session):
    given = [{"nonsense": "1"}]
    with pytest.raises(NotImplementedError, match="option 'nonsense' has no meaning"):
        ort.InferenceSession(NET, providers=["CPUExecutionProvider"], provider_options=given)
    with pytest.raises(NotImplementedError, match="option 'nonsense' has no meaning"):
        ort.InferenceSession(NET, providers=[("CPUExecutionProvider", given[0])])
    with pytest.raises(ValueError, match="provider_options: 1, for 0 providers"):
        ort.InferenceSession(NET, providers=[], provider_options=given)
    with pytest.raises(TypeError, match="run_options: must be a RunOptions, not 5"):
        session.run_with_iobinding(session.io_binding(), 5)
    options = ort.SessionOptions()
    options.graph_optimization_level = 7
    with pytest.raises(ValueError, match="graph_optimization_level: 7 is none of"):
        ort.InferenceSession(NET, options)


def test_hints(session, image):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(ValueError, match="session.other"):
        options.get_session_config_entry("session.other")
    ort.set_default_logger_severity(3)
    assert ort.get_all_providers() == ort.get_available_providers()
    ort.InferenceSession(NET, options).run(None, {"x": image})


def test_run_async(session, image):
    answers = queue.Queue()
    for feeds in {"x": image}, {"x": image[:, :2]}:
        session.run_async(["y"], feeds, lambda *all: answers.put(all), "mine")
        outputs, mine, error = answers.get(timeout=60)
        good = feeds["x"] is image
        assert mine == "mine" and len(outputs) == good
        assert np.array_equal(outputs[0], session.run(None, feeds)[0]) if good else "'x'" in error


def test_providers():
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        ort.InferenceSession(NET, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    with pytest.warns(UserWarning), pytest.raises(
        NotImplementedError, match="TensorrtExecutionProvider"
    ):
        ort.InferenceSession(NET, providers=[("TensorrtExecutionProvider", {})])
    with pytest.raises(TypeError, match="must be a list of names, not the str 'CPUExecution"):
        ort.InferenceSession(NET, providers="CPUExecutionProvider")


def test_equals_onnx_runtime(image):
    theirs = pytest.importorskip("onnxruntime").InferenceSession(
        NET, providers=["CPUExecutionProvider"]
    )
    ours = ort.InferenceSession(NET)
    assert np.allclose(
        ours.run(None, {"x": image})[0], theirs.run(None, {"x": image})[0], atol=1e-5
    )
    for a, b in zip(
        ours.get_inputs() + ours.get_outputs(), theirs.get_inputs() + theirs.get_outputs()
    ):
        assert (a.name, a.type, a.shape) == (b.name, b.type, b.shape)


# ---- libraries of custom operators: a process of their own each time, as they stay in one ----

AGES = SOURCE / "tests" / "ort_custom_ops" / "ages.onnx"
FIRST = """
import sys, threading
import tenon as ort
ages, library, net, bad = sys.argv[1:]
kept = ort.InferenceSession(net)  # the plug-in has been asked before
assert ort.InferenceSession(net).run(None, {"x": [[[[0.0] * 4] * 4] * 3]})
"""


def in_process(script, *, bad="nowhere.so"):
    library = BUILD / "tests" / "ort_custom_ops" / "test_ort_ops.so"
    folder = BUILD / "plugins" / "ort_custom_ops"
    if not library.exists() or not (folder / "ort_custom_ops.so").exists():
        pytest.skip("there is no build of the plug-in ort_custom_ops and its tests")
    environment = {**os.environ, "TENON_PLUGIN_PATH": str(folder)}
    environment.pop("TENON_ORT_CUSTOM_OPS", None)
    done = subprocess.run(
        [sys.executable, "-c", FIRST + script, str(AGES), str(library), NET, str(bad)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


RUN = """
def outputs():
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    session = ort.InferenceSession(ages, options)
    return dict(zip([y.name for y in session.get_outputs()], session.run(None, {})))
"""


def test_custom_ops_library():
    script = """
import os
try:
    ort.InferenceSession(ages)
    raise SystemExit("its operators are there without it")
except NotImplementedError as error:
    assert "no plug-in offers it" in str(error), error
for k in range(2):
    y = outputs()
    assert y["a"].tolist() == [6, -1, 9] and y["e"].tolist() == [207.5, 197, 212]
assert "TENON_ORT_CUSTOM_OPS" not in os.environ
"""
    in_process(RUN + script)


def test_custom_ops_libraries_of_threads():
    script = """
answers = []
threads = [threading.Thread(target=lambda: answers.append(outputs()["a"].tolist())) for k in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
assert answers == [[6, -1, 9]] * 8, answers
"""
    in_process(RUN + script)


def test_custom_ops_library_that_is_later(tmp_path):
    """A second library, of the same operators: those of the first stay."""
    second = tmp_path / "again.so"
    library = BUILD / "tests" / "ort_custom_ops" / "test_ort_ops.so"
    if library.exists():
        shutil.copy(library, second)
    script = """
assert outputs()["a"].tolist() == [6, -1, 9]
library = bad
assert outputs()["a"].tolist() == [6, -1, 9]
"""
    in_process(RUN + script, bad=second)


def test_custom_ops_library_that_is_wrong(tmp_path):
    (tmp_path / "bad.so").write_bytes(b"\0RegisterCustomOps\0")
    script = """
good, library = library, bad
try:
    outputs()
    raise SystemExit("no error")
except ValueError as error:
    assert "bad.so" in str(error) and "cannot be loaded" in str(error), error
library = good
assert outputs()["a"].tolist() == [6, -1, 9]
library = good.encode()
assert outputs()["a"].tolist() == [6, -1, 9]
library = "/nowhere/lib.so"
try:
    outputs()
    raise SystemExit("no error")
except FileNotFoundError as error:
    assert "/nowhere/lib.so" in str(error), error
"""
    in_process(RUN + script, bad=tmp_path / "bad.so")


def test_custom_ops_library_without_plugin():
    script = """
import functools, tenon._onnxruntime as own
own.Runtime = functools.partial(own.Runtime, discover=False)
try:
    outputs()
    raise SystemExit("no error")
except NotImplementedError as error:
    assert "takes the plug-in ort_custom_ops" in str(error), error
"""
    in_process(RUN + script)
