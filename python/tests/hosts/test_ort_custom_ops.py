"""Operators of onnxruntime-extensions in Tenon against the same in ONNX Runtime, each in a process
of its own: the library has its table of functions once in a process."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
extensions = pytest.importorskip("onnxruntime_extensions")

from onnx import TensorProto, helper  # noqa: E402

import tenon  # noqa: E402
from conftest_paths import DATA, SOURCE  # noqa: E402

HERE = """
import pickle, sys
host, model, library = sys.argv[1:]
feeds = pickle.load(sys.stdin.buffer)
if host == "tenon":
    import tenon
    outputs = tenon.load(model).run(feeds)
    outputs = [outputs[name] for name in outputs]
elif host == "tenon.InferenceSession":
    import tenon
    options = tenon.SessionOptions()
    options.register_custom_ops_library(library)
    outputs = tenon.InferenceSession(model, options).run(None, feeds)
else:
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(library)
    outputs = onnxruntime.InferenceSession(model, options).run(None, feeds)
pickle.dump(outputs, sys.stdout.buffer)
"""


def plugin():
    """Of the build, where the tests run in one; that of a wheel is found."""
    build = os.environ.get("TENON_BUILD", SOURCE / "build")
    path = f"{build}/plugins/ort_custom_ops/ort_custom_ops.so"
    inside = os.path.join(os.path.dirname(tenon.__file__), "plugins", "ort_custom_ops.so")
    if os.path.exists(inside):
        return inside
    if not os.path.exists(path):
        pytest.skip("there is no plug-in ort_custom_ops")
    return path


def outputs_of(host, model, feeds):
    library = extensions.get_library_path()
    environment = {**os.environ, "TENON_PLUGIN_PATH": os.path.dirname(plugin())}
    environment.pop("TENON_ORT_CUSTOM_OPS", None)
    if host == "tenon":
        environment["TENON_ORT_CUSTOM_OPS"] = library
    done = subprocess.run(
        [sys.executable, "-c", HERE, host, str(model), library],
        input=pickle.dumps(feeds),
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [np.asarray(y) for y in pickle.loads(done.stdout)]


def texts(*values):
    return np.array(values, dtype=object)


VOCABULARY = "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nthe\nquick\nbrown\nfox\n##es\nhello\n,\n"
PICTURE = np.fromfile(DATA / "colours.png", dtype=np.uint8)
CASES = {
    "StringUpper": ([texts("abc", "über")], {}, ["S"]),
    "StringLength": ([texts("abc", "")], {}, ["I"]),
    "StringConcat": ([texts("a", "b"), texts("x", "y")], {}, ["S"]),
    "StringRegexReplace": (
        [texts("a1b22", "c"), texts("[0-9]+"), texts("#")],
        {"global_replace": 1},
        ["S"],
    ),
    "StringMapping": ([texts("a", "b")], {"map": "a\tone\nb\ttwo"}, ["S"]),
    "NegPos": ([np.array([[1, -2], [0, 3]], np.float32)], {}, ["F", "F"]),
    "BertTokenizer": (
        [texts("Hello, the quick foxes")],
        {"vocab_file": VOCABULARY, "do_lower_case": 1},
        ["I", "I", "I"],
    ),
    "com.microsoft.extensions::DecodeImage": ([PICTURE], {}, ["B"]),
}
TYPES = {"S": TensorProto.STRING, "I": TensorProto.INT64, "F": TensorProto.FLOAT}
TYPES["B"] = TensorProto.UINT8


def model_of(name, inputs, attributes, outputs):
    domain, _, op = name.rpartition("::")
    domain = domain or "ai.onnx.contrib"
    kind = {"O": "S", "f": "F", "u": "B"}
    types = [TYPES[kind[x.dtype.kind]] for x in inputs]
    ins, outs = [f"x{k}" for k in range(len(inputs))], [f"y{k}" for k in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(op, ins, outs, domain=domain, **attributes)],
        op,
        [
            helper.make_tensor_value_info(n, t, [None] * x.ndim)
            for n, t, x in zip(ins, types, inputs)
        ],
        [helper.make_tensor_value_info(n, TYPES[t], None) for n, t in zip(outs, outputs)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("name", CASES)
def test_operator(name, tmp_path):
    inputs, attributes, outputs = CASES[name]
    onnx.save(model_of(name, inputs, attributes, outputs), tmp_path / "model.onnx")
    feeds = {f"x{k}": x for k, x in enumerate(inputs)}
    wanted = outputs_of("onnxruntime", tmp_path / "model.onnx", feeds)
    for host in ("tenon", "tenon.InferenceSession"):
        got = outputs_of(host, tmp_path / "model.onnx", feeds)
        assert len(got) == len(wanted) == len(outputs)
        for a, b in zip(got, wanted):
            assert a.shape == b.shape
            assert a.astype(b.dtype).tolist() == b.tolist()
