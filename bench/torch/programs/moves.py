"""Elements in other places: turned, repeated, joined, split."""

import torch

from .program import function, m

function("roll", lambda v: torch.roll(v, (1, -2), (0, 1)), m)
function("flip", lambda v: torch.flip(v, (0, 1)), m)
function("rot90", lambda v: torch.rot90(v, 1, (0, 1)), m)
function("tri", lambda v: (v.tril(-1), v.triu(1)), m)
function("tril_indices", lambda v: v[:4, :4][torch.tril_indices(4, 4).unbind()], m)
function("tile", lambda v: (v.tile(2, 3), v.repeat(2, 1, 2), v.repeat_interleave(2, 1)), m)
function("repeat_tensor", lambda v: v.repeat_interleave(torch.tensor([1, 0, 2, 1]), 0), m)
function("unfold", lambda v: v.unfold(1, 3, 2), m)
function("strided", lambda v: torch.as_strided(v, (2, 3), (1, 2), 1), m)
function("splits", lambda v: (*v.split([1, 4], 1), *v.chunk(3, 1), *v.tensor_split(2, 0)), m)
function("hsplit", lambda v: (*torch.hsplit(v, 2), *torch.vsplit(v, 2)), torch.rand(4, 4))
function(
    "stacks",
    lambda v: (
        torch.stack([v, v], 1),
        torch.hstack([v, v]),
        torch.vstack([v, v]),
        torch.dstack([v, v]),
    ),
    m,
)
function("block_diag", lambda v: torch.block_diag(v, v), m)
function("cartesian", lambda v: torch.cartesian_prod(v[0], v[1]), m)
function("meshgrid", lambda v: torch.meshgrid(v[0], v[:, 0], indexing="ij"), m)
