"""Order, search, indices: what is picked, and where it is put."""

import torch

from .program import function, ids, m, x

function("topk", lambda v: torch.topk(v, 3, -1), m)
function("topk_smallest", lambda v: torch.topk(v, 2, 0, largest=False, sorted=True), m)
function("sort", lambda v: torch.sort(v, 1, descending=True), m)
function("argsort", lambda v: torch.argsort(v, 0), m)
function("msort", lambda v: torch.msort(v), m)
function("kthvalue", lambda v: torch.kthvalue(v, 2, 1, True), m)
function("mode", lambda v: torch.mode(v, 1)[0], torch.tensor([[1, 2, 2, 3], [4, 4, 1, 0]]))
function("median", lambda v: torch.median(v, 1), m)
function("nanmedian", lambda v: torch.nanmedian(v), m)
function("quantile", lambda v: torch.quantile(v, 0.3, 1), m)
function("quantiles", lambda v: torch.quantile(v, torch.tensor([0.1, 0.5]), 1), m)
function("unique", lambda v: torch.unique(v), ids)
function("unique_all", lambda v: torch.unique(v, return_inverse=True, return_counts=True), ids)
function("unique_dim", lambda v: torch.unique(v, dim=0), torch.tensor([[1, 2], [0, 1], [1, 2]]))
function("unique_consecutive", lambda v: torch.unique_consecutive(v), torch.tensor([1, 1, 2, 2, 1]))
function("nonzero", lambda v: torch.nonzero(v > 0), m)
function("nonzero_tuple", lambda v: torch.where(v > 0), m)
function("masked_select", lambda v: v.masked_select(v > 0), m)
function("bool_index", lambda v: v[v > 0] * 2, m)
function("bool_index_rows", lambda v: v[v[:, 0] > -9], m)
function("argwhere", lambda v: torch.argwhere(v > 0), m)
function("index_put", lambda v, i: v.clone().index_put((i,), torch.ones(2, 5)), m, ids[0, :2])
function(
    "index_put_accumulate",
    lambda v: v.index_put((torch.tensor([1, 1]), torch.tensor([0, 0])), torch.ones(2), True),
    m,
)
function("index_two", lambda v: v[torch.tensor([0, 2]), :, torch.tensor([1, 1])], x[0])
function("index_apart", lambda v: v[:, torch.tensor([0, 2]), :, torch.tensor([[1], [2]])], x)
function("index_none", lambda v: v[..., None, 1:5:2], x)
function("scatter", lambda v, i: v.scatter(1, i, 1.5), m, ids[:, :2])
function("scatter_add", lambda v, i: v.scatter_add(1, i, torch.ones(2, 3)), m, ids)
for how in ("sum", "prod", "mean", "amax", "amin"):
    for whole in (True, False):
        function(
            f"scatter_reduce_{how}_{whole}",
            lambda v, i, a=how, b=whole: v.scatter_reduce(
                1, i, torch.full((2, 3), 2.0), a, include_self=b
            ),
            m,
            ids,
        )
for how in ("prod", "mean", "amax", "amin"):
    function(
        f"index_reduce_{how}",
        lambda v, a=how: v.index_reduce(0, torch.tensor([0, 1, 0]), torch.full((3, 5), 2.0), a),
        m,
    )
function("gather", lambda v, i: v.gather(1, i), m, ids)
function("take_along", lambda v, i: torch.take_along_dim(v, i, 1), m[:2], ids)
function("index_add", lambda v: v.index_add(0, torch.tensor([1, 1]), torch.ones(2, 5), alpha=2), m)
function("index_fill", lambda v: v.index_fill(1, torch.tensor([1, 3]), -1.0), m)
function("masked_fill", lambda v: v.masked_fill(v > 0, float("-inf")), m)
function("masked_scatter", lambda v: v.masked_scatter(v > 0, torch.arange(20.0)), m)
