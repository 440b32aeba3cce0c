# Writes the models of this folder. They are committed; this is only needed to change them. Needs
# numpy and onnx.
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h


def save(name, nodes, constants, outputs, inputs=(), domain="com.acme"):
    graph = h.make_graph(
        [h.make_node(*n, domain=domain, **a) for n, a in nodes], name,
        [h.make_tensor_value_info(n, T.FLOAT, ["n"]) for n in inputs],
        [h.make_tensor_value_info(n, t, None) for n, t in outputs],
        [onnx.numpy_helper.from_array(np.array(a), n) for n, a in constants])
    m = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), h.make_opsetid(domain, 1)],
                     ir_version=8)
    onnx.save(m, name + ".onnx")


x = ("x", np.array([1.5, -2, 3], np.float32))
save("ages", [
    (("Affine", ["x"], ["a"]), {"scale": 2.0, "shift": 3}),
    (("Affine", ["i"], ["b"]), {"scale": 5.0}),
    (("AddMaybe", ["a", "x"], ["c", "n2"]), {}),
    (("AddMaybe", ["c"], ["d", "n1"]), {}),
    (("AddMaybe", ["d", ""], ["e"]), {}),
    (("Positive", ["x"], ["p"]), {}),
    (("Join", ["p", "x", "b"], ["sizes"]), {}),
    (("Copy", ["b"], ["copied"]), {}),
], [x, ("i", np.array([[10, 20]], np.int64))],
    [("a", T.FLOAT), ("e", T.FLOAT), ("p", T.FLOAT), ("n2", T.INT64), ("n1", T.INT64),
     ("sizes", T.INT64), ("copied", T.INT64)])
save("open", [(("Affine", ["x"], ["a"]), {"scale": 0.0, "shift": 7}),
              (("Positive", ["x"], ["p"]), {}), (("Join", ["a", "x"], ["sizes"]), {})],
     [], [("a", T.FLOAT), ("p", T.FLOAT), ("sizes", T.INT64)], "x")
save("texts", [
    (("Tell", ["x"], ["t"]), {
        "text": "a:", "ints": [4, 5], "floats": [0.5], "texts": ["one", "", "3"],
        "tensor": onnx.numpy_helper.from_array(np.array([77]), "t")}),
    (("Tell", ["x"], ["u"]), {"text": "other:"}),
    (("Copy", ["t"], ["v"]), {}), (("Copy", ["u"], ["w"]), {}),
], [x], [("v", T.STRING), ("w", T.STRING)])
for how in "make missing run unmade write negative rank index strings".split():
    save("fail_" + how, [(("Fail", ["s"], ["y"]), {"how": how})],
         [("s", np.array(["text"], dtype=object))], [("y", T.STRING)])
save("grow", [(("Grow", ["x"], ["y"]), {"i": 2, "ints": [1, 2], "f": 2.0, "floats": [2.0, 1.0625],
                                        "texts": ["ab", "c"]})], [x], [("y", T.FLOAT)])
for how in "open lie refuse index".split():
    save("grow_" + how, [(("Grow", ["x"], ["y"]), {"i": 2, "how": how})], [x], [("y", T.FLOAT)])
save("extensions", [(("StringUpper", ["s"], ["y"]), {})], [("s", np.array(["a"], dtype=object))],
     [("y", T.STRING)], domain="ai.onnx.contrib")
save("few", [(("Join", ["x"], ["y"]), {})], [x], [("y", T.INT64)])
save("type", [(("Affine", ["x"], ["y"]), {})], [("x", np.array([True]))], [("y", T.BOOL)])
save("left_out", [(("AddMaybe", ["x"], ["", "y"]), {})], [x], [("y", T.INT64)])
