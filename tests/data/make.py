#!/usr/bin/env python3
"""Makes the small models and values of this folder. They are committed; this is only needed to
change them. Needs numpy and onnx."""
import os
import struct
import zlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h

here = os.path.dirname(os.path.abspath(__file__))


def model(name, nodes, inputs, outputs, weights=(), opsets=(("", 17),), functions=()):
    graph = h.make_graph(
        nodes, name, inputs, outputs,
        [onnx.numpy_helper.from_array(a, n) for n, a in weights])
    m = h.make_model(graph, opset_imports=[h.make_opsetid(d, v) for d, v in opsets],
                     producer_name="tests", producer_version="1", ir_version=8,
                     functions=list(functions))
    onnx.save(m, os.path.join(here, name + ".onnx"))


def value(name, dtype, shape):
    return h.make_tensor_value_info(name, dtype, shape)


rng = np.random.default_rng(7)
weights = [("w", rng.integers(-2, 3, (4, 3, 3, 3)).astype(np.float32)),
           ("b", np.array([0, 1, -1, 0.5], np.float32)),
           ("m", rng.integers(-1, 2, (4, 5)).astype(np.float32))]

# A small network with a named open dim.
model("net", [
    h.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
    h.make_node("Relu", ["c"], ["r"], "relu"),
    h.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
    h.make_node("Flatten", ["p"], ["f"], "flat"),
    h.make_node("MatMul", ["f", "m"], ["y"], "head"),
], [value("x", T.FLOAT, ["batch", 3, 4, 4])], [value("y", T.FLOAT, ["batch", 5])], weights)

# Three layers of products: with and without a transposed weight, a bias or a Gemm around it.
mlp_rng = np.random.default_rng(8)
mlp = [("w1", mlp_rng.standard_normal((37, 70)).astype(np.float32)),
       ("b1", mlp_rng.standard_normal(70).astype(np.float32)),
       ("w2", mlp_rng.standard_normal((19, 70)).astype(np.float32)),
       ("b2", mlp_rng.standard_normal((1, 19)).astype(np.float32)),
       ("w3", mlp_rng.standard_normal((19, 5)).astype(np.float32)),
       ("b3", mlp_rng.standard_normal(5).astype(np.float32))]
model("mlp", [
    h.make_node("Gemm", ["x", "w1", "b1"], ["h1"], "first", alpha=0.5),
    h.make_node("Relu", ["h1"], ["r1"], "relu1"),
    h.make_node("Gemm", ["r1", "w2", "b2"], ["h2"], "second", transB=1, beta=0.25),
    h.make_node("Relu", ["h2"], ["r2"], "relu2"),
    h.make_node("MatMul", ["r2", "w3"], ["h3"], "third"),
    h.make_node("Add", ["h3", "b3"], ["y"], "bias"),
], [value("x", T.FLOAT, ["batch", 37])], [value("y", T.FLOAT, ["batch", 5])], mlp)

# One input and output of each element type, and two inputs that share a named dim.
kinds = [("f32", T.FLOAT), ("f64", T.DOUBLE), ("f16", T.FLOAT16), ("bf16", T.BFLOAT16),
         ("i8", T.INT8),
         ("i16", T.INT16), ("i32", T.INT32), ("i64", T.INT64), ("u8", T.UINT8), ("u16", T.UINT16),
         ("u32", T.UINT32), ("u64", T.UINT64), ("bool", T.BOOL), ("string", T.STRING),
         ("f8", T.FLOAT8E4M3FN), ("i4", T.INT4), ("c64", T.COMPLEX64)]
model("types", [h.make_node("Identity", ["in_" + n], ["out_" + n]) for n, _ in kinds],
      [value("in_" + n, t, ["n"]) for n, t in kinds],
      [value("out_" + n, t, ["n"]) for n, t in kinds],
      opsets=[("", 25)])

