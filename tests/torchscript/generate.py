#!/usr/bin/env python3
"""Writes small TorchScript programs with what PyTorch makes of them, as cases for `tenon test`.

usage: generate.py FOLDER [NAME ...]      needs PyPI's torch and numpy
Each case is FOLDER/<name>/model.pt with ref/set<k>_in<i>.npy and ref/set<k>_out<i>.npy; sets are
run in order on one module, which may keep what it has seen.
"""
import collections
import io
import os
import pickle
import sys
import types
import warnings
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, nn

warnings.filterwarnings("ignore")
CASES = {}


def case(*sets, trace=False, old=None, packed=False):
    """old: (version, {text of the source: another}): the archive says that it is so old. packed:
    see pack()."""
    def add(cls):
        CASES[cls.__name__] = (cls, sets, trace, old, packed)
        return cls
    return add


def r(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


X = (r(3, 4),)


@case(X)
class InPlace(nn.Module):
    def forward(self, x):
        y = x * 2
        y.add_(1)
        y.mul_(y)
        return y, x


@case(X)
class SelectWrite(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[1] = 5.0
        y[:, 2] += 1
        y[0, 1:3] = torch.zeros(2)
        return y


@case(X)
class ViewsOfViews(nn.Module):
    def forward(self, x):
        y = x.clone()
        z = y.t()
        w = z[1:3]
        w.add_(10)
        v = y.view(-1)
        v[0] = -1
        u = y.unsqueeze(0).transpose(1, 2)
        u.mul_(2)
        return y, z, w, v, u


@case((r(4),))
class LoopCarried(nn.Module):
    def forward(self, x):
        y = x
        for i in range(x.size(0)):
            y = y * 0.5 + i
        return y


@case((r(5, 3),))
class LoopWrites(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            y[i] = x[i] * i
            if i > 2:
                y[i] += 1
        return y


@case((r(5, 3),))
class LoopAppends(nn.Module):
    def forward(self, x):
        parts: List[Tensor] = []
        total = torch.zeros(3)
        for i in range(x.size(0)):
            total = total + x[i]
            parts.append(total)
        return torch.stack(parts), torch.cat(parts, 0), total


@case((r(5, 3),))
class LoopAppendsRead(nn.Module):
    def forward(self, x):
        parts: List[Tensor] = [x[0]]
        for i in range(1, x.size(0)):
            parts.append(parts[-1] + x[i])
        return torch.stack(parts)


@case((r(7),))
class LoopOfInts(nn.Module):
    def forward(self, x):
        a: List[int] = []
        for i in range(x.size(0)):
            if i % 2 == 0:
                a.append(i * i)
        b = 0
        for v in a:
            b += v
        return torch.tensor(a), b


@case((r(6),), (r(6, seed=3) * 10,))
class WhileData(nn.Module):
    def forward(self, x):
        n = 0
        while bool(x.abs().max() > 0.25) and n < 10:
            x = x / 2
            n += 1
        return x, n


@case((r(6),), (r(6, seed=5),))
class IfData(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = x + 1
            n = 1
        else:
            y = x - 1
            n = 2
            x = x * 3
        return y, x, n


@case((r(6),), (r(6, seed=5),))
class BreakContinue(nn.Module):
    def forward(self, x):
        s = torch.zeros(1)
        for i in range(x.size(0)):
            v = x[i]
            if bool(v < -0.5):
                continue
            if bool(s > 0.8):
                break
            s = s + v
        return s


@case((r(2, 3),), (r(2, 3, seed=1),))
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("last", torch.zeros(2, 3))
        self.n = 0

    def forward(self, x):
        self.total += x.sum(0)
        self.last = x
        self.n += 1
        return self.total / self.n, self.last * 1, self.n


@case((r(2, 3),), (r(2, 3, seed=1),), (r(2, 3, seed=2),))
class BufferSlices(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(4, 3))

    def forward(self, x):
        self.ring[:2].copy_(self.ring[2:].clone())
        self.ring[2:] = x
        return self.ring.clone()


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


@case(X)
class Tuples(nn.Module):
    def pair(self, x) -> Tuple[Tensor, Tuple[Tensor, int]]:
        return x, (x + 1, 3)

    def forward(self, x):
        a, (b, n) = self.pair(x)
        p = Pair(a, b)
        return p.a + p.b * n, {"sum": p[0] + p[1], "n": torch.tensor(n)}


@case(X)
class Dicts(nn.Module):
    def forward(self, x):
        d: Dict[str, Tensor] = {"a": x}
        d["b"] = d["a"] * 2
        if "c" not in d:
            d["c"] = d["b"] + 1
        s = torch.zeros_like(x)
        for k, v in d.items():
            s = s + v
        return d, s


@case((r(2, 3),), (r(3),))
class ByRank(nn.Module):
    def forward(self, x):
        if x.dim() == 1:
            x = x.unsqueeze(0)
        if x.size(-1) != 3:
            raise RuntimeError("wrong size")
        out: Optional[Tensor] = None
        if x.shape[0] > 1:
            out = x.sum(0)
        else:
            out = x[0] * 10
        return out


@case((r(2, 6),))
class Splits(nn.Module):
    def forward(self, x):
        a, b = torch.chunk(x, 2, 1)
        c, d, e = x.split(2, dim=1)
        f, g = x.split([1, 5], dim=1)
        h, i = x.unbind(0)
        return a * b, c + d * e, f + g, h - i


@case((torch.arange(6).reshape(2, 3),))
class Integers(nn.Module):
    def forward(self, x):
        a = x / 2
        b = x // 2
        c = x % 4
        d = x * 1.5
        e = (x > 2) & (x < 5)
        return a, b, c, d, e, x.sum(), x.float().mean(), -x


@case((r(3, 4), torch.tensor([2, 0])))
class Indexing(nn.Module):
    def forward(self, x, i):
        a = x[i]
        b = x[:, i]
        m = x > 0
        c = x.masked_fill(m, 0.0)
        y = x.clone()
        y[m] = 7.0
        z = x.clone()
        z[i] = 0.0
        w = torch.where(m, x, -x)
        return a, b, c, y, z, w, x.index_select(1, i), x[..., -1], x[None, :, 1]


@case((r(2, 3, 8, 8),))
class Shapes(nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        y = x.view(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4)
        y = y.reshape(n, c * 4, h // 2, w // 2)
        z = x.flatten(1).expand(n, c * h * w)
        e = torch.zeros(x.shape) + x
        q = x.new_zeros([h, w]) + torch.ones(h, w, dtype=x.dtype)
        return y, z, e, q, x.reshape(x.size(0), -1)


@case((r(1, 3, 9, 9),))
class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8), nn.Hardswish(), nn.Dropout(0.5))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.body(x)
        x = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return nn.functional.softmax(self.head(x), dim=1)


@case((r(1, 3, 9, 9),), trace=True)
class ConvNetTraced(ConvNet):
    pass


@case((r(5, 2, 4),))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lstm = nn.LSTM(4, 6, num_layers=2, bidirectional=True)
        self.cell = nn.GRUCell(12, 5)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        s = torch.zeros(x.size(1), 5)
        for i in range(y.size(0)):
            s = self.cell(y[i], s)
        return y, h, c, s


@case((r(2, 5, 8),))
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x)


@case((r(2, 5, 8),), trace=True)
class AttentionTraced(Attention):
    pass


@case((r(3, 3),))
class Scalars(nn.Module):
    def forward(self, x):
        n = x.size(0)
        f = float(n) / 2
        a = x * f + n
        b = int(x[0, 0].item() * 100)
        c = max(n, 5) - min(n, 2) + abs(-n) + n ** 2
        return a, b, c, x * (n // 2), x.pow(n), float(b) / 7


class Counter:
    def __init__(self, start: int):
        self.n = start

    def add(self, k: int) -> int:
        self.n += k
        return self.n


@case((r(3),))
class Objects(nn.Module):
    def forward(self, x):
        c = Counter(2)
        c.add(x.size(0))
        if bool(x[0] > 100):
            c.add(1000)
        return x * c.add(1), c.n


@case((r(4, 4),), (r(4, 4, seed=9),))
class NestedFlow(nn.Module):
    def forward(self, x):
        y = x.clone()
        for i in range(x.size(0)):
            for j in range(x.size(1)):
                if bool(x[i, j] > 0):
                    y[i, j] = x[i, j] * 2
                else:
                    if bool(x[i, j] < -1):
                        y[i] = y[i] - 1
        return y


@case((r(2, 3), 3), (r(2, 3), 5))
class IntInput(nn.Module):
    def forward(self, x, n: int):
        y = x
        for i in range(n):
            y = y + i
        return y * n, torch.full([n], 2.5), torch.arange(n)


@case((r(3, 4),))
class Alias(nn.Module):
    def forward(self, x):
        a = x * 1
        b = a
        b += 1
        c = a.detach()
        c.mul_(2)
        l = [a, a + 1]
        l[0].add_(5)
        return a, b, c, l[0], l[1]


@case((r(2, 2), r(2, 2, seed=1)))
class Fused(nn.Module):
    def forward(self, x, y):
        z = torch.addmm(x, x, y, beta=0.5, alpha=2.0)
        w = torch.einsum("ij,kj->ik", x, y)
        s = torch.cat([z, w], dim=-1).norm(2, dim=1, keepdim=True)
        return z, w, s, torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=0.1)


@case((r(4, 6),), (r(4, 6, seed=2),))
class ChunkWrites(nn.Module):
    def forward(self, x):
        y = x.clone()
        a, b = y.chunk(2, 1)
        a.add_(1)
        b[0] = 9.0
        c, d = y.split([1, 3], 0)
        if bool(d.sum() > 0):
            c.mul_(3)
            d[1] += a[0, 0]
        return y, a, d


@case((r(3),), (-r(3).abs(),))
class EarlyReturn(nn.Module):
    def pick(self, x) -> Tensor:
        if bool(x.sum() > 0.5):
            return x * 2
        y = x + 1
        for i in range(3):
            if bool(y[0] > 1.5):
                return y * 100
            y = y + 0.5
        return y

    def forward(self, x):
        return self.pick(x), self.pick(x * 3)


@case((r(2, 3),), (torch.ones(2, 3, dtype=torch.int64),), (torch.ones(2, 3).double(),))
class ByDtype(nn.Module):
    def forward(self, x):
        if x.is_floating_point():
            y = x * 0.5
        else:
            y = x.to(torch.float32) * 3
        if x.dtype == torch.float64:
            y = y + 7
        z = torch.zeros([2], dtype=x.dtype, device=x.device) + x[:, 0]
        return y, z, torch.ones_like(x), x.new_ones([1])


@case((r(3), 7, -2))
class Integer(nn.Module):
    def forward(self, x, a: int, b: int):
        c = a // b
        d = a % b
        e = (-a) // 3 + (-a) % 3
        s = 0
        for i in range(10, 0, -3):
            s += i * a
        t = 0
        for i in range(b, a, 2):
            t += i
        return x * c, d, e, s, t, a / b, float(a) // 2.0, -7 // 2, a == 7 and b < 0, a << 1


@case((r(2, 3, 4),))
class SizeLists(nn.Module):
    def forward(self, x):
        a = x.view(x.shape[:-1] + [2, 2])
        b = x.reshape([x.size(0), -1]).expand([3, x.shape[0], 12])
        n: List[int] = list(x.shape)
        n.append(1)
        c = torch.zeros(n)
        p = 1
        for v in x.shape:
            p *= v
        return a, b, c, p, x.shape[0] + x.shape[-1], len(x.shape), x.numel()


@case((r(2, 4),))
class Comprehension(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(4, 2)})

    def forward(self, x):
        outs: List[Tensor] = []
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
            outs.append(x)
        for key, layer in self.named.items():
            x = layer(x)
        squares = [o * o for o in outs]
        for a, b in zip(outs, squares):
            x = x + (a - b).sum()
        return x, squares


@case((r(3, 2),), (r(3, 2, seed=4),))
class Optionals(nn.Module):
    def forward(self, x, y: Optional[Tensor] = None):
        if y is None:
            y = x + 1
        z: Optional[int] = None
        if self.training:
            z = 4
        out = x * y
        if z is not None:
            out = out * z
        return out


@case((r(3, 3),), (r(3, 3, seed=8),))
class Ternary(nn.Module):
    def forward(self, x):
        y = x if bool(x[0, 0] > 0) else -x
        n = 3 if bool(x[1, 1] > 0) else 5
        f = 0.5 if n > 4 else 2.5
        assert x.size(0) == 3, "three rows"
        return y * n, f, [n, 2][0], (y, n)[1]


@case((r(4),), (r(4, seed=6),))
class ListMerge(nn.Module):
    def forward(self, x):
        l = [x]
        if bool(x[0] > 0):
            l.append(x + 1)
        else:
            l.append(x - 1)
            l.append(x * 5)
        k = [1, 2]
        if bool(x[1] > 0):
            k.append(7)
        k[0] = 9
        return torch.cat(l), len(l), sum(k), torch.tensor(k)


@case((r(3, 4),), (r(3, 4, seed=7),))
class StateFlow(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("count", torch.zeros([], dtype=torch.int64))
        self.scale = 1.0
        self.seen = False

    def forward(self, x):
        if not self.seen:
            self.mean.copy_(x.mean(0))
            self.seen = True
        else:
            self.mean.mul_(0.5).add_(x.mean(0), alpha=0.5)
        self.count += x.size(0)
        for i in range(2):
            self.scale = self.scale * 1.5
        return (x - self.mean) * self.scale, self.count.clone(), self.seen

    @torch.jit.export
    def reset(self):
        self.mean.zero_()
        self.seen = False


@case((r(2, 3, 5),))
class Reductions(nn.Module):
    def forward(self, x):
        v, i = x.max(dim=1)
        w, j = torch.topk(x, 2, dim=-1)
        s, k = torch.sort(x, dim=2, descending=True)
        return (v, i, w, j, s, k, x.argmax(), x.std(dim=0), x.var(1, unbiased=False), x.cumsum(2),
                x.norm(2), x.amin((0, 2)), torch.logsumexp(x, 1), x.prod(2), (x > 0).any(1),
                (x > 9).all())


@case((r(6),), (r(6, seed=3),))
class Data(nn.Module):
    def forward(self, x):
        i = torch.nonzero(x > 0).squeeze(1)
        y = x[x > 0]
        n = y.numel()
        z = torch.zeros(n) + y
        w = x.clone()
        w[i] = torch.arange(n, dtype=x.dtype)
        (j,) = torch.where(x < 0)
        return i, y, n, z, w, j, x[: max(n, 1)]


@case((r(1, 2, 6, 6),))
class Images(nn.Module):
    def forward(self, x):
        f = nn.functional
        a = f.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        b = f.interpolate(x, size=[3, 3], mode="nearest")
        c = f.pad(x, [1, 2, 0, 1], mode="reflect")
        d = f.pad(x, [1, 1], value=2.0)
        e = f.avg_pool2d(x, 3, stride=2, padding=1)
        g = f.unfold(x, 2)
        h = f.layer_norm(x, [6, 6]) + f.gelu(x) + f.leaky_relu(x, 0.1) + f.softplus(x) + f.mish(x)
        return a, b, c, d, e, g, h, f.normalize(x, dim=1), f.one_hot(x[0, 0, 0].abs().long(), 5)


@case((r(3, 2), r(3, 2, seed=1)))
class Outs(nn.Module):
    def forward(self, x, y):
        o = torch.empty_like(x)
        torch.add(x, y, out=o)
        o.clamp_(min=-0.5, max=0.5)
        p = x.clone()
        p.masked_fill_(p > 0, 3.0)
        p.transpose_(0, 1)
        q = x.clone()
        q.index_add_(0, torch.tensor([0, 0]), y[:2])
        q.index_fill_(0, torch.tensor([2]), -1.0)
        s = torch.zeros(3, 4).scatter_(1, torch.tensor([[1], [3], [0]]), 2.0)
        q.div_(2).sub_(y, alpha=0.5)
        return o, p, q, s, torch.stack([x, y], -1).view(-1)


@case((r(2, 5, 8), torch.tensor([0, 3, 1, 4, 4])), trace=True)
class FastPaths(nn.Module):
    """What tracing makes of layers in eval; outputs that nobody reads."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.bags = nn.EmbeddingBag(5, 3, mode="mean", padding_idx=4)
        self.pool = nn.AdaptiveMaxPool2d((3, 5))
        self.requires_grad_(False)

    def forward(self, x, ids):
        offsets = torch.tensor([0, 2])
        return self.encoder(x), *self.attention(x, x, x), self.bags(ids, offsets), self.pool(x)


@case((r(2, 3, 8, 8),), (r(2, 3, 8, 8, seed=1) * 2,))
class Quantised(nn.Module):
    """Layers with packed parameters, as QNNPACK computes them."""

    def __init__(self):
        super().__init__()
        torch.backends.quantized.engine = "qnnpack"
        quantized = torch.ao.nn.quantized
        self.conv = self.layer(quantized.Conv2d(3, 8, 3, padding=1), (8, 3, 3, 3), 0.05, 120)
        self.deep = self.layer(quantized.Conv2d(8, 8, 3, groups=8, stride=2, padding=1),
                               (8, 1, 3, 3), 0.03, 100)
        self.head = self.layer(quantized.Linear(8, 5), (5, 8), 0.02, 130)

    def layer(self, layer, shape, scale, zero):
        w = torch.quantize_per_tensor(r(*shape, seed=scale > 0.04) * 0.5, 0.0125, 0, torch.qint8)
        layer.set_weight_bias(w, r(shape[0], seed=3) * 0.1)
        layer.scale, layer.zero_point = scale, zero
        return layer

    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.04, 128, torch.quint8)
        q = torch.relu(self.conv(q))
        a = self.deep(q)
        b = torch.ops.quantized.add(a, a, 0.06, 90)
        c = torch.ops.quantized.cat([a, b], 1, 0.05, 110)
        y = nn.functional.adaptive_avg_pool2d(b, [1, 1]).flatten(1)
        return self.head(y).dequantize(), c.dequantize(), q.int_repr()


@case((r(3),), (r(3, seed=1),))
class ListState(nn.Module):
    """A tensor inside of a list is changed: it is a state, too."""

    def __init__(self):
        super().__init__()
        self.cache = [torch.zeros(3), torch.ones(3)]

    def forward(self, x):
        self.cache[0].add_(x)
        return self.cache[0] * 1, self.cache[1]


@case((r(4, 5, 12),), (r(4, 5, 12, seed=1) * 3,), (torch.zeros(4, 5, 12),))
class Dynamic(nn.Module):
    """Linear layers whose weights are codes, and that make codes of what they get as they run."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        torch.backends.quantized.engine = "x86"
        layers = nn.Sequential(nn.Linear(12, 9), nn.ReLU(), nn.Linear(9, 3, bias=False))
        self.layers = torch.ao.quantization.quantize_dynamic(layers, {nn.Linear})

    def forward(self, x):
        return self.layers(x)


@case((r(2, 3, 8, 8),), packed=True)
class Prepacked(nn.Module):
    """What torch.utils.mobile_optimizer makes of layers: written by hand, by pack()."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2)
        self.head = nn.Linear(6, 5)

    def forward(self, x):
        y = torch.relu(self.conv(x))
        return self.head(self.up(y).mean([2, 3])).clamp(-0.1, 0.3)


I = torch.tensor([[7, -7, 8], [-9, 5, -1]])


@case((I, torch.tensor([2, 2, -3]), r(2, 3)), old=(3, {}))
class OldDiv(nn.Module):
    """Before version 4 the quotient of integers was cut off."""
    def forward(self, a, b, x):
        c = a.clone()
        c.div_(b)
        narrow = a.to(torch.int32)
        return (a / b, torch.div(a, 2), torch.div(a, 2.0), x / b, torch.div(x, 2), c,
                narrow / b, torch.div(narrow, -4), a / x, (a > 0) / b)


@case(X, old=(4, {}))
class OldFull(nn.Module):
    """Before version 5 the result was of floats, unless a dtype was given."""
    def forward(self, x):
        n = x.size(0)
        return (torch.full([2, 3], 3), torch.full([n], int(x.max())),
                torch.full([2], 3, dtype=torch.int64), torch.full([2], True), torch.full([2], 0.5))


@case(X, old=(7, {"linspace(0, 1, 5": "linspace(0, 1, None"}))
class OldLinspace(nn.Module):
    """Before version 8 linspace had 100 steps, unless it was said how many."""
    def forward(self, x):
        return torch.linspace(0, 1, 5), torch.linspace(-1.0, 1.0, 7), x


def arrays(values, out):
    """Outputs in the order in which they are flattened."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        for v in values:
            arrays(v, out)
    elif values is not None:
        a = values.detach().numpy() if isinstance(values, Tensor) else np.asarray(values)
        out.append(a.astype(np.int64) if a.dtype == np.int64 else a)
    return out


def make_old(path, version, texts):
    """PyTorch, which reads the file for its answers, upgrades what is in it."""
    with zipfile.ZipFile(path) as z:
        members = {name: z.read(name) for name in z.namelist()}
    with zipfile.ZipFile(path, "w") as z:
        for name, data in members.items():
            if name.endswith("version"):
                data = b"%d\n" % version
            elif name.endswith(".py"):
                for text, other in texts.items():
                    assert text.encode() in data, data
                    data = data.replace(text.encode(), other.encode())
            elif name.endswith(".debug_pkl"):
                continue
            z.writestr(zipfile.ZipInfo(name), data)


PROGRAM = """class Prepacked(Module):
  __parameters__ = []
  __buffers__ = []
  mobile_optimized : bool
  def forward(self: __torch__.Prepacked,
    x: Tensor) -> Tensor:
    y = ops.prepacked.conv2d_clamp_run(x, CONSTANTS.c0)
    y0 = ops.prepacked.conv2d_transpose_clamp_run(y, CONSTANTS.c1)
    y1 = torch.mean(y0, [2, 3])
    return ops.prepacked.linear_clamp_run(y1, CONSTANTS.c2)
"""


def pack(path, module):
    """The same network, as a build of PyTorch with XNNPACK saves it when it has been optimised."""
    storages, classes = [], types.ModuleType("__torch__.torch.classes.xnnpack")
    base = types.ModuleType("__torch__")
    sys.modules.update({classes.__name__: classes, base.__name__: base})

    def made(space, name, state):
        cls = type(name, (), {"__getstate__": lambda self: self.state})
        cls.__module__ = space.__name__
        setattr(space, name, cls)
        x = cls()
        x.state = state
        return x

    class Storage(collections.namedtuple("Storage", "at n")):
        pass

    class Weights:
        def __init__(self, t):
            self.shape, self.strides = tuple(t.shape), t.stride()
            self.storage = Storage(len(storages), t.numel())
            storages.append(t.detach().numpy().tobytes())

        def __reduce__(self):
            return torch._utils._rebuild_tensor_v2, (
                self.storage, 0, self.shape, self.strides, False, collections.OrderedDict())

    def pickled(value):
        out = io.BytesIO()
        p = pickle.Pickler(out, 2)
        p.persistent_id = lambda x: isinstance(x, Storage) and (
            "storage", torch.FloatStorage, str(x.at), "cpu", x.n) or None
        p.dump(value)
        return out.getvalue()

    def layer(x):
        return Weights(x.weight), Weights(x.bias)

    c, u, h = module.conv, module.up, module.head
    sizes = [[*map(list, (c.stride, c.padding, c.dilation))],
             [*map(list, (u.stride, u.padding, u.output_padding, u.dilation))]]
    constants = (
        made(classes, "Conv2dOpContext", (*layer(c), *sizes[0], 1, 0.0, None)),
        made(classes, "TransposeConv2dOpContext", (*layer(u), *sizes[1], 2, None, None)),
        made(classes, "LinearOpContext", (*layer(h), -0.1, 0.3)))
    with zipfile.ZipFile(path, "w") as z:
        def put(name, data):
            z.writestr(zipfile.ZipInfo("model/" + name), data)
        put("data.pkl", pickled(made(base, "Prepacked", {"mobile_optimized": True})))
        put("code/__torch__.py", PROGRAM)
        put("constants.pkl", pickled(constants))
        for k, data in enumerate(storages):
            put(f"constants/{k}", data)
        put("version", "3\n")


@case((r(4, 6),), (r(4, 6, seed=1),))
class Strided(nn.Module):
    """as_strided reads memory, of tensors that do not lie in C order."""
    def __init__(self):
        super().__init__()
        self.register_buffer("w", r(3, 4, seed=2))

    def forward(self, x):
        y = x * 2 + 1
        a = torch.as_strided(y.t(), [3, 4], [4, 1])
        b = torch.as_strided(y.view([2, 2, 6]).permute([2, 0, 1]), [2, 3], [1, 2], 3)
        c = torch.as_strided(x.t().contiguous(), [3, 4], [4, 1])
        d = torch.as_strided(self.w.transpose(0, 1), [5, 2], [2, 1])
        e = torch.as_strided_copy(y.t(), [3], [2])
        y.mul_(2)
        return a, b, c, d, e


@case((r(4, 6),), (r(4, 6, seed=1),))
class Strides(nn.Module):
    """stride and is_contiguous where it is known how a tensor lies in memory."""
    def forward(self, x):
        y = x * 2 + 1
        z = y.view([2, 2, 6]).unsqueeze(1)
        s = z.stride()
        w = torch.as_strided(y, [2, 2, 6], [y.stride(0) * 2, y.stride(0), y.stride(-1)])
        if not x.is_contiguous():
            w = w.contiguous()
        return w, x.stride(0), z.stride(1), s[0] * 100 + s[2], y.t().contiguous().stride(0)


@case((r(3, 2, 8),), (r(5, 2, 8, seed=1),))
class DynamicCells(nn.Module):
    """LSTM and GRU whose inputs become codes as they run, of one and of two directions."""
    def __init__(self):
        super().__init__()
        torch.backends.quantized.engine = "x86"
        torch.manual_seed(0)
        kinds = {"a": nn.LSTM(8, 6), "b": nn.LSTM(8, 4, 2, bidirectional=True, batch_first=True),
                 "c": nn.GRU(8, 6, 2), "d": nn.GRU(8, 4, bidirectional=True, batch_first=True)}
        made = torch.ao.quantization.quantize_dynamic(
            nn.ModuleDict(kinds).eval(), {nn.LSTM, nn.GRU}, dtype=torch.qint8)
        self.a, self.b, self.c, self.d = made["a"], made["b"], made["c"], made["d"]

    def forward(self, x):
        y, (h, c) = self.a(x)
        z, (h1, c1) = self.b(x)
        g, h2 = self.c(x, torch.cat([h, h + 1]))
        return y, h, c, z, h1, c1, g, h2, self.d(x)


def write(folder, name):
    cls, sets, trace, old, packed = CASES[name]
    module = cls().eval()
    path = os.path.join(folder, name)
    os.makedirs(os.path.join(path, "ref"), exist_ok=True)
    script = (torch.jit.trace(module, sets[0], check_trace=False) if trace
              else torch.jit.script(module))
    script.save(os.path.join(path, "model.pt"))
    if old:
        make_old(os.path.join(path, "model.pt"), *old)
    script = torch.jit.load(os.path.join(path, "model.pt"))
    for k, inputs in enumerate(sets):
        for i, x in enumerate(inputs):
            np.save(os.path.join(path, "ref", f"set{k}_in{i}.npy"), np.asarray(x))
        with torch.no_grad():
            out = script(*[x.clone() if isinstance(x, Tensor) else x for x in inputs])
        for i, y in enumerate(arrays(out, [])):
            np.save(os.path.join(path, "ref", f"set{k}_out{i}.npy"), y)
    if packed:
        pack(os.path.join(path, "model.pt"), module)


def main():
    for name in sys.argv[2:] or CASES:
        try:
            write(sys.argv[1], name)
        except Exception as e:  # a program that PyTorch refuses is none of ours
            print(f"{name}: {type(e).__name__}: {str(e)[:300]}")


if __name__ == "__main__":
    main()
