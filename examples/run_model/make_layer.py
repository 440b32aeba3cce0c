"""Writes layer.onnx, the model of this example: y = relu(x W + b). Needs the package onnx."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
bias = np.array([0.5, 0.5, -100], np.float32)
graph = helper.make_graph(
    [helper.make_node("Gemm", ["x", "W", "b"], ["xW"], "product"),
     helper.make_node("Relu", ["xW"], ["y"], "relu")],
    "layer",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
    [numpy_helper.from_array(weights, "W"), numpy_helper.from_array(bias, "b")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, "layer.onnx")