# Inputs that have a default: scale, also read by a branch, and the shape of the result. An older
# file: there the same are constants.
def defaults(name, ir_version):
    then = h.make_graph([h.make_node("Mul", ["x", "scale"], ["m"], "mul")], "then", [],
                        [value("m", T.FLOAT, ["n", 2])])
    other = h.make_graph([h.make_node("Neg", ["x"], ["m2"], "neg")], "else", [],
                         [value("m2", T.FLOAT, ["n", 2])])
    graph = h.make_graph([
        h.make_node("If", ["c"], ["f"], "choose", then_branch=then, else_branch=other),
        h.make_node("Neg", ["scale"], ["back"], "back"),
        h.make_node("Add", ["f", "back"], ["s"], "add"),
        h.make_node("Reshape", ["s", "to"], ["y"], "shape"),
    ], name, [value("scale", T.FLOAT, ["k"]), value("x", T.FLOAT, ["n", 2]),
              value("to", T.INT64, [2]), value("c", T.BOOL, [])],
        [value("y", T.FLOAT, [None, None])],
        [onnx.numpy_helper.from_array(np.array([10, 100], np.float32), "scale"),
         onnx.numpy_helper.from_array(np.array([-1, 1], np.int64), "to"),
         onnx.numpy_helper.from_array(np.array(True), "c")])
    m = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=ir_version)
    onnx.save(m, os.path.join(here, name + ".onnx"))


defaults("default", 8)
defaults("default_ir3", 3)
np.save(os.path.join(here, "pair.npy"), np.array([[1, 2], [3, 4]], np.float32))
np.savez(os.path.join(here, "default.npz"), scale=np.array([1, 1], np.float32), c=np.array(True))

# Pictures and sound, passed on.
model("picture", [h.make_node("Identity", ["image"], ["same"])],
      [value("image", T.FLOAT, [1, 3, 2, 4])], [value("same", T.FLOAT, [1, 3, 2, 4])])
model("picture_nhwc", [h.make_node("Identity", ["image"], ["same"])],
      [value("image", T.UINT8, [1, "h", "w", 3])], [value("same", T.UINT8, [1, "h", "w", 3])])
model("sound", [h.make_node("Identity", ["samples"], ["same"])],
      [value("samples", T.FLOAT, [1, "n", 1])], [value("same", T.FLOAT, [1, "n", 1])])

# Shapes that depend on data, a subgraph, a list.
then = h.make_graph([h.make_node("Neg", ["x"], ["n"], "neg")], "then", [],
                    [value("n", T.FLOAT, [4])])
other = h.make_graph([h.make_node("Abs", ["x"], ["a"], "abs")], "else", [],
                     [value("a", T.FLOAT, [4])])
model("branch", [
    h.make_node("If", ["c"], ["y"], "choose", then_branch=then, else_branch=other),
    h.make_node("NonZero", ["y"], ["z"], "find"),
    h.make_node("Transpose", ["z"], ["t"], "turn"),
    h.make_node("SequenceConstruct", ["x", "y"], ["list"], "pack"),
], [value("x", T.FLOAT, [4]), value("c", T.BOOL, [])],
    [value("t", T.INT64, ["k", 1]), h.make_tensor_sequence_value_info("list", T.FLOAT, None)])

# What is not there: an operator of another domain, a version, and one inside a function of the
# model.
double = h.make_function("local", "Twice", ["a"], ["b"],
                         [h.make_node("Bar", ["a"], ["b"], domain="com.acme")],
                         [h.make_opsetid("com.acme", 1), h.make_opsetid("", 17)])
model("missing",
      [h.make_node("Foo", ["x" if k == 0 else f"v{k - 1}"], [f"v{k}"], f"foo{k}", domain="com.acme")
       for k in range(12)] +
      [h.make_node("Twice", ["v11"], ["t"], "twice", domain="local"),
       h.make_node("Relu", ["t"], ["y"], "relu", slope=2)],
      [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])],
      opsets=[("", 17), ("com.acme", 1), ("local", 1)], functions=[double])
# A function of the model that is there.
model("function", [h.make_node("Twice", ["x"], ["y"], "twice", domain="local")],
      [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], opsets=[("", 17), ("local", 1)],
      functions=[h.make_function("local", "Twice", ["a"], ["b"],
                                 [h.make_node("Add", ["a", "a"], ["b"])],
                                 [h.make_opsetid("", 17)])])
