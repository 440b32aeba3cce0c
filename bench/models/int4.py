#!/usr/bin/env python3
"""Writes an ONNX model of f32 with weights of 4 bits, or 8: constants that MatMul multiplies by get a scale, and on
demand a zero point, per block of their input dim. Embedding tables and all else stay. Needs numpy, onnx and
ml_dtypes, which onnx needs itself.

    python3 bench/models/int4.py build/bench/gpt2_decode.onnx -o build/bench/gpt2_decode.int4.onnx
    python3 bench/models/int4.py --layers 8x2048x8192,2048x32000 -o build/bench/layers.int4.onnx

The forms: `nbits`, com.microsoft::MatMulNBits; `linear`, DequantizeLinear of ai.onnx 21 in front of MatMul.
"""
import argparse
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from net import Net

LEAST = 4096  # weights: smaller ones stay
KINDS = {4: (ml_dtypes.int4, ml_dtypes.uint4), 8: (np.int8, np.uint8)}  # without and with zero points


def quantise(w, block, asymmetric, bits):
    """Rows [N, K] as numbers of so many bits [N, blocks, block], scales and zero points [N, blocks]."""
    highest, middle = 2 ** bits - 1, 2 ** (bits - 1)
    n, k = w.shape
    padded = np.zeros((n, -(-k // block) * block), np.float32)
    padded[:, :k] = w
    blocks = padded.reshape(n, -1, block)
    least, most = np.minimum(blocks.min(2), 0), np.maximum(blocks.max(2), 0)
    if asymmetric:
        scales = np.maximum((most - least) / highest, 1e-8).astype(np.float32)
        zeros = np.clip(np.rint(-least / scales), 0, highest).astype(np.uint8)
    else:
        scales = np.maximum(np.maximum(most, -least) / (middle - 1), 1e-8).astype(np.float32)
        zeros = np.full(scales.shape, middle, np.uint8)
    numbers = np.rint(blocks / scales[:, :, None]) + zeros[:, :, None]
    return np.clip(numbers, 0, highest).astype(np.uint8), scales, zeros


def pack(numbers, bits):
    """Of 4 bits two a byte, the first in the low half; rows of an odd length get another 0."""
    if bits == 8:
        return numbers
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), np.uint8)], -1)
    return numbers[..., 0::2] | numbers[..., 1::2] << 4


