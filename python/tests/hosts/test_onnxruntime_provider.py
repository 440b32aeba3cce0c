"""Tenon as an execution provider of ONNX Runtime; needs onnxruntime 1.23 or newer."""

import json
import threading

import numpy as np
import pytest

ort = pytest.importorskip("onnxruntime", minversion="1.23")
onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

import tenon.onnxruntime  # noqa: E402
from conftest_paths import DATA, MODELS  # noqa: E402


def opened(model, threads=1, tenon_too=True, **more):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if tenon_too:
        options.add_provider_for_devices(
            tenon.onnxruntime.devices(), {"threads": str(threads), **more}
        )
    return ort.InferenceSession(str(model) if not isinstance(model, bytes) else model, options)


DTYPES = {"float": "f4", "int64": "i8", "int32": "i4", "float16": "f2", "uint8": "u1", "bool": "?"}


def feeds(session):
    random = np.random.default_rng(1)

    def of(value):
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        dtype = np.dtype(DTYPES[value.type[7:-1]])
        if dtype.kind == "f":
            return random.random(shape).astype(dtype)
        return random.integers(0, 2, shape).astype(dtype)

    return {v.name: of(v) for v in session.get_inputs()}


def assigned(model, path):
    """How many nodes of the optimised model are fused nodes of Tenon, how many are not."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.enable_profiling = True
    options.profile_file_prefix = str(path)
    options.add_provider_for_devices(tenon.onnxruntime.devices(), {"threads": "1"})
    session = ort.InferenceSession(model, options)
    session.run(None, feeds(session))
    with open(session.end_profiling(), encoding="utf-8") as file:
        events = json.load(file)
    ran = [e["args"]["provider"] for e in events if e["name"].endswith("_kernel_time")]
    return ran.count("TenonExecutionProvider"), len(ran) - ran.count("TenonExecutionProvider")


def test_whole_model(tmp_path):
    mine, other = opened(DATA / "net.onnx"), opened(DATA / "net.onnx", tenon_too=False)
    assert "TenonExecutionProvider" in mine.get_providers()
    for batch in (1, 3, 1):
        x = np.random.default_rng(batch).random((batch, 3, 4, 4), dtype=np.float32)
        np.testing.assert_allclose(
            mine.run(None, {"x": x})[0], other.run(None, {"x": x})[0], rtol=1e-5
        )
    assert assigned((DATA / "net.onnx").read_bytes(), tmp_path / "p") == (1, 0)


@pytest.mark.parametrize(
    "name", ["fastestdet", "gpt2-tiny-past", "mobilenet-v2-qoperator", "squeezenet-1.0-fp16"]
)
def test_models(name):
    path = MODELS / name / "model.onnx"
    if not path.exists():
        pytest.skip("there is no test data")
    other = opened(path, tenon_too=False)
    inputs = feeds(other)
    for got, want in zip(opened(path).run(None, inputs), other.run(None, inputs)):
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-3)


def chain(*nodes, inputs=(("x", [4]),), kind=TensorProto.FLOAT, output_shape=None):
    values = [helper.make_tensor_value_info(n, kind, s) for n, s in inputs]
    graph = helper.make_graph(
        list(nodes), "g", values, [helper.make_tensor_value_info("y", kind, output_shape)]
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def test_islands_around_nodes_of_others(tmp_path):
    """Control flow in the middle is the host's: two parts, and no cycle through it."""
    n = helper.make_node

    def body(name, op):
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([n(op, ["b"], [name])], name, [], [out])

    model = chain(
        n("Abs", ["x"], ["a"]),
        n("Sqrt", ["a"], ["b"]),
        n("ReduceMax", ["a"], ["m"], keepdims=0),
        n("Cast", ["m"], ["big"], to=TensorProto.BOOL),
        n("If", ["big"], ["c"], then_branch=body("t", "Neg"), else_branch=body("e", "Abs")),
        n("Add", ["c", "b"], ["d"]),
        n("Sigmoid", ["d"], ["y"]),
    )
    mine, other = opened(model), opened(model, tenon_too=False)
    for x in ([1, 4, 9, 25], [0, 0, 0, 0]):
        x = np.array(x, np.float32)
        want = other.run(None, {"x": x})[0]
        np.testing.assert_allclose(mine.run(None, {"x": x})[0], want, rtol=1e-5)
    taken, left = assigned(model, tmp_path / "p")
    assert taken == 2 and left >= 1


