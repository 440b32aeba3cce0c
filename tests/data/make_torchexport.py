#!/usr/bin/env python3
"""Writes tests/data/torchexport: small programs of torch.export and what PyTorch makes of them.

usage: make_torchexport.py FOLDER      (needs torch; the files in the tree were made with 2.15)
"""

import pathlib
import re
import sys
import zipfile

import numpy as np
import torch
from torch.export import Dim, export, save

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)
        self.fc = torch.nn.Linear(16, 5)

    def forward(self, x):
        x = torch.nn.functional.relu(self.norm(self.conv(x)), inplace=True)
        x = torch.nn.functional.adaptive_avg_pool2d(x, 2)
        return torch.nn.functional.log_softmax(self.fc(torch.flatten(x, 1)), -1)


class States(torch.nn.Module):
    """Buffers that are written: by themselves, and through views of them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("window", torch.zeros(4, 2))

    def forward(self, x):
        self.count.add_(1)
        self.window[:-1] = self.window[1:].clone()
        self.window[-1].copy_(x)
        return self.window.sum(0), self.count * 2


class Views(torch.nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 1].mul_(10)
        y.transpose(0, 1)[0] += 1
        z = y.view(-1)
        y[0, 0] = 7.0
        w = y.permute(1, 0)
        w[2:].fill_(-1)
        copy = w.contiguous()
        copy.add_(100)
        same = y.contiguous()
        same[1:3, 0] *= 2
        return y, z, w.unsqueeze(0), copy


class Control(torch.nn.Module):
    def forward(self, x, n):
        x = torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))

        def going(k, a):
            return k < n

        def body(k, a):
            return k + 1, a + k

        k, x = torch._higher_order_ops.while_loop(
            going, body, (torch.zeros((), dtype=torch.int64), x)
        )
        return x, k


class Shapes(torch.nn.Module):
    def forward(self, x):
        n, m = x.shape[0], x.shape[0] * 2 + 1
        a = torch.arange(n).unsqueeze(1) + torch.full((n, m), 2)
        b = x.reshape(n // 2, 2, -1).expand(3, -1, -1, -1)
        mask = torch.full((n,), True)
        return {"a": a, "b": b.sum(0), "mask": mask, "half": torch.ones(n // 2, m - n)}


class Values(torch.nn.Module):
    """Outputs that are no tensors of their own: an input, a number, nothing, one twice."""

    def forward(self, x, factor=2.5, other=None):
        return x, 3, None, x * factor, (x * factor).max(1), torch.nonzero(x > 0)


def put(folder, name, module, inputs, more=(), dynamic=None, old=False):
    case = folder / name
    (case / "ref").mkdir(parents=True, exist_ok=True)
    module.eval()
    program = export(module, inputs, dynamic_shapes=dynamic)
    if old:
        save_old(program, case / "model.pt2")
    else:
        save(program, case / "model.pt2")
    shrink(case / "model.pt2")
    for k, args in enumerate((inputs, *more)):
        with torch.no_grad():
            outputs = module(*args)
        for i, x in enumerate(args):
            np.save(case / f"ref/set{k}_in{i}.npy", x.numpy())
        flat = [y for y in torch.utils._pytree.tree_leaves(outputs) if y is not None]
        for i, y in enumerate(flat):
            np.save(
                case / f"ref/set{k}_out{i}.npy",
                y.numpy() if isinstance(y, torch.Tensor) else np.int64(y),
            )


def shrink(path):
    """Without what says where nodes come from, and with the program deflated."""
    with zipfile.ZipFile(path) as z:
        members = [(i.filename, z.read(i)) for i in z.infolist()]
    with zipfile.ZipFile(path, "w") as z:
        for name, data in members:
            if name.endswith(".json"):
                data = re.sub(rb'"metadata": \{"[^{}]*\}', b'"metadata": {}', data)
            z.writestr(
                zipfile.ZipInfo(name),
                data,
                zipfile.ZIP_DEFLATED if name.endswith(".json") else None,
            )


def save_old(program, path):
    """As PyTorch wrote archives before 2.8."""
    from torch._export.serde.schema import SCHEMA_VERSION
    from torch._export.serde.serialize import serialize

    artifact = serialize(program)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("serialized_exported_program.json", artifact.exported_program)
        z.writestr("serialized_state_dict.pt", artifact.state_dict)
        z.writestr("serialized_constants.pt", artifact.constants)
        z.writestr("serialized_example_inputs.pt", artifact.example_inputs)
        z.writestr("version", ".".join(map(str, SCHEMA_VERSION)))


def main():
    folder = pathlib.Path(sys.argv[1])
    batch = {0: Dim("batch", min=1, max=64)}
    x = torch.randn(2, 3, 6, 6)
    put(folder, "net", Net(), (x,), [(torch.randn(3, 3, 6, 6),)], dynamic=(batch,))
    put(folder, "old", Net(), (x,), old=True)
    put(folder, "states", States(), (torch.randn(2),), [(torch.randn(2),), (torch.randn(2),)])
    put(folder, "views", Views(), (torch.randn(4, 3),))
    put(
        folder,
        "control",
        Control(),
        (torch.ones(2, 2), torch.tensor(3)),
        [(-torch.ones(2, 2), torch.tensor(0))],
    )
    put(
        folder,
        "shapes",
        Shapes(),
        (torch.randn(4, 3),),
        [(torch.randn(6, 3),)],
        dynamic=({0: 2 * Dim("pairs", min=1, max=32)},),
    )
    put(folder, "values", Values(), (torch.randn(2, 3),))


main()
