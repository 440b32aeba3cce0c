#!/usr/bin/env python3
"""Writes small programs of torch.export with what PyTorch makes of them, as cases for `tenon test`.

usage: generate.py FOLDER [NAME ...]      needs PyPI's torch and numpy
Each case is FOLDER/<name>/model.pt2 with ref/set<k>_in<i>.npy and ref/set<k>_out<i>.npy; sets are
run in order on one module, which may keep what it has seen.
"""
import os
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")
CASES = {}
B = Dim("B", min=3, max=8)


def case(*sets, dynamic=None):
    def add(cls):
        CASES[cls.__name__.lower()] = (cls, sets, dynamic)
        return cls
    return add


def r(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


@case((r(4, 3), r(9, 3)), (r(8, 3), r(17, 3)), dynamic=({0: B}, {0: 2 * B + 1}))
class Ranges(nn.Module):
    """The range of a dim, and a dim that is computed of another."""
    def forward(self, x, y):
        return torch.cat([x * 2, y]).sum(1), x.reshape(-1)[: x.shape[0] * 2]


@case((r(5),), (-r(5),), (r(5, seed=3) * 4,))
class CondInLoop(nn.Module):
    def forward(self, x):
        def body(i, v):
            return i + 1, torch.cond(v.sum() > 1, lambda a: a * 0.5, lambda a: a + 1, (v,))
        return while_loop(lambda i, v: i < 4, body, (torch.tensor(0), x))


@case((r(5), torch.tensor(3)), (-r(5), torch.tensor(0)), (r(5), torch.tensor(1)))
class LoopInCond(nn.Module):
    def forward(self, x, n):
        def slow(a):
            return while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 1.5 + n),
                              (a.new_zeros((), dtype=torch.int64), a))[1]
        return torch.cond(x.sum() > 0, slow, lambda a: a.clone(), (x,)) + 1


@case((r(2, 4),), (-r(2, 4),), (r(2, 4, seed=2),))
class BuffersAround(nn.Module):
    """Buffers that are written, and read by branches and loops."""
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("turns", torch.tensor(1))

    def forward(self, x):
        self.total.add_(x.sum(0))
        self.turns.add_(1)
        total, turns = self.total.clone(), self.turns.clone()
        y = torch.cond(total.sum() > 0, lambda a, t: a * t, lambda a, t: a - t, (x, total))
        z = while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, v + total),
                       (torch.tensor(0), y))[1]
        self.total.mul_(0.5)
        return y, z


@case((r(3, 4), torch.tensor(2)), (r(3, 4, seed=1), torch.tensor(5)))
class LoopInLoop(nn.Module):
    def forward(self, x, n):
        def inner(a):
            return while_loop(lambda j, v: j < n, lambda j, v: (j + 1, v + v.mean(0)),
                              (a.new_zeros((), dtype=torch.int64), a))[1]
        return while_loop(lambda i, v: v.abs().sum() < 200, lambda i, v: (i + 1, inner(v) * 2),
                          (torch.tensor(0), x))


@case((r(4, 2),), (r(6, 2),), dynamic=({0: Dim("N", max=32)},))
class LoopOverDim(nn.Module):
    """Turns by an open dim, which the loop reads."""
    def forward(self, x):
        n = x.shape[0]
        s = while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + x * n),
                       (torch.tensor(0), x))
        return s[1], torch.cond(x.shape[0] > 5, lambda a: a + 1, lambda a: a - 1, (x,))


@case((r(4, 2), torch.tensor(1)), (r(4, 2), torch.tensor(3)))
class ItemInCond(nn.Module):
    """A number that only the data has, in a branch."""
    def forward(self, x, k):
        n = k.item()
        torch._check(n >= 0)
        torch._check(n < 4)
        y = torch.cond(n > 2, lambda a: a * 2, lambda a: a * 3, (x,))
        return y, x[:n].sum()


@case((r(2, 4, 5), r(3, 5)), (r(2, 4, 5, seed=1), r(7, 5)), dynamic=({}, {0: B}))
class Strides(nn.Module):
    """as_strided reads memory, of tensors that do not lie in C order, and of parts."""
    def __init__(self):
        super().__init__()
        self.register_buffer("turned", r(6, 3, seed=2).T)

    def forward(self, x, y):
        t = x.transpose(1, 2) * 2
        tall = y.T + 1
        row = x[1]
        kept = torch.as_strided(x.permute(2, 0, 1), (3, 4), (4, 1))
        x.mul_(3)
        return (t.as_strided((2, 3, 4), (20, 4, 1)), t.as_strided((2, 3), (1, 2), 3),
                torch.as_strided_copy(t, (4,), (2,)), self.turned.as_strided((4, 3), (2, 1)),
                tall.as_strided((tall.shape[1], 2), (tall.stride(1), 2)),
                row.as_strided((2, 2), (5, 1), 21), row.as_strided((2, 2), (5, 1)), kept)


def write(folder, name):
    made, sets, dynamic = CASES[name]
    at = os.path.join(folder, name)
    os.makedirs(os.path.join(at, "ref"), exist_ok=True)
    torch.manual_seed(0)
    program = torch.export.export(made().eval(), sets[0], dynamic_shapes=dynamic)
    torch.export.save(program, os.path.join(at, "model.pt2"))
    run = program.module()
    for k, given in enumerate(sets):
        out = pytree.tree_leaves(run(*pytree.tree_map(torch.clone, given)))
        for what, values in (("in", given), ("out", out)):
            for i, v in enumerate(values):
                v = v.detach().numpy() if isinstance(v, torch.Tensor) else np.asarray(v)
                np.save(os.path.join(at, "ref", f"set{k}_{what}{i}.npy"), v)


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        try:
            write(sys.argv[1], name)
        except Exception as e:
            print(name, type(e).__name__, str(e).strip()[-200:])
