#!/usr/bin/env python3
"""Writes tests/data/aten/cases.txt: what PyTorch answers for each overload that Tenon knows.

usage: make_cases.py TENON -o cases.txt   (TENON is the command, for its table)
(needs torch, torchvision; the cases stand in pointwise.py, shapes.py, layers.py, indices.py
composed.py and composites.py)

A line is: the operator of Tenon, its arguments, what it makes, with tabs between. A tensor is
`name=f32[2,3]:1,2,...`, anything else `name@text`. Overloads without a line are listed at the end
of the run, on stderr.
"""

import argparse
import subprocess
import sys

import torch
import torchvision  # noqa: F401 (its operators)
from composed import composed
from composites import composites
from indices import indices, suppressions
from layers import layers, products
from pointwise import binary, unary
from shapes import creation, moves, reductions
from tensors import DTYPES, b8, f64


def text(x):
    values = x.flatten().tolist()
    if x.dtype == b8:
        values = [int(v) for v in values]
    shape = ",".join(str(d) for d in x.shape)
    return f"{DTYPES[x.dtype]}[{shape}]:" + ",".join(
        "%.9g" % v if x.is_floating_point() and x.dtype != f64 else repr(v) for v in values
    )


def literal(v):
    if isinstance(v, bool):
        return "1" if v else "0"
    if isinstance(v, torch.dtype):
        return DTYPES[v]
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(literal(x) for x in v) + "]"
    return str(v)


def spread(op, argument, value):
    """2 as [2, 2], where conv2d wants a list."""
    is_list = str(argument.type) in ("List[int]", "List[SymInt]")
    return [value] * int(op[-2]) if is_list and isinstance(value, int) and op[-1] == "d" else value


class Cases:
    def __init__(self, tenon):
        rows = subprocess.run(
            [tenon, "ops", "--format", "torchexport"], check=True, text=True, capture_output=True
        ).stdout.splitlines()
        self.names = {}
        for row in rows:
            words = row.split()
            if len(words) >= 3 and words[1] == "lowered":
                self.names[words[0].removeprefix("aten::")] = words[2]
        self.lines, self.seen, self.failed = [], set(), []

    def add(self, name, *args, n_out=None, **kwargs):
        library, _, base = name.rpartition("::")
        base, _, overload = base.partition(".")
        if name not in self.names:
            self.failed.append(f"{name}: Tenon has no such row")
            return
        op = getattr(getattr(getattr(torch.ops, library or "aten"), base), overload or "default")
        args = [spread(base, a, v) for a, v in zip(op._schema.arguments, args)]
        try:
            out = op(*args, **kwargs)
        except Exception as e:  # what PyTorch refuses is no case
            self.failed.append(f"{name}: {str(e).splitlines()[0][:100]}")
            return
        given = dict(zip((a.name for a in op._schema.arguments), args)) | kwargs
        words = [self.names[name]]
        for key, v in given.items():
            if v is None:
                continue
            if isinstance(v, torch.Tensor):
                words.append(f"{key}={text(v)}")
            elif isinstance(v, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in v):
                words += [f"{key}={text(x)}" if x is not None else f"{key}=" for x in v]
            else:
                words.append(f"{key}@{literal(v)}")
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        outs = outs[:n_out] if n_out else outs
        if not all(isinstance(x, torch.Tensor) and x.dtype in DTYPES for x in outs):
            self.failed.append(f"{name}: its outputs are no plain tensors")
            return
        words += [f"->={text(x)}" for x in outs]
        self.lines.append("\t".join(words))
        self.seen.add(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenon")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    c = Cases(args.tenon)
    parts = (unary, binary, moves, creation, reductions, products, layers, indices, suppressions)
    for part in (*parts, composed, composites):
        part(c)
    lines = list(dict.fromkeys(c.lines))
    with open(args.output, "w", encoding="ascii") as f:
        f.write(f"# Made by make_cases.py with PyTorch {torch.__version__.split('+')[0]}.\n")
        f.write("\n".join(lines) + "\n")
    print(f"{len(lines)} cases of {len(c.seen)} overloads", file=sys.stderr)
    print("refused by PyTorch:", *c.failed, sep="\n  ", file=sys.stderr)
    print("without a case:", *sorted(set(c.names) - c.seen), file=sys.stderr)


main()
