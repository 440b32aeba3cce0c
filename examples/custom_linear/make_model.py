"""Writes linear.onnx: one node custom_ops::linear. Needs the package onnx."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

graph = helper.make_graph(
    [helper.make_node("linear", ["x", "weight", "bias"], ["y"], "layer", domain="custom_ops")],
    "linear",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
    [numpy_helper.from_array(np.array([[1, 2], [3, 4], [5, 6]], np.float32), "weight"),
     numpy_helper.from_array(np.array([10, 20, 30], np.float32), "bias")])
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom_ops", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), "linear.onnx")
