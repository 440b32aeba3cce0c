"""State, control flow, and what is rare in the languages of programs."""

from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from .program import made


@made((torch.rand(3),), (torch.rand(3),), (torch.rand(3),))
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("n", torch.tensor(0))

    def forward(self, x):
        self.total.mul_(0.5).add_(x)
        self.n += 1
        return self.total / self.n


@made((torch.rand(1, 2, 4), torch.tensor([0])), (torch.rand(1, 2, 4), torch.tensor([1])))
class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 8, 4))

    def forward(self, x, at):
        self.k[:, :, at] = x[:, :, None]
        return self.k.sum((1, 3))


@made((torch.rand(4),), (-torch.rand(4),))
class Cond(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, (x,))


@made((torch.rand(4), torch.tensor(3)), (torch.rand(4), torch.tensor(7)))
class While(nn.Module):
    def forward(self, x, n):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 1.5), (torch.tensor(0), x))


@made((torch.rand(5, 3), torch.rand(3)), (torch.rand(5, 3), torch.rand(3)))
class Scan(nn.Module):
    def forward(self, x, h):
        from torch._higher_order_ops.scan import scan

        return scan(lambda c, v: (c * 0.5 + v, (c + v).sin()), h, x)


@made((torch.rand(5, 3),))
class ScanBack(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        f = lambda c, v: ((c[0] + v, c[1] * v), (c[0] - v, c[1].sum()))
        return scan(f, (torch.zeros(3), torch.ones(3)), x, dim=0, reverse=True)


@made((torch.rand(5, 3), torch.rand(3)))
class Map(nn.Module):
    def forward(self, x, y):
        from torch._higher_order_ops.map import map as each

        return each(lambda v, w: v * w + v.sum(), x, y)


@made((torch.rand(6, 3),))
class AssociativeScan(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.associative_scan import associative_scan

        return associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")


@made((torch.rand(3, 4),))
class InPlace(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 1:3] += 1
        y[0].mul_(3)
        y.view(-1)[::5] = 7
        y.t()[1].fill_(2)
        a, b = y.chunk(2, 1)
        a.add_(b)
        return y, a


@made((torch.rand(3, 4),))
class WritesInput(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


@made((torch.rand(4, 3),), (torch.rand(2, 3),))
class Lists(nn.Module):
    def forward(self, x):
        kept: List[Tensor] = []
        names: Dict[str, Tensor] = {"first": x}
        best: Optional[Tensor] = None
        for i in range(x.size(0)):
            row = x[i]
            if row.sum() > 1.0:
                kept.append(row * i)
            if best is None:
                best = row
            else:
                best = torch.maximum(best, row)
        names["last"] = x + 1
        assert best is not None
        total = torch.zeros(3)
        for t in kept:
            total = total + t
        for key, value in names.items():
            total = total + value.sum() * len(key)
        return total, best


@made((torch.rand(4, 3),))
class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = "mean"

    def forward(self, x):
        if x.dim() != 2:
            raise ValueError(f"expected 2 dims, got {x.dim()}")
        text = "{}-{}".format(self.mode, x.dim())
        if text == "mean-2":
            return x.mean(0)
        return x.sum(0)


@made((torch.rand(4, 3), 2), (torch.rand(4, 3), 3))
class Flow(nn.Module):
    def forward(self, x, n: int):
        pair: Tuple[int, float] = (n, 0.5)
        i = 0
        while i < pair[0]:
            if i == 2:
                x = x - 1
                i += 1
                continue
            x = x * pair[1]
            i += 1
        return [x, x + n], {"n": n * 2}


@made((torch.rand(2, 4),))
class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

    def forward(self, x):
        for i, part in enumerate(self.parts):
            x = part(x) + i
        for name, part in self.named.items():
            x = part(x)
        return x
