"""Cases of operators that are made of several others: running extremes, quantiles, counts, stacks,
products, inverses, losses."""

import torch
from tensors import b8, edge, f16, f32, f64, fill, i32, i64, i8, INF, NAN, t, u8, unit


def orders(c):
    x, y = fill((3, 4), f32), t([[3.0, 1.0, NAN, 1.0], [0.0, INF, 5.0, -INF]])
    for name in ("cummax", "cummin"):
        c.add(name, x, 0)
        c.add(name, y, -1)
        c.add(name, fill((7,), i32), 0)
        c.add(name, fill((2, 5), b8), 1)
        c.add(name, t(1.5), 0)
        c.add(name, torch.zeros(2, 0), 1)
    c.add("logcumsumexp", x, 1)
    c.add("logcumsumexp", t([[-INF, -INF, 1.0, -INF], [INF, 0.0, INF, -90.0]]), 1)
    c.add("mode", t([[1, 2, 2, 3], [4, 4, 1, 1]], i64), 1)
    c.add("mode", t([[1.0, 2.0], [1.0, 3.0], [0.0, 3.0]]), 0, True)
    c.add("nanmedian", y, n_out=1)
    c.add("nanmedian.dim", y, 1)
    c.add("nanmedian.dim", t([[NAN, NAN], [1.0, 2.0]]), 0, True)
    c.add("nanmedian.dim", fill((2, 5), i32), 1)
    c.add("nanmean", y, [1])
    c.add("nanmean", y)
    c.add("msort", x)
    for how in ("linear", "lower", "higher", "nearest", "midpoint"):
        c.add("quantile.scalar", x, 0.3, 1, interpolation=how)
        c.add("quantile", x, t([0.1, 0.5, 1.0]), 0, True, interpolation=how)
    c.add("quantile.scalar", x, 0.25)
    c.add("quantile", x, t(0.75), None, True)
    c.add("quantile", y, t([0.0, 0.4]), 1)
    c.add("nanquantile.scalar", y[:1], 0.5, 1)
    c.add("nanquantile", y[:1], t([0.25, 1.0]), 1, True)
    c.add("unique_dim", t([[1, 2], [0, 1], [1, 2]], i64), 0, True, True, True)
    c.add("unique_dim", t([[1, 2, 1], [0, 1, 0]], i32), 1, True, True, True)
    c.add("unique_consecutive", t([1, 1, 2, 2, 1], i64), True, True)
    c.add("unique_consecutive", t([[3.0, 3.0], [3.0, 1.0]]), True, True)
    c.add("argwhere", fill((2, 3), f32))
    c.add("bincount", t([1, 1, 4], i64))
    c.add("bincount", t([1, 1, 4], i32), None, 7)
    c.add("bincount", t([1, 1, 4], i64), t([0.5, 0.25, 2.0]))
    c.add("bincount", torch.zeros(0, dtype=i64), None, 3)
    c.add("histc", x, 4, -1, 1)
    c.add("histc", x, 5)
    c.add("histc", t([2.0, 2.0]), 3)
    c.add("repeat_interleave.Tensor", t([2, 0, 3], i64))
    c.add("repeat_interleave.self_Tensor", x, t([2, 0, 1], i64), 0)
    c.add("repeat_interleave.self_Tensor", x, t([2, 0, 1, 1], i64), -1)
    c.add("repeat_interleave.self_Tensor", x, t([2], i64))


def places(c):
    x, m = fill((3, 4, 2), f32), fill((3, 4), f32)
    for how in ("prod", "mean", "amax", "amin"):
        for keeps in (True, False):
            index, source = t([0, 2, 0], i64), fill((3, 3, 2), f32, 1)
            c.add("index_reduce", x, 1, index, source, how, include_self=keeps)
    c.add("take_along_dim", m, t([[0], [3], [1]], i64), 1)
    c.add("take_along_dim", m, t([[0, 2, 1, 1]], i64), 0)
    c.add("take_along_dim", m, t([[0, 11]], i64))
    for k in (0, 1, -1):
        c.add("diagonal_scatter", m, torch.diagonal(m, k) + 9, k)
    c.add("diagonal_scatter", x, torch.diagonal(x, 0, 2, 0) + 9, 0, 2, 0)
    for k in (0, 1, 2, 3, -1):
        c.add("rot90", x, k, [0, 1])
    c.add("rot90", x, 1, [2, 0])
    for name in ("tril_indices", "triu_indices"):
        c.add(name, 3, 4)
        c.add(name, 3, 4, 1)
        c.add(name, 4, 2, -1)
    for name in ("hsplit", "vsplit"):
        c.add(name + ".int", fill((4, 4), f32), 2)
        c.add(name + ".array", fill((4, 4), f32), [1, 3])
    c.add("hsplit.int", fill((4,), f32), 2)
    c.add("dsplit.int", fill((1, 2, 4), f32), 4)
    c.add("dsplit.array", fill((1, 2, 4), f32), [3, 1])
    c.add("tensor_split.indices", m, [1, 2, -1], 1)


