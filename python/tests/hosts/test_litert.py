"""Tenon as a delegate of LiteRT against LiteRT alone; needs ai-edge-litert."""

import threading

import numpy as np
import pytest
from conftest_paths import DATA, SOURCE

litert = pytest.importorskip("ai_edge_litert.interpreter")

import tenon.litert  # noqa: E402

SHARED = SOURCE.parent / "shared" / "testdata" / "tflite-models"
# in the first LiteRT itself crashes, the second it does not read
LEFT_OUT = {"keyword-scrambled-svdf-8bit", "person-detect-int8"}
FILES = [f for f in sorted(SHARED.glob("*/model.tflite")) if f.parent.name not in LEFT_OUT]
OWN = ["net", "moves", "resized", "control", "states", "recurrent", "wide"]
FILES += [DATA / "tflite" / name / "model.tflite" for name in OWN]


def feed(interpreter, seed=1):
    rng = np.random.default_rng(seed)
    interpreter.allocate_tensors()
    for d in interpreter.get_input_details():
        if d["dtype"] == np.bool_:
            x = rng.integers(0, 2, d["shape"])
        else:
            high = 2 if np.issubdtype(d["dtype"], np.floating) else 4
            x = rng.random(d["shape"]) if high == 2 else rng.integers(0, high, d["shape"])
        interpreter.set_tensor(d["index"], np.asarray(x).astype(d["dtype"]))


def run(interpreter):
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.parent.name)
@pytest.mark.parametrize("in_memory", [False, True])
def test_models(file, in_memory):
    def make(**more):
        where = {"model_content": file.read_bytes()} if in_memory else {"model_path": str(file)}
        made = litert.Interpreter(**where, num_threads=1, **more)
        feed(made)
        return run(made)

    want = make()
    got = make(experimental_delegates=[tenon.litert.delegate(fallback="forbid")])
    for x, y in zip(want, got):
        assert x.dtype == y.dtype and x.shape == y.shape
        if x.dtype.kind == "f":
            np.testing.assert_allclose(y, x, rtol=1e-3, atol=1e-4)
        else:
            np.testing.assert_array_equal(y, x)


def test_resizing_and_threads():
    file = next((f for f in FILES if f.parent.name == "mlperf-ad01-float"), None)
    if not file:
        pytest.skip("the shared models are not here")

    def work(seed, out):
        for n in (1, 3, 2):
            both = [[], [tenon.litert.delegate(threads=2)]]
            made = [litert.Interpreter(str(file), experimental_delegates=d) for d in both]
            for i in made:
                at = i.get_input_details()[0]["index"]
                i.resize_tensor_input(at, (n, 640))
                feed(i, seed)
            a, b = (run(i)[0] for i in made)
            out.append(np.allclose(a, b, rtol=1e-3, atol=1e-3) and b.shape == (n, 640))

    results = []
    workers = [threading.Thread(target=work, args=(k, results)) for k in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert results == [True] * 9


def test_what_is_wrong_is_told():
    with pytest.raises(ValueError, match="there is no option 'thread'"):
        litert.load_delegate(tenon.litert.library(), {"thread": 1})
    with pytest.raises(ValueError, match="threads is no number"):
        tenon.litert.delegate(threads="many")
    with pytest.raises(ValueError, match="no_such_file"):
        tenon.litert.delegate(plugins=["/no_such_file.so"])
    with pytest.raises(ValueError, match="/no_such_file.so"):
        tenon.litert.delegate(plugins="/no_such_file.so")
    custom = str(DATA / "tflite" / "custom" / "model.tflite")
    with pytest.raises((ValueError, RuntimeError)):
        made = litert.Interpreter(
            custom, experimental_delegates=[tenon.litert.delegate(fallback="forbid")]
        )
        made.allocate_tensors()


def make_file(nodes, tensors, inputs, outputs):
    """nodes: code, name of a custom operator, inputs, outputs; tensors: dims and type's number."""
    flatbuffers = pytest.importorskip("flatbuffers")
    from ai_edge_litert import schema_py_generated as schema
    from flatbuffers import flexbuffers

    graph, model = schema.SubGraphT(), schema.ModelT()
    graph.tensors, graph.operators, model.operatorCodes = [], [], []
    for k, (code, name, ins, outs) in enumerate(nodes):
        c, o = schema.OperatorCodeT(), schema.OperatorT()
        c.builtinCode = c.deprecatedBuiltinCode = code
        c.customCode, c.version = name, 1
        o.opcodeIndex, o.inputs, o.outputs = k, ins, outs
        o.customOptions = list(flexbuffers.Dumps({"alpha": 2.0})) if name else None
        if code == LSH_PROJECTION:
            o.builtinOptionsType = schema.BuiltinOptions.LSHProjectionOptions
            o.builtinOptions = schema.LSHProjectionOptionsT()
            o.builtinOptions.type = schema.LSHProjectionType.DENSE
        graph.operators.append(o)
        model.operatorCodes.append(c)
    for k, (dims, number) in enumerate(tensors):
        t = schema.TensorT()
        t.shape, t.name, t.type = dims, f"t{k}", number
        graph.tensors.append(t)
    graph.inputs, graph.outputs = inputs, outputs
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


RELU, ABS, LSH_PROJECTION, CUSTOM = 19, 101, 15, 32
F32, I32 = 0, 2


def test_an_operator_of_a_plugins_domain():
    if not any(p["name"] == "contrib" for p in tenon.Runtime().plugins()):
        pytest.skip("there is no plug-in contrib")
    gelu = (CUSTOM, "com.microsoft::QuickGelu", [1], [2])
    nodes = [(RELU, None, [0], [1]), gelu, (ABS, None, [2], [3])]
    content = make_file(nodes, [([2, 8], F32)] * 4, [0], [3])
    made = litert.Interpreter(
        model_content=content, experimental_delegates=[tenon.litert.delegate()]
    )
    feed(made)
    x = made.get_tensor(0)
    np.testing.assert_allclose(run(made)[0], x / (1 + np.exp(-2 * x)), rtol=1e-5)


def test_parts_around_an_operator_of_litert():
    """LSH_PROJECTION stays with LiteRT, the two others are Tenon's."""
    nodes = [(RELU, None, [0], [1]), (ABS, None, [1], [2]), (LSH_PROJECTION, None, [3, 4], [5])]
    tensors = [([2, 8], F32)] * 3 + [([2, 4], F32), ([2, 8], I32), ([8], I32)]
    content = make_file(nodes, tensors, [0, 3, 4], [2, 5])
    made = [
        litert.Interpreter(model_content=content, experimental_delegates=d)
        for d in ([], [tenon.litert.delegate()])
    ]
    for i in made:
        feed(i)
    for x, y in zip(*map(run, made)):
        np.testing.assert_array_equal(y, x)
    names = [o["op_name"] for o in made[1]._get_ops_details()]
    assert names.count("DELEGATE") == 1
    with pytest.raises(RuntimeError, match="LSH_PROJECTION"):
        litert.Interpreter(
            model_content=content,
            experimental_delegates=[tenon.litert.delegate(fallback="forbid")],
        )
