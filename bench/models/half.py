#!/usr/bin/env python3
"""Writes an ONNX model of f32 as one of f16 or bf16: constants, inputs, outputs and all values between.
Needs numpy, onnx and ml_dtypes, which onnx needs itself.

    python3 bench/models/half.py build/bench/resnet50.onnx -o build/bench/resnet50.f16.onnx --type f16
"""
import argparse
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

TYPES = {"f16": (TensorProto.FLOAT16, np.float16), "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}
KEPT = {"Resize": (1, 2), "Upsample": (1,)}  # inputs that the standard leaves in f32


def narrow(tensor, kind):
    """A tensor of f32 in the other type; others stay."""
    if tensor.data_type != TensorProto.FLOAT:
        return
    code, dtype = TYPES[kind]
    array = numpy_helper.to_array(tensor).astype(dtype)
    name, dims = tensor.name, array.shape
    tensor.Clear()
    tensor.name, tensor.data_type, tensor.raw_data = name, code, array.tobytes()
    tensor.dims.extend(dims)


def narrow_type(value, kind):
    if value.type.tensor_type.elem_type == TensorProto.FLOAT:
        value.type.tensor_type.elem_type = TYPES[kind][0]


def narrow_graph(graph, kind):
    kept = {node.input[k] for node in graph.node for k in KEPT.get(node.op_type, ()) if k < len(node.input)}
    for tensor in graph.initializer:
        if tensor.name not in kept:
            narrow(tensor, kind)
    for value in [*graph.input, *graph.output, *graph.value_info]:
        narrow_type(value, kind)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and not kept.intersection(node.output):
                narrow(attribute.t, kind)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                narrow_graph(attribute.g, kind)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TYPES[kind][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an ONNX file of f32")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to")
    parser.add_argument("--type", choices=TYPES, default="f16", help="of the floats (default: %(default)s)")
    args = parser.parse_args()
    model = onnx.load(args.model)
    narrow_graph(model.graph, args.type)
    partial = pathlib.Path(args.output + ".part")
    onnx.save(model, partial)
    partial.replace(args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
