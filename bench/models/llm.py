#!/usr/bin/env python3
"""Writes a small language model in the form of onnxruntime-genai: weights of 4 bits (MatMulNBits), attention with
shared keys, rotary embedding and a cache (GroupQueryAttention), RMS norms with their residuals. Widths are those of
Qwen2.5-0.5B, weights are random. Needs numpy and onnx.

    python3 bench/models/llm.py -o build/bench/llm_decode.onnx --past 1023
    python3 bench/models/llm.py -o build/bench/llm_prefill.onnx --tokens 512
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx

from net import Net

HIDDEN, HEADS, KV_HEADS, SIZE, INNER, BLOCK = 896, 14, 2, 64, 4864, 32
CONTRIB = "com.microsoft"


class Llm(Net):
    def __init__(self, args):
        super().__init__("llm", opset=21)
        self.dtype = np.dtype({"f32": np.float32, "f16": np.float16}[args.type])
        self.args = args

    def table(self, array):
        return self.const(np.asarray(array, self.dtype))

    def product(self, x, k, n):
        blocks = -(-k // BLOCK)
        numbers = self.rng.integers(0, 256, (n, blocks, BLOCK // 2)).astype(np.uint8)
        scales = self.rng.uniform(0.1, 0.3, n * blocks) / np.sqrt(k)
        return self.op("MatMulNBits", x, self.const(numbers), self.table(scales), domain=CONTRIB, K=k, N=n, bits=4,
                       block_size=BLOCK, accuracy_level=self.args.accuracy)

    def norm(self, residual, x, last=False):
        """The sum of both, normed, and the sum itself."""
        made = self.op("SkipSimplifiedLayerNormalization", residual, x, self.table(np.ones(HIDDEN)), outputs=4,
                       domain=CONTRIB, epsilon=1e-6)
        self.nodes[-1].output[1] = self.nodes[-1].output[2] = ""
        if last:
            del self.nodes[-1].output[1:]
        return made[0], made[3]

    def cache(self, name, rows):
        shape = [1, KV_HEADS, rows, SIZE]
        (self.inputs if name.startswith("past") else self.outputs).append(
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(self.dtype), shape))
        return name

    def layer(self, k, x, angles, lengths):
        total = self.args.past + self.args.tokens
        q, key, value = (self.product(x, HIDDEN, n * SIZE) for n in (HEADS, KV_HEADS, KV_HEADS))
        past = [self.cache(f"past.{k}.{c}", self.args.past) for c in "kv"] if self.args.past else ["", ""]
        out = self.op("GroupQueryAttention", q, key, value, *past, *lengths, *angles, outputs=3, domain=CONTRIB,
                      num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1)
        for place, c in ((1, "k"), (2, "v")):
            self.nodes[-1].output[place] = self.cache(f"present.{k}.{c}", total)
        return self.product(out[0], HEADS * SIZE, HIDDEN)

    def gated(self, x):
        gate, up = self.product(x, HIDDEN, INNER), self.product(x, HIDDEN, INNER)
        act = self.op("Mul", gate, self.op("Sigmoid", gate))
        return self.product(self.op("Mul", act, up), INNER, HIDDEN)

    def build(self):
        args, total = self.args, self.args.past + self.args.tokens
        kind = onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        ids = self.input("ids", [1, args.tokens], np.int64)
        lengths = [self.const(np.array(n, np.int32)) for n in ([total - 1], total)]
        turns = np.outer(np.arange(total), 1e6 ** (-np.arange(SIZE // 2) / (SIZE // 2)))
        angles = [self.table(np.cos(turns)), self.table(np.sin(turns))]
        x = self.op("Gather", self.table(self.rng.standard_normal((args.vocabulary, HIDDEN)) * 0.5), ids)
        residual, x = x, self.op("SimplifiedLayerNormalization", x, self.table(np.ones(HIDDEN)), axis=-1, epsilon=1e-6,
                                 stash_type=1)
        for k in range(args.layers):
            x, residual = self.norm(residual, self.layer(k, x, angles, lengths))
            x, residual = self.norm(residual, self.gated(x), last=k == args.layers - 1)
        logits = self.product(x, HIDDEN, args.vocabulary)
        self.outputs.insert(0, onnx.helper.make_tensor_value_info(logits, kind, [1, args.tokens, args.vocabulary]))
        graph = onnx.helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        return onnx.helper.make_model(graph, ir_version=10, opset_imports=[
            onnx.helper.make_opsetid("", self.opset), onnx.helper.make_opsetid(CONTRIB, 1)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--tokens", type=int, default=1, metavar="N", help="new tokens (default: 1)")
    parser.add_argument("--past", type=int, default=0, metavar="N", help="tokens in the cache (default: 0)")
    parser.add_argument("--layers", type=int, default=24, metavar="N", help="default: 24")
    parser.add_argument("--vocabulary", type=int, default=151936, metavar="N", help="default: 151936")
    parser.add_argument("--type", choices=("f32", "f16"), default="f32", help="of all but the weights of 4 bits")
    parser.add_argument("--accuracy", type=int, default=0, metavar="LEVEL", help="accuracy_level of MatMulNBits (default: 0)")
    args = parser.parse_args()
    if min(args.tokens, args.layers, args.vocabulary) < 1 or args.past < 0:
        parser.error("--tokens, --layers and --vocabulary are at least 1, --past at least 0")
    args.output.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(Llm(args).build(), args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