def together(c):
    v, m = fill((3,), f32), fill((2, 3), f32)
    for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
        c.add(name, [v, v + 1])
        c.add(name, [m, fill((2, 3), i32)])
        c.add(name, [t(1.0), t(2.0)])
    c.add("block_diag", [m, v, t(5.0)])
    c.add("block_diag", [fill((1, 2), b8), fill((2, 1), b8)])
    c.add("cartesian_prod", [v, v[:2] + 1])
    c.add("cartesian_prod", [v])
    c.add("kron", m, fill((2, 2), f32))
    c.add("kron", v, m)
    c.add("tensordot", fill((2, 3, 4), f32), fill((4, 3, 5), f32), [1, 2], [1, 0])
    c.add("tensordot", m, m, [], [])
    c.add("linalg_multi_dot", [m, m.T.contiguous(), m])
    for p in (2.0, 1.0, INF):
        c.add("pdist", fill((4, 3), f32), p)
    c.add("_pdist_forward", fill((4, 3), f32))
    pooled = fill((1, 2, 2, 2), f32)
    at = t([[[[0, 3], [9, 10]], [[5, 2], [8, 15]]]], i64)
    c.add("max_unpool2d", pooled, at, [4, 4])
    c.add("logspace", 0, 2, 5)
    c.add("logspace", -1.0, 1.0, 3, 2.0, dtype=f64)
    a = t([[0.0, 2.0, 1.0], [1.0, 0.5, 0.0], [3.0, 1.0, 4.0]])
    for name in ("linalg_inv", "inverse"):
        c.add(name, a)
    c.add("linalg_inv_ex", torch.stack([a, a.T + 1]).to(f64))
    c.add("linalg_solve", a, fill((3, 2), f32))
    c.add("linalg_solve", a, v)
    large = torch.eye(33).flip(0) * 2 + torch.eye(33).roll(1, 0)
    c.add("linalg_solve", large, torch.arange(33.0))
    for name in ("linalg_det", "det", "linalg_slogdet", "slogdet"):
        c.add(name, a)
    c.add("logdet", a @ a.T + torch.eye(3))
    c.add("trace", m)
    c.add("trace", fill((3, 2), i32))
    c.add("linalg_matrix_norm.str_ord", fill((2, 3, 4), f32))
    for order in (1, -1, INF, -INF):
        c.add("linalg_matrix_norm", fill((2, 3, 4), f32), order, [0, 2], True)


def elements(c):
    x, y = fill((2, 3), f32), fill((3,), f32, 1)
    c.add("hypot", x, y)
    c.add("hypot", t([1e30, INF, 0.0, -3.0]), t([1e30, NAN, 0.0, 4.0]))
    c.add("copysign.Tensor", x, y)
    c.add("copysign.Tensor", t([1.0, -2.0, 3.0]), t([-0.0, 0.0, -INF]))
    c.add("copysign.Scalar", fill((3,), i32), -1.5)
    c.add("signbit", t([1.0, -2.0, 0.0, -0.0, INF]))
    c.add("signbit", fill((3,), i32))
    for name in ("logaddexp", "logaddexp2"):
        c.add(name, x, y)
        c.add(name, t([INF, -INF, -INF, 90.0]), t([INF, -INF, 1.0, 90.0]))
    c.add("heaviside", edge(), torch.full((6,), 0.5))
    for name in ("erfinv", "special_erfinv"):
        c.add(name, t([-1.0, -0.9, -0.3, 0.0, 0.5, 0.71, 0.999, 1.0, 1.5]))
    c.add("special_entr", t([-1.0, 0.0, 0.5, 1.0, 3.0, NAN]))
    c.add("special_ndtr", x)
    c.add("clamp", fill((5,), u8), -1, 2)
    c.add("clamp", fill((5,), i8), -300, 300)
    c.add("clamp_max", fill((5,), u8), 300)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        for reduction in (0, 1, 2):
            c.add(name, x, y.expand(2, 3).contiguous(), reduction)
    c.add("smooth_l1_loss", x, x * 0.3, 0, 0.5)
    c.add("huber_loss", x, x * 0.3, 0, 0.5)
    p = unit((2, 3)) / 3
    c.add("binary_cross_entropy_with_logits", x, p)
    c.add("binary_cross_entropy_with_logits", x, p, unit((3,)), unit((3,)) + 1, 0)
    c.add("kl_div", x, p, 2)
    c.add("kl_div", x, torch.zeros(2, 3), 1)
    c.add("kl_div", x, x / 2, 0, log_target=True)


def composed(c):
    for part in (orders, places, together, elements):
        part(c)