model("wrong", [h.make_node("Conv", ["x"], ["y"], "conv", kernel_shape=[1, 1])],
      [value("x", T.FLOAT, [1, 1, 2, 2])], [value("y", T.FLOAT, [1, 1, 2, 2])])
# An operator that is misspelt, one of the plug-in contrib, nodes without names, an operator set
# that is not there yet.
v2 = [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])]
model("typo", [h.make_node("Realu", ["x"], ["y"])], *v2)
model("shipped", [h.make_node("FastGelu", ["x"], ["y"], domain="com.microsoft")], *v2,
      opsets=[("", 17), ("com.microsoft", 1)])
model("nameless", [h.make_node("Neg", ["x"], ["t"]), h.make_node("Conv", ["t"], ["y"])], *v2)
model("newer", [h.make_node("Neg", ["x"], ["y"])], *v2, opsets=[("", 99)])

# A convolution that widens, one channel by channel and one that narrows: on the CPU they are one
# step. The weights are a few numbers again and again.
model("residual", [
    h.make_node("Expand", ["w1", "wide"], ["v1"]),
    h.make_node("Expand", ["w2", "deep"], ["v2"]),
    h.make_node("Expand", ["w3", "back"], ["v3"]),
    h.make_node("Conv", ["x", "v1"], ["a"], "widens"),
    h.make_node("Relu", ["a"], ["b"], "relu1"),
    h.make_node("Conv", ["b", "v2"], ["c"], "depthwise", group=1024, pads=[1, 1, 1, 1]),
    h.make_node("Relu", ["c"], ["d"], "relu2"),
    h.make_node("Conv", ["d", "v3"], ["y"], "narrows")],
      [value("x", T.FLOAT, [1, 1, 16, 16])], [value("y", T.FLOAT, [1, 1, 16, 16])],
      [("w1", np.full((1, 1, 1, 1), 0.5, np.float32)),
       ("w2", (np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3) - 3) / 8),
       ("w3", np.full((1, 1, 1, 1), 2.0 ** -10, np.float32)),
       ("wide", np.array([1024, 1, 1, 1])), ("deep", np.array([1024, 1, 3, 3])),
       ("back", np.array([1, 1024, 1, 1]))])

# A loop without end; a function that is defined twice; a product that fits for no size of its open
# dim; names that would begin lines of their own; weights in a file of another folder. Names of dims
# that do not fit each other.
body = h.make_graph([h.make_node("Identity", ["c"], ["go"]), h.make_node("Neg", ["v"], ["w"])],
                    "body", [value("i", T.INT64, []), value("c", T.BOOL, []),
                             value("v", T.FLOAT, [2])],
                    [value("go", T.BOOL, []), value("w", T.FLOAT, [2])])
model("endless", [h.make_node("Loop", ["", "", "x"], ["y"], "for_ever", body=body)],
      [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])])
model("unfit", [h.make_node("MatMul", ["x", "w"], ["y"])],
      [value("x", T.FLOAT, ["n", 4]), value("w", T.FLOAT, [5, 3])], [value("y", T.FLOAT, ["n", 3])])
model("twice", [h.make_node("Twice", ["x"], ["y"], "call", domain="local")],
      [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], opsets=[("", 17), ("local", 1)],
      functions=[h.make_function("local", "Twice", ["a"], ["b"], [h.make_node(op, ["a"], ["b"])],
                                 [h.make_opsetid("", 17)]) for op in ("Neg", "Abs")])
lines = "a\ntenon: error: b"
model("lines", [h.make_node("Neg", [lines], ["t"], lines),
                h.make_node("Foo\nBar", ["t"], ["out\ny"], "last\n", domain="com\nacme")],
      [value(lines, T.FLOAT, ["d\nim"])], [value("out\ny", T.FLOAT, [2])],
      opsets=[("", 17), ("com\nacme", 1)])
model("lines_run", [h.make_node("Neg", [lines], ["out\ny"], lines)],
      [value(lines, T.FLOAT, ["d\nim"])], [value("out\ny", T.FLOAT, ["d\nim"])])
