#!/usr/bin/env python3
"""usage: to_executorch.py MODEL.onnx INPUTS.npz TARGET.pte

Writes a program of ExecuTorch for these inputs: onnx2torch makes a module of PyTorch, torch.export
its program, and XNNPACK takes what it can of that; the rest is left to ExecuTorch's own kernels."""
import sys

import numpy as np
import onnx
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from onnx2torch import convert


def main(model, inputs, target):
    arrays = np.load(inputs)
    examples = tuple(torch.from_numpy(arrays[name]) for name in arrays)
    with torch.no_grad():
        program = torch.export.export(convert(onnx.load(model)).eval(), examples)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    with open(target, "wb") as f:
        edge.to_executorch().write_to_file(f)


if __name__ == "__main__":
    main(*sys.argv[1:])
