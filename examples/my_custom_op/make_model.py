"""Writes custom.onnx: ScaledTanh, then three ChannelShuffle. Needs the package onnx."""
import onnx
from onnx import TensorProto, helper


def node(op, x, y, name, **attrs):
    return helper.make_node(op, [x], [y], name, domain="com.example", **attrs)


shape = [1, 6, 4, 4]
graph = helper.make_graph(
    [node("ScaledTanh", "x", "a", "act", alpha=1.7159, beta=0.6667),
     node("ChannelShuffle", "a", "b", "shuffle", groups=3),
     node("ChannelShuffle", "b", "c", "back", groups=2),
     node("ChannelShuffle", "c", "y", "again", groups=2)],
    "custom", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "custom.onnx")