outside = onnx.TensorProto(name="w", data_type=T.FLOAT, dims=[2], data_location=1)
outside.external_data.add(key="location", value="weights.bin")
m = h.make_model(h.make_graph([h.make_node("Add", ["x", "w"], ["y"], "add")], "external",
                              [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], [outside]),
                 opset_imports=[h.make_opsetid("", 17)], ir_version=8)
open(os.path.join(here, "external.onnx"), "wb").write(m.SerializeToString())

# Weights that are sparse, and such as stand in a field for their type.
sparse = h.make_sparse_tensor(onnx.numpy_helper.from_array(np.array([3, -1], np.float32), "w"),
                              onnx.numpy_helper.from_array(np.array([1, 4]), "at"), [5])
for name, initializers in (
        ("sparse", {"sparse_initializer": [sparse]}),
        ("typed", {"initializer": [h.make_tensor("w", T.FLOAT, [5], [0, 3, 0, 0, -1])]})):
    m = h.make_model(h.make_graph([h.make_node("Add", ["x", "w"], ["y"], "add")], name,
                                  [value("x", T.FLOAT, [5])], [value("y", T.FLOAT, [5])]),
                     opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    for field, tensors in initializers.items():
        getattr(m.graph, field).extend(tensors)
    onnx.save(m, os.path.join(here, name + ".onnx"))


def field(number, content):  # of Protobuf, whose own library does not nest as deep
    n, size = len(content), b""
    while n > 127:
        n, size = n >> 7, size + bytes([n & 127 | 128])
    return bytes([number << 3 | 2]) + size + bytes([n]) + content


deep = h.make_graph([h.make_node("Neg", ["x"], ["o"])], "leaf", [],
                    [value("o", T.FLOAT, [2])]).SerializeToString()
for k in range(1, 61):
    node = h.make_node("If", ["x"], [f"r{k}"], f"if{k}").SerializeToString()
    deep = field(1, node + field(5, field(1, b"then_branch") + field(6, deep)))
open(os.path.join(here, "deep.onnx"), "wb").write(
    onnx.ModelProto(ir_version=8, opset_import=[h.make_opsetid("", 17)]).SerializeToString() +
    field(7, deep))
whole = open(os.path.join(here, "net.onnx"), "rb").read()
open(os.path.join(here, "truncated.onnx"), "wb").write(whole[:len(whole) // 2])


# ---- values ----

def path(name):
    return os.path.join(here, name)


x = ((np.arange(96) % 7) - 3).astype(np.float32).reshape(2, 3, 4, 4)
np.save(path("x.npy"), x)
np.save(path("x_wrong.npy"), x[:, :2])
np.save(path("x_f64.npy"), x.astype(np.float64))
x[:1].tofile(path("x.bin"))
np.savez_compressed(path("x.npz"), x=x)
types = {"f32": "f4", "f64": "f8", "f16": "f2", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
         "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "bool": "?", "c64": "c8", "bf16": "f4",
         "f8": "f4", "i4": "i1"}
values = {"in_" + n: np.array([1, 0, 3]).astype(t) for n, t in types.items()}
values["in_string"] = np.array(["one", "", "dré"])
np.savez_compressed(path("types.npz"), **values)
np.savez_compressed(path("other.npz"), nothing=x[:1])


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, pixels):  # rows of pixels of three bytes
    rows = b"".join(b"\0" + bytes(sum(row, [])) for row in pixels)
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    open(path(name), "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                                 chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


colours = [[[30 * k, 30 * k + 10, 30 * k + 20] for k in range(r, r + 4)] for r in (0, 4)]
png("colours.png", colours)
edge = [[255, 255, 255]] * 2
png("wide.png", [edge + row + edge for row in colours])  # colours.png in its middle
png("square.png", [[[200, 200, 200]] * 4] * 4)
header = struct.pack(">IIBBBBB", 4, 2, 8, 2, 0, 0, 0)
open(path("broken.png"), "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
samples = np.array([0, 16384, -16384, 0, 32767, 32767, -32768, -32768], np.int16)  # stereo
wav = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + 16, b"WAVE", b"fmt ", 16, 1, 2, 8000, 32000,
                  4, 16, b"data", 16)
open(path("stereo.wav"), "wb").write(wav + samples.tobytes())

# A decoder of one layer as onnxruntime-genai writes it: the lengths of the batches are data, the
# cache has room for two more keys.
lm_rng = np.random.default_rng(9)
turns = np.outer(np.arange(12), 0.5 ** np.arange(8))
lm = [("table", lm_rng.standard_normal((20, 32)).astype(np.float32)),
      ("gain", lm_rng.uniform(0.5, 1.5, 32).astype(np.float32)),
      ("w_qkv", lm_rng.standard_normal((32, 64)).astype(np.float32)),
      ("w_o", lm_rng.standard_normal((32, 32)).astype(np.float32)),
      ("w_head", lm_rng.standard_normal((32, 20)).astype(np.float32)),
      ("cosines", np.cos(turns).astype(np.float32)), ("sines", np.sin(turns).astype(np.float32)),
      ("one", np.array(1, np.int64)), ("axis", np.array([1], np.int64))]
model("decoder", [
    h.make_node("Gather", ["table", "ids"], ["x"], "embedding"),
    h.make_node("ReduceSum", ["mask", "axis"], ["counts"], "counts", keepdims=0),
    h.make_node("Sub", ["counts", "one"], ["ends"], "ends"),
    h.make_node("Cast", ["ends"], ["lengths"], "lengths", to=T.INT32),
    h.make_node("Shape", ["mask"], ["mask_shape"], "mask_shape"),
    h.make_node("Gather", ["mask_shape", "one"], ["columns"], "columns"),
    h.make_node("Cast", ["columns"], ["total"], "total", to=T.INT32),
    h.make_node("SimplifiedLayerNormalization", ["x", "gain"], ["n"], "norm", epsilon=1e-6),
    h.make_node("MatMul", ["n", "w_qkv"], ["qkv"], "qkv"),
    h.make_node("GroupQueryAttention", ["qkv", "", "", "past_k", "past_v", "lengths", "total",
                                        "cosines", "sines"], ["a", "present_k", "present_v"],
                "attention", domain="com.microsoft", num_heads=2, kv_num_heads=1, do_rotary=1,
                local_window_size=5, softcap=20.0),
    h.make_node("MatMul", ["a", "w_o"], ["o"], "out"),
    h.make_node("SkipSimplifiedLayerNormalization", ["x", "o", "gain"], ["s"], "last_norm",
                domain="com.microsoft", epsilon=1e-6),
    h.make_node("MatMul", ["s", "w_head"], ["logits"], "head"),
], [value("ids", T.INT64, ["batch", "tokens"]), value("mask", T.INT64, ["batch", "total"]),
    value("past_k", T.FLOAT, ["batch", 1, "past", 16]),
    value("past_v", T.FLOAT, ["batch", 1, "past", 16])],
    [value("logits", T.FLOAT, ["batch", "tokens", 20]),
     value("present_k", T.FLOAT, ["batch", 1, "rows", 16]),
     value("present_v", T.FLOAT, ["batch", 1, "rows", 16])],
    lm, opsets=(("", 17), ("com.microsoft", 1)))
np.savez_compressed(path("decoder.npz"), ids=np.array([[3], [9]]),
                    mask=np.array([[1] * 8, [1] * 5 + [0] * 3]),
                    past_k=lm_rng.standard_normal((2, 1, 10, 16)).astype(np.float32),
                    past_v=lm_rng.standard_normal((2, 1, 10, 16)).astype(np.float32))

# ---- what they give, according to a reference ----
from onnx.reference import ReferenceEvaluator

y = ReferenceEvaluator(path("net.onnx")).run(None, {"x": x})[0]
os.makedirs(path("net_expected"), exist_ok=True)
np.save(path("net_expected/y.npy"), y)
np.savez_compressed(path("net_expected.npz"), y=y)
np.savez_compressed(path("net_other.npz"), y=y + np.float32(1))
