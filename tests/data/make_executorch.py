#!/usr/bin/env python3
"""Writes tests/data/executorch: small programs of ExecuTorch and what its runtime makes of them.

usage: make_executorch.py FOLDER     (needs executorch; the files in the tree were made with 1.5.1)
"""

import pathlib
import sys

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch.export import Dim, export

torch.manual_seed(0)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)
        self.deep = torch.nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=4)
        self.fc = torch.nn.Linear(4, 5)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        x = torch.nn.functional.hardtanh(self.deep(x), 0.0, 6.0)
        return torch.softmax(self.fc(x.mean((2, 3))), -1)


class Views(torch.nn.Module):
    """Lists of outputs, lists of tensors, layouts, types."""

    def forward(self, x):
        a, b = torch.split(x, 2, 1)
        y = torch.cat([b, a], 1)
        values, indices = torch.max(y, 1)
        turned = torch.relu(y.to(memory_format=torch.channels_last))
        return y.permute(0, 2, 3, 1).reshape(2, -1), values[:, :, 1:], indices.int(), turned


class Flat(torch.nn.Module):
    """A view that is no instruction: it lies where its base lies."""

    def forward(self, x):
        return torch.relu(x).view(2, -1) + 1


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(2, 3))

    def forward(self, x):
        self.sum.add_(x)
        return self.sum * 2


class Cond(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: (x * 2).sin(), (x,))


class Open(torch.nn.Module):
    """A size that the run says."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.fc(x)
        return y.reshape(y.shape[0] * 3) + x.shape[0]


class Swapped(torch.nn.Module):
    """Parts whose nodes use the arguments of the call in another order."""

    def forward(self, x, y):
        return torch.relu(y) - x, x.half().clamp(-0.5, 0.5)


class Modes(torch.nn.Module):
    """An overload that is called otherwise with a destination, and results that nobody reads."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.GroupNorm(2, 4)

    def forward(self, x, n):
        return self.norm(x), torch.div(n, 3, rounding_mode="floor"), n // (n - 5)


def write(path, name, module, inputs, dynamic=None, xnnpack=False):
    """inputs: a list, each a tuple: runs of one method, one after the other."""
    case = path / name
    (case / "ref").mkdir(parents=True, exist_ok=True)
    exported = export(module.eval(), inputs[0], dynamic_shapes=dynamic)
    if xnnpack:
        edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    else:
        edge = to_edge(exported)
    (case / "model.pte").write_bytes(edge.to_executorch().buffer)
    method = Runtime.get().load_program(case / "model.pte").load_method("forward")
    for k, run in enumerate(inputs):
        for i, x in enumerate(run):
            np.save(case / f"ref/set{k}_in{i}.npy", x.numpy())
        for i, y in enumerate(method.execute(run)):
            np.save(case / f"ref/set{k}_out{i}.npy", y.numpy())


def main():
    path = pathlib.Path(sys.argv[1])
    x = [torch.randn(2, 4) for _ in range(2)]
    write(path, "linear", Linear(), [(x[0],), (x[1],)])
    image = torch.randn(2, 3, 6, 6)
    write(path, "net", Net(), [(image,)])
    write(path, "views", Views(), [(torch.randn(2, 4, 3, 3),)])
    steps = [(torch.randn(2, 3),) for _ in range(3)]
    write(path, "state", State(), steps)
    write(path, "cond", Cond(), [(torch.ones(2, 3),), (-torch.ones(2, 3),)])
    sizes = {"x": {0: Dim("n", min=1, max=9)}}
    write(path, "open", Open(), [(torch.randn(3, 4),), (torch.randn(5, 4),)], sizes)
    write(path, "flat", Flat(), [(torch.randn(2, 3, 2),)])
    write(path, "xnnpack", Net(), [(image,)], xnnpack=True)
    write(path, "swapped", Swapped(), [(torch.randn(2, 3), torch.randn(2, 3))], xnnpack=True)
    write(path, "modes", Modes(), [(torch.randn(2, 4, 3), torch.tensor([7, -7, 9]))])


if __name__ == "__main__":
    main()