def test_a_node_with_very_many_inputs(tmp_path):
    """One of them comes from a node of the host, which comes from one of Tenon's."""
    n, count = helper.make_node, 1500
    out = helper.make_tensor_value_info("t", TensorProto.FLOAT, None)
    body = helper.make_graph([n("Neg", ["a"], ["t"])], "b", [], [out])
    model = chain(
        n("Abs", ["x"], ["a"]),
        n("Sqrt", ["a"], ["b"]),
        n("ReduceMax", ["a"], ["m"], keepdims=0),
        n("Cast", ["m"], ["big"], to=TensorProto.BOOL),
        n("If", ["big"], ["c"], then_branch=body, else_branch=body),
        n("Concat", [*["b"] * count, "c"], ["d"], axis=0),
        n("Neg", ["d"], ["y"]),
    )
    x = np.array([1, 4, 9, 25], np.float32)
    want = opened(model, tenon_too=False).run(None, {"x": x})[0]
    np.testing.assert_allclose(opened(model).run(None, {"x": x})[0], want, rtol=1e-5)
    assert assigned(model, tmp_path / "p")[0] == 2


def test_shapes_that_depend_on_data():
    n = helper.make_node
    model = chain(n("NonZero", ["x"], ["i"]), n("Cast", ["i"], ["y"], to=TensorProto.FLOAT))
    session = opened(model)
    assert session.run(None, {"x": np.array([1, 0, 2, 0], np.float32)})[0].tolist() == [[0, 2]]
    assert session.run(None, {"x": np.ones(4, np.float32)})[0].tolist() == [[0, 1, 2, 3]]


def test_attributes_of_every_kind():
    n = helper.make_node
    value = onnx.numpy_helper.from_array(np.array([7], np.float32))
    model = chain(
        n("ConstantOfShape", ["s"], ["a"], value=value),
        n("Pad", ["x", "p"], ["b"], mode="reflect"),
        n("LeakyRelu", ["b"], ["c"], alpha=0.5),
        n("ReduceMean", ["c"], ["d"], axes=[0], keepdims=1),
        n("Add", ["a", "d"], ["y"]),
    )
    proto = onnx.load_from_string(model)
    for name, array in {"s": [3], "p": [1, 1]}.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(array), name))
    model, x = proto.SerializeToString(), np.array([-4, 1, 2, 3], np.float32)
    want = opened(model, tenon_too=False).run(None, {"x": x})[0]
    np.testing.assert_allclose(opened(model).run(None, {"x": x})[0], want, rtol=1e-6)


def test_many_threads_one_session():
    session = opened(DATA / "net.onnx", threads=2)
    inputs = [np.full((1 + k % 3, 3, 4, 4), k, np.float32) for k in range(8)]
    want, wrong = [session.run(None, {"x": x})[0] for x in inputs], []

    def work(k):
        for _ in range(100):
            if not np.array_equal(session.run(None, {"x": inputs[k]})[0], want[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_bad_options_and_errors():
    with pytest.raises(Exception, match="option threads is a number"):
        options = ort.SessionOptions()
        options.add_provider_for_devices(tenon.onnxruntime.devices(), {"threads": "many"})
        ort.InferenceSession(str(DATA / "net.onnx"), options)
    with pytest.raises(Exception, match="no/such/plugin.so"):
        opened(DATA / "net.onnx", plugins="/no/such/plugin.so")
    with pytest.raises(Exception, match="option plugins is longer"):
        opened(DATA / "net.onnx", plugins="/x" * 2500)
    n = helper.make_node
    model = chain(n("Reshape", ["x", "s"], ["a"]), n("Abs", ["a"], ["y"]), inputs=[("x", ["n"])])
    proto = onnx.load_from_string(model)
    proto.graph.input.append(helper.make_tensor_value_info("s", TensorProto.INT64, [2]))
    session = opened(proto.SerializeToString())
    x = np.ones(6, np.float32)
    assert session.run(None, {"x": x, "s": np.array([2, 3])})[0].shape == (2, 3)
    with pytest.raises(Exception, match="Tenon"):
        session.run(None, {"x": x, "s": np.array([4, 3])})
    assert session.run(None, {"x": x, "s": np.array([3, 2])})[0].shape == (3, 2)
