#!/usr/bin/env python3
"""Writes an ONNX model of f32 as one quantised to int8, as onnxruntime.quantization does it. Static: pairs of
QuantizeLinear and DequantizeLinear around every operator (QDQ), weights of i8 with a scale per channel,
activations of u8 or i8 with ranges seen on random inputs. Dynamic: MatMulInteger with ranges found at run
time. Needs onnx and onnxruntime.

    python3 bench/models/int8.py build/bench/resnet50.onnx -o build/bench/resnet50.u8.onnx
    python3 bench/models/int8.py build/bench/bert_base_128.onnx -o build/bench/bert_base_128.dynamic.onnx --dynamic
"""
import argparse
import logging
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

TYPES = {"u8": QuantType.QUInt8, "i8": QuantType.QInt8}
KEPT = "Identity"  # build.py ends its nets with one, which need not be quantised


class RandomInputs(CalibrationDataReader):
    """Some random inputs of a model: normal floats, ids and masks of ones and zeros."""

    def __init__(self, graph, n, seed=7):
        self.rng, self.left = np.random.default_rng(seed), n
        constants = {tensor.name for tensor in graph.initializer}
        self.inputs = [value for value in graph.input if value.name not in constants]

    def array(self, value):
        kind = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in kind.shape.dim]
        if kind.elem_type == TensorProto.FLOAT:
            return self.rng.standard_normal(shape).astype(np.float32)
        return self.rng.integers(0, 2, shape).astype(helper.tensor_dtype_to_np_dtype(kind.elem_type))

    def get_next(self):
        self.left -= 1
        return {value.name: self.array(value) for value in self.inputs} if self.left >= 0 else None


def quantize(source, target, args):
    if args.dynamic:
        quantize_dynamic(source, target, per_channel=args.per_channel, weight_type=TYPES[args.weights])
        return
    model = onnx.load(source)
    kinds = sorted({node.op_type for node in model.graph.node} - {KEPT})
    quantize_static(source, target, RandomInputs(model.graph, args.samples), quant_format=QuantFormat.QDQ,
                    per_channel=args.per_channel, op_types_to_quantize=kinds,
                    activation_type=TYPES[args.activations], weight_type=TYPES[args.weights])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="an ONNX file of f32")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to")
    parser.add_argument("--activations", choices=TYPES, default="u8", help="type between operators (default: %(default)s)")
    parser.add_argument("--weights", choices=TYPES, default="i8", help="type of weights (default: %(default)s)")
    parser.add_argument("--per-tensor", dest="per_channel", action="store_false", help="one scale per weight")
    parser.add_argument("--samples", type=int, default=4, metavar="N", help="inputs to find ranges on (default: %(default)s)")
    parser.add_argument("--dynamic", action="store_true", help="quantise activations at run time")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # that the model was not preprocessed: build.py folded what there is to fold
    target = pathlib.Path(args.output)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = pathlib.Path(folder) / target.name
        quantize(args.model, partial, args)
        partial.replace(target)
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