class Writer:
    def __init__(self, model, args):
        self.model, self.args = model, args
        self.constants = {t.name: t for t in model.graph.initializer}
        self.made = {n.output[0]: n for n in model.graph.node}
        self.new = []

    def const(self, name, array):
        self.model.graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def rows_of(self, name):
        """[N, K] of a weight that is a constant, or the transpose of one; and is it that?"""
        node = self.made.get(name)
        if node is not None and node.op_type == "Transpose" and node.input[0] in self.constants:
            tensor = self.constants[node.input[0]]
            return (numpy_helper.to_array(tensor), True) if len(tensor.dims) == 2 else (None, False)
        tensor = self.constants.get(name)
        if tensor is None or len(tensor.dims) != 2 or tensor.data_type != onnx.TensorProto.FLOAT:
            return None, False
        return numpy_helper.to_array(tensor).T, False

    def nbits(self, node, rows):
        numbers, scales, zeros = quantise(rows, self.args.block, self.args.zero_points, self.args.bits)
        inputs = [node.input[0], self.const(node.name + "_q", pack(numbers, self.args.bits)), self.const(node.name + "_s", scales)]
        if self.args.zero_points:
            inputs.append(self.const(node.name + "_z", pack(zeros, self.args.bits)))
        n, k = rows.shape
        return [helper.make_node("MatMulNBits", inputs, list(node.output), node.name, domain="com.microsoft", K=k, N=n,
                                 bits=self.args.bits, block_size=self.args.block)]

    def linear(self, node, rows, is_transposed):
        numbers, scales, zeros = quantise(rows, self.args.block, self.args.zero_points, self.args.bits)
        n, k = rows.shape
        numbers = numbers.reshape(n, -1)[:, :k]
        kind = KINDS[self.args.bits][self.args.zero_points]
        middle = 0 if self.args.zero_points else 2 ** (self.args.bits - 1)
        numbers = (numbers.astype(np.int16) - middle).astype(kind)
        turn = (lambda x: x) if is_transposed else (lambda x: np.ascontiguousarray(x.T))
        inputs = [self.const(node.name + "_q", turn(numbers)), self.const(node.name + "_s", turn(scales))]
        if self.args.zero_points:
            inputs.append(self.const(node.name + "_z", turn(zeros.astype(kind))))
        w = node.name + "_w"
        made = [helper.make_node("DequantizeLinear", inputs, [w], w, axis=int(is_transposed), block_size=self.args.block)]
        if is_transposed:
            made.append(helper.make_node("Transpose", [w], [w + "t"], w + "t", perm=[1, 0]))
            w += "t"
        return made + [helper.make_node("MatMul", [node.input[0], w], list(node.output), node.name)]

    def node(self, node):
        if node.op_type == "MatMul":
            rows, is_transposed = self.rows_of(node.input[1])
            if rows is not None and rows.size >= LEAST:
                return self.nbits(node, rows) if self.args.form == "nbits" else self.linear(node, rows, is_transposed)
        return [node]

    def write(self):
        graph = self.model.graph
        nodes = [made for node in graph.node for made in self.node(node)]
        read = {name for node in nodes for name in node.input} | {value.name for value in graph.output}
        nodes = [node for node in nodes if read.intersection(node.output)]
        read = {name for node in nodes for name in node.input}
        kept = [t for t in graph.initializer if t.name in read]
        del graph.node[:], graph.initializer[:]
        graph.node.extend(nodes)
        graph.initializer.extend(kept)
        if self.args.form == "nbits":
            self.model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        else:
            self.raise_version()
        return self.model

    def raise_version(self):
        """DequantizeLinear with blocks is of operator set 21. What build.py writes means the same there, but for
        axes, which became inputs."""
        old = self.model.opset_import[0].version
        for node in self.model.graph.node:
            axes = [a for a in node.attribute if a.name == "axes"]
            if node.op_type == "ReduceMean" and axes and old < 18:
                name = self.const(node.name + "_axes", np.array(axes[0].ints, np.int64))
                node.attribute.remove(axes[0])
                node.input.append(name)
        self.model.opset_import[0].version = 21
        self.model.ir_version = 10


def layers(text):
    """A chain of products, as AxKxN,...: A of them, K x N, each with its own weights and input."""
    net = Net("layers")
    for k, part in enumerate(text.split(",")):
        *count, depth, width = (int(x) for x in part.split("x"))
        for j in range(count[0] if count else 1):
            x = net.input(f"x_{k}_{j}", [1, depth])
            net.output(net.op("MatMul", x, net.weight(depth, width, gain=1.0)), f"y_{k}_{j}", [1, width])
    return net.model()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="an ONNX file of f32")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to")
    parser.add_argument("--layers", metavar="AxKxN,..", help="instead of a file: A products by weights of K x N")
    parser.add_argument("--form", choices=("nbits", "linear"), default="nbits", help="(default: %(default)s)")
    parser.add_argument("--bits", type=int, choices=KINDS, default=4, help="of a weight (default: %(default)s)")
    parser.add_argument("--block", type=int, default=32, metavar="N", help="numbers per scale (default: %(default)s)")
    parser.add_argument("--zero-points", action="store_true", help="zero points, not the middle for all")
    args = parser.parse_args()
    if bool(args.model) == bool(args.layers):
        parser.error("name a file, or --layers")
    model = Writer(layers(args.layers) if args.layers else onnx.load(args.model), args).write()
    partial = pathlib.Path(args.output + ".part")
    onnx.save(model, partial)
    partial.replace(args.output)
    print(f"{args.output}: {pathlib.Path(args.output).stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
