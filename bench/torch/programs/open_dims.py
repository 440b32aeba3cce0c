"""Dims that are open when a program is exported."""

import torch
import torch.nn.functional as F
from torch import nn

from .program import open_dims, x

B, T = torch.export.Dim("B", min=1, max=64), torch.export.Dim("T", min=2, max=64)
A = torch.rand(3, 5, 8)


def batch_and_time(name, f):
    open_dims(name, f, A, dims=(({0: B, 1: T},),), more=[(torch.rand(2, 9, 8),)])


open_dims("dim_linear", nn.Linear(8, 4), A, dims=({0: B, 1: T},), more=[(torch.rand(7, 2, 8),)])
batch_and_time("dim_reshape", lambda v: v.reshape(v.shape[0], -1).sum(1))
batch_and_time(
    "dim_heads",
    lambda v: v.view(v.size(0), v.size(1), 2, 4).transpose(1, 2).softmax(-1),
)
batch_and_time("dim_arange", lambda v: v + torch.arange(v.size(1))[:, None])
batch_and_time("dim_causal", lambda v: torch.ones(v.size(1), v.size(1)).tril() @ v)
batch_and_time("dim_cat", lambda v: torch.cat([v, v[:, : v.size(1) // 2]], 1))
batch_and_time("dim_expand", lambda v: v[:, None].expand(-1, v.size(1), -1, -1).flatten(1, 2))
batch_and_time("dim_mean", lambda v: v.sum((0, 1)) / (v.size(0) * v.size(1)))
batch_and_time("dim_pad", lambda v: F.pad(v, (0, 0, 0, v.size(1))))
open_dims(
    "dim_conv", nn.Conv1d(5, 4, 3, padding=1), A, dims=({2: T},), more=[(torch.rand(3, 5, 21),)]
)
open_dims(
    "dim_pool",
    lambda v: F.adaptive_avg_pool1d(v, 1),
    A,
    dims=(({2: T},),),
    more=[(torch.rand(3, 5, 21),)],
)
open_dims(
    "dim_resize",
    lambda v: F.interpolate(v, scale_factor=2, mode="bilinear"),
    x,
    dims=(({2: T, 3: B},),),
    more=[(torch.rand(2, 3, 5, 4),)],
)
open_dims(
    "dim_resize_like",
    lambda v, w: F.interpolate(v, size=w.shape[-2:]),
    x,
    torch.rand(1, 1, 5, 9),
    dims=(({}, {2: T, 3: B}),),
    more=[(x, torch.rand(1, 1, 7, 3))],
)
batch_and_time("dim_attention", lambda v: F.scaled_dot_product_attention(v, v, v, is_causal=True))
batch_and_time("dim_mask", lambda v: v[v > 0.5].sum())
open_dims(
    "dim_lstm", nn.GRU(8, 4, batch_first=True), A, dims=({0: B},), more=[(torch.rand(2, 5, 8),)]
)
