"""Writes blocked.onnx (ChannelScale, Clip, ChannelScale in f32) and half.onnx (Clip in f16).

Needs the package onnx."""
import onnx
from onnx import TensorProto, helper


def save(name, dtype, shape, nodes):
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", dtype, shape)],
                              [helper.make_tensor_value_info("y", dtype, shape)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), name + ".onnx")


def node(op, x, y, name, **attrs):
    return helper.make_node(op, [x], [y], name, domain="com.example", **attrs)


save("blocked", TensorProto.FLOAT, [1, 20, 8, 8],
     [node("ChannelScale", "x", "a", "scale1"), node("Clip", "a", "b", "clip", min=0.5, max=6.0),
      node("ChannelScale", "b", "y", "scale2", step=0.5)])
save("half", TensorProto.FLOAT16, [1, 20, 8, 8], [node("Clip", "x", "y", "clip", min=0.5, max=6.0)])
