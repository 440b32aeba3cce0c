#!/usr/bin/env python3
"""Random programs of PyTorch: chains of operators on small tensors of all types, with views, writes
through views, broadcasting, mixed types and empty dims. Each is traced (one in ten is exported as
well), run by Tenon, and its outputs compared with PyTorch's.

usage: random_programs.py TENON [--seed N] [--count N] [--keep DIR]
(needs torch)
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F

DTYPES = [torch.float32] * 6 + [
    torch.float64,
    torch.int64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.int8,
    torch.bool,
    torch.float16,
]
R = random.Random()


def shape(rank=None):
    rank = R.choice([0, 1, 2, 2, 3, 3, 4]) if rank is None else rank
    return [R.choice([1, 2, 3, 3, 4, 5, 0 if R.random() < 0.1 else 2]) for _ in range(rank)]


def tensor(dims=None, dtype=None):
    dims = shape() if dims is None else dims
    dtype = dtype or R.choice(DTYPES)
    if dtype == torch.bool:
        return torch.rand(dims) > 0.5
    if dtype.is_floating_point:
        return (torch.randn(dims) * 2).to(dtype)
    return torch.randint(0 if dtype == torch.uint8 else -6, 9, dims).to(dtype)


def dim(x):
    return R.randrange(-x.dim(), x.dim())


def dims(x):
    return R.sample(range(x.dim()), R.randint(1, x.dim()))


def number():
    return R.choice([0, 1, 2, -3, 0.5, -1.5, 2.0, True])


def perm(x):
    order = list(range(x.dim()))
    R.shuffle(order)
    return order


def factors(n):
    a = R.choice([k for k in range(1, n + 1) if n % k == 0]) if n else 0
    return R.choice([[a, n // a if a else 3], [-1], [1, -1], [a, -1] if a else [0, 3]])


def key(x):
    """What stands in x[...]: numbers, slices, None, ..., masks, lists."""
    out, left = [], x.dim()
    for d in range(R.randint(1, max(1, x.dim()))):
        kind = R.randrange(8)
        n = x.shape[len([k for k in out if k is not None])] if left else 0
        if kind == 0:
            out.append(None)
            continue
        if not left:
            break
        left -= 1
        if kind == 1 and n:
            out.append(R.randrange(-n, n))
        elif kind == 2 and n:
            out.append(torch.randint(-n, n, R.choice([[2], [3], [2, 1]])))
        elif kind == 3:
            out.append(torch.rand(n) > 0.4)
        else:
            ends = [None, None, *range(-n - 1, n + 2)]
            out.append(slice(R.choice(ends), R.choice(ends), R.choice([None, None, 2, 3])))
    if R.random() < 0.3 and left:
        out.append(...)
    return tuple(out)


def index(x):
    k = key(x)
    return lambda v: v[k]


# Views: functions that make one of a tensor.
VIEWS = {
    "index": lambda x: (lambda k: lambda v: v[k])(
        tuple(i for i in key(x) if not torch.is_tensor(i))
    ),
    "transpose": lambda x: (lambda a, b: lambda v: v.transpose(a, b))(dim(x), dim(x)),
    "permute": lambda x: (lambda p: lambda v: v.permute(p))(perm(x)),
    "select": lambda x: (lambda d: lambda v: v.select(d, -1))(dim(x)),
    "narrow": lambda x: (lambda d: lambda v: v.narrow(d, 1, v.shape[d] - 1))(dim(x)),
    "unsqueeze": lambda x: (lambda d: lambda v: v.unsqueeze(d))(R.randint(-x.dim() - 1, x.dim())),
    "squeeze": lambda x: lambda v: v.squeeze(),
    "view": lambda x: (lambda s: lambda v: v.view(s))(factors(x.numel())),
    "flatten": lambda x: lambda v: v.flatten(),
    "diagonal": lambda x: (lambda k: lambda v: v.diagonal(k))(R.randint(-1, 2)),
    "chunk": lambda x: (lambda d: lambda v: v.chunk(2, d)[0])(dim(x)),
    "split": lambda x: (lambda d: lambda v: v.split(2, d)[-1])(dim(x)),
    "unbind": lambda x: (lambda d: lambda v: v.unbind(d)[0])(dim(x)),
    "expand": lambda x: (lambda n: lambda v: v.expand(n, *v.shape))(R.randint(1, 3)),
    "movedim": lambda x: (lambda a, b: lambda v: v.movedim(a, b))(dim(x), dim(x)),
    "unfold": lambda x: (lambda d: lambda v: v.unfold(d, 2, 1))(dim(x)),
}

WRITES = {
    "add_": lambda n, o: lambda v, w: v.add_(n),
    "mul_": lambda n, o: lambda v, w: v.mul_(n),
    "fill_": lambda n, o: lambda v, w: v.fill_(n),
    "zero_": lambda n, o: lambda v, w: v.zero_(),
    "clamp_": lambda n, o: lambda v, w: v.clamp_(-1, 1),
    "copy_": lambda n, o: lambda v, w: v.copy_(w),
    "sub_": lambda n, o: lambda v, w: v.sub_(w),
    "masked_fill_": lambda n, o: lambda v, w: v.masked_fill_(v > 0, n),
    "relu_": lambda n, o: lambda v, w: v.relu_(),
}

UNARY = """abs neg sign sgn ceil floor trunc round frac exp2 sin cos tanh sigmoid relu erf atan square isnan isinf
    isfinite logical_not bitwise_not expm1 sinh rsqrt sqrt log1p reciprocal positive""".split()
BINARY = """add sub mul div maximum minimum eq ne lt le gt ge fmax fmin remainder fmod floor_divide pow atan2
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor hypot copysign xlogy true_divide
    logaddexp""".split()
REDUCE = """sum mean amax amin any all prod var std logsumexp nansum count_nonzero nanmean""".split()
DIM = """max min argmax argmin cumsum cumprod cummax cummin median sort argsort softmax log_softmax logcumsumexp
    mode nanmedian""".split()
ACTIVATIONS = """elu selu celu gelu silu mish hardswish hardsigmoid hardtanh leaky_relu softplus softsign tanhshrink
    softshrink hardshrink logsigmoid relu6""".split()


def outs(y):
    return [t for t in (y if isinstance(y, (tuple, list)) else [y]) if torch.is_tensor(t)]


def step(pool):
    """A random operator on members of the pool: (name, function of the pool)."""
    i, j, k = (R.randrange(len(pool)) for _ in range(3))
    x, kind = pool[i], R.randrange(20)
    if kind < 3:
        name = R.choice(UNARY)
        return name, lambda p: getattr(torch, name)(p[i])
    if kind < 6:
        name = R.choice(BINARY)
        if R.random() < 0.35:
            n = number()
            return name, lambda p: getattr(torch, name)(p[i], n)
        return name, lambda p: getattr(torch, name)(p[i], p[j])
    if kind == 6:
        name, keep = R.choice(REDUCE), R.random() < 0.5
        if R.random() < 0.3 or not x.dim():
            return name, lambda p: getattr(torch, name)(p[i])
        d = dims(x) if name in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp") else dim(x)
        if name == "count_nonzero":
            return name, lambda p: torch.count_nonzero(p[i], d)
        return name, lambda p: getattr(torch, name)(p[i], dim=d, keepdim=keep)
    if kind == 7:
        name, d = R.choice(DIM), dim(x) if x.dim() else 0
        stable = dict(stable=True) if name in ("sort", "argsort") else {}
        return name, lambda p: getattr(torch, name)(p[i], dim=d, **stable)
    if kind == 8:
        name = R.choice(ACTIVATIONS)
        return name, lambda p: getattr(F, name)(p[i])
    if kind == 9:
        to = R.choice(DTYPES)
        if to.is_floating_point or to == torch.bool:
            return "to", lambda p: p[i].to(to)
        return "to", lambda p: p[i].to(torch.float32).nan_to_num(0, 5, -5).clamp(0, 100).to(to)
    if kind in (10, 11):
        name = R.choice(list(VIEWS))
        f = VIEWS[name](x)
        return name, lambda p: f(p[i]).clone()
    if kind == 12:
        f = index(x)
        return "x[...]", lambda p: f(p[i])
    if kind in (13, 14, 15):  # writes through views
        names = [R.choice(list(VIEWS)) for _ in range(R.randint(0, 2))]
        fs, y = [], x.clone()
        for name in names:
            fs.append(VIEWS[name](y))
            y = fs[-1](y)
        write, n = R.choice(list(WRITES)), number()
        w = WRITES[write](n, None)
        second = VIEWS[R.choice(list(VIEWS))](x) if R.random() < 0.4 else None

        def run(p):
            base = p[i].clone()
            other = second(base) if second else None
            v = base
            for f in fs:
                v = f(v)
            w(v, p[j])
            return [base, v.clone()] + ([other.clone()] if second else [])

        return f"{'.'.join(names)}.{write}", run
    if kind == 16:
        n, write = number(), R.random() < 0.5

        def put(p):
            base = p[i].clone()
            if write:
                base[key_] = p[j] if p[j].dim() == 0 else n
            else:
                base[key_] = n
            return base

        key_ = key(x)
        return "x[...] = n", put
    if kind == 17:
        d = dim(x) if x.dim() else 0
        pick = R.randrange(10)
        many = {
            0: ("cat", lambda p: torch.cat([p[i], p[j]], d)),
            1: ("stack", lambda p: torch.stack([p[i], p[j]], d)),
            2: ("where", lambda p: torch.where(p[i] > 0, p[j], p[k])),
            3: ("matmul", lambda p: p[i] @ p[j].mT),
            4: ("flip", lambda p: p[i].flip(d)),
            5: ("roll", lambda p: p[i].roll(2, d)),
            6: ("repeat", lambda p: p[i].repeat(2, *[1] * max(0, p[i].dim() - 1))),
            7: ("tril", lambda p: p[i].tril(1)),
            8: ("lerp", lambda p: torch.lerp(p[i], p[j], 0.3)),
            9: ("addcmul", lambda p: torch.addcmul(p[i], p[j], p[k], value=2)),
        }
        return many[pick]
    if kind == 18:
        d, n = (dim(x) if x.dim() else 0), R.randint(0, 3)
        pick = R.randrange(8)
        many = {
            0: ("pad", lambda p: F.pad(p[i], (1, 2), value=0.5)),
            1: ("topk", lambda p: p[i].topk(1, d)[0]),
            2: ("clamp", lambda p: p[i].clamp(-1, n)),
            3: ("repeat_interleave", lambda p: p[i].repeat_interleave(n, d)),
            4: ("diff", lambda p: p[i].diff(dim=d)),
            5: ("index_select", lambda p: p[i].index_select(d, torch.zeros(2, dtype=torch.int64))),
            6: ("gather", lambda p: p[i].gather(d, torch.zeros_like(p[i], dtype=torch.int64))),
            7: ("nonzero", lambda p: p[i].nonzero()),
        }
        return many[pick]
    n = number()
    return "rsub", lambda p: n - p[i]


class Program(torch.nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, *inputs):
        pool = list(inputs)
        for _, f in self.steps:
            pool += outs(f(pool))
        kept = [p for p in pool[len(inputs) :] if p.numel() < 5000]
        return tuple(p.clone() for p in kept)


def sane(y):
    return y.numel() < 20000 and y.dim() <= 6 and not y.is_complex() and y.dtype in DTYPES


def random_program():
    inputs = [tensor() for _ in range(R.randint(1, 3))]
    pool, steps = [x.clone() for x in inputs], []
    for _ in range(R.randint(2, 8)):
        state = R.getstate()
        try:
            name, f = step(pool)
            made = outs(f(pool))
        except Exception:
            continue
        if made and all(sane(y) for y in made):
            steps.append((name, f))
            pool += made
    return inputs, Program(steps)


def write(kind, at, inputs, program):
    (at / "ref").mkdir(parents=True)
    given = [x.clone() for x in inputs]
    if kind == "export":
        torch.export.save(torch.export.export(program, tuple(given)), at / "model.pt2")
        run = torch.export.load(at / "model.pt2").module()
    else:
        torch.jit.trace(program, tuple(given), check_trace=False).save(str(at / "model.pt"))
        run = torch.jit.load(str(at / "model.pt"))
    wanted = run(*[x.clone() for x in inputs])
    for k, x in enumerate(inputs):
        np.save(at / "ref" / f"set0_in{k}.npy", x.numpy())
    for k, x in enumerate(wanted):
        np.save(at / "ref" / f"set0_out{k}.npy", x.numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenon")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--keep", help="a folder for the programs that do not agree")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    count = {"agree": 0, "differ": 0, "not saved": 0}
    for seed in range(args.seed, args.seed + args.count):
        R.seed(seed)
        torch.manual_seed(seed)
        inputs, program = random_program()
        if not program.steps:
            continue
        for kind in ("trace", "export") if seed % 10 == 0 else ("trace",):
            at = pathlib.Path(tempfile.mkdtemp()) / f"{kind}{seed}"
            try:
                write(kind, at, inputs, program)
            except Exception as e:
                count["not saved"] += 1
                shutil.rmtree(at.parent)
                continue
            command = [args.tenon, "test", str(at), "--rtol", "1e-3", "--atol", "1e-4", "--no-fork"]
            run = subprocess.run(command, capture_output=True, text=True, timeout=120)
            good = run.returncode == 0 and "1 passed" in run.stdout
            count["agree" if good else "differ"] += 1
            if not good:
                said = (run.stderr + run.stdout).strip().replace(str(at.parent) + "/", "")
                print(f"{kind}{seed} {[n for n, _ in program.steps]}\n    {said[:400]}", flush=True)
                if args.keep:
                    shutil.copytree(at, pathlib.Path(args.keep) / at.name, dirs_exist_ok=True)
            shutil.rmtree(at.parent)
    print(", ".join(f"{n} {what}" for what, n in count.items()))
    return count["differ"] > 0


sys.exit(main())
