# Writes models for the tests of accelerators:
#   add.onnx    y = a + b: a compiler can take it whole
#   adds.onnx   y = tanh(a + b) + c: two islands for whoever takes Add
#   chain.onnx  what acme takes but for its Relu
#   through.onnx  an output that is an input, beside one that is not
#   beside.onnx, beside/*.npy  (a + b) * a + b - (a + b) * (a + b): while an Add runs on a device,
#     test::Meet: x -> x runs beside it, and memory that the Add reads would be free but for that
#   sums.onnx   a product of 8 bits whose sums of two 16 bits do not hold
#   pools.onnx  functions behind a convolution and a pool: four that fall, and Relu
#   wide.onnx, wide/wide.npy, wide/y.npy  integers of 64 bits that 32 do not hold, moved only
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(name, nodes, inputs, shape, constants=(), outputs="y", kind=TensorProto.FLOAT):
    def value(v):
        return helper.make_tensor_value_info(v, kind, shape)

    nodes = [helper.make_node(op.split("::")[-1], args.split(), [y], n,
                              domain="test" if op.startswith("test::") else "",
                              **(attributes[0] if attributes else {}))
             for n, op, args, y, *attributes in nodes]
    opsets = [helper.make_opsetid("", 17)]
    if any(n.domain for n in nodes):
        opsets.append(helper.make_opsetid("test", 1))
    graph = helper.make_graph(nodes, name, [value(i) for i in inputs], [value(o) for o in outputs],
                              [numpy_helper.from_array(a, n) for n, a in constants])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, name + ".onnx")


save("add", [("add", "Add", "a b", "y")], "ab", [6])
save("adds", [("first", "Add", "a b", "s"), ("tanh", "Tanh", "s", "t"),
              ("second", "Add", "t c", "y")], "abc", [6])
save("chain", [("add", "Add", "x c", "a"), ("mul", "Mul", "a x", "b"), ("relu", "Relu", "b", "r"),
               ("sub", "Sub", "r a", "s"), ("scale", "Mul", "s k", "y")], "x", [2, 3],
     [("c", np.arange(6, dtype="f").reshape(2, 3)), ("k", np.array(2, "f"))])
save("through", [("most", "Max", "x", "y"), ("relu", "Relu", "x", "z")], "x", [2, 3],
     outputs="yz")
save("sums", [("q", "QuantizeLinear", "x s z", "i"), ("dq", "DequantizeLinear", "i s z", "d"),
              ("weights", "DequantizeLinear", "w s", "v"), ("product", "MatMul", "d v", "y")],
     "x", [32, 32], [("s", np.array(0.004, "f")), ("z", np.array(0, "B")),
                     ("w", np.full((32, 32), 127, "b"))])
pools = []
for k, behind in enumerate([["Abs"], ["HardSwish"], ["Sigmoid", "Mul"], ["Tanh", "Abs"], ["Relu"]]):
    pools += [(f"conv{k}", "Conv", f"x w{k}", f"c{k}"),
              (f"pool{k}", "MaxPool", f"c{k}", f"p{k}",
               {"kernel_shape": [2, 2], "pads": [0, 0, 1, 1]})]
    last = f"p{k}"
    for op in behind:
        out = "abcde"[k] if op == behind[-1] else f"t{k}"
        pools.append((f"{op}{k}", op, f"{last} p{k}" if op == "Mul" else last, out))
        last = out
save("pools", pools, "x", [1, 2, 4, 4],
     [(f"w{k}", np.array([[-6, 2 + k], [2, -6 - k]], "f").reshape(2, 2, 1, 1)) for k in range(5)],
     outputs="abcde")
save("wide", [("turn", "Transpose", "x", "y")], "x", [3], kind=TensorProto.INT64)
np.save("wide.npy", np.array([1, (1 << 32) + 1, -5]))
np.save("y.npy", np.array([1, (1 << 32) + 1, -5]))

save("beside", [("meet", "test::Meet", "a", "m"), ("add", "Add", "a b", "s"),
                ("mul", "Mul", "s m", "t"), ("square", "Mul", "s s", "p"),
                ("again", "test::Meet", "p", "v"), ("more", "Add", "t b", "u"),
                ("sub", "Sub", "u v", "y")], "ab", [4, 5])
a, b = (np.random.default_rng(k).standard_normal((4, 5)).astype("f") for k in (1, 2))
for name, data in {"a": a, "b": b, "y": ((a + b) * a + b) - (a + b) * (a + b)}.items():
    np.save(f"beside/{name}.npy", data)
