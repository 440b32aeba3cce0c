"""Cases of operators that find elements by their places, of orders and of detection."""

import itertools

import torch
from tensors import b8, f32, fill, i32, i64, INF, NAN, t


def indices(c):
    x, i, j = fill((3, 4, 2), f32), t([0, -1, 2], i64), t([[1], [0]], i64)
    for name in ("index.Tensor", "_unsafe_index.Tensor"):
        c.add(name, x, [i])
        c.add(name, x, [None, t([3, 0], i64)])
        c.add(name, x, [i, t([1, 2, 3], i64)])
        c.add(name, x, [i[:2], None, t([1, 0], i64)])
        c.add(name, x, [None, i, t([1, 0, 1], i64)])
        c.add(name, x, [j, i])
    c.add("index.Tensor", x, [fill((3,), b8)])
    c.add("index.Tensor", x, [fill((3, 4), b8)])
    c.add("index.Tensor", x, [None, fill((4,), b8)])
    c.add("index.Tensor", x, [t(1, i64)])
    for name in ("index_put", "_unsafe_index_put"):
        c.add(name, x, [i], t(7.0))
        c.add(name, x, [t([0, 0], i64)], fill((2, 4, 2), f32), True)
        c.add(name, x, [None, t([1, 3], i64)], fill((3, 2, 2), f32))
        c.add(name, x, [i, t([1, 2, 3], i64)], fill((2,), f32))
    c.add("index_put", x, [fill((3,), b8)], t(5.0))
    c.add("index_put", x, [fill((3, 4, 2), b8)], t([5.0]))
    c.add("index_put", x, [i[:2], None, t([1, 0], i64)], fill((2, 4), f32))
    c.add("index_select", x, 1, t([3, 3, 0], i32))
    c.add("index_select", x, -1, t(1, i64))
    c.add("embedding", fill((5, 3), f32), t([[0, 4], [2, 2]], i64))
    c.add("take", x, t([[0, -1], [23, 5]], i64))
    g = t([[[0, 1], [2, 0]], [[1, 1], [0, 2]]], i64)
    c.add("gather", x, 0, g)
    c.add("gather", x, 1, g)
    c.add("gather", fill((3,), f32), 0, t([2, -0, 1], i64))
    s = fill((2, 2, 2), f32, 1)
    c.add("scatter.src", x, 1, g, s)
    c.add("scatter.value", x, 0, g, 9)
    c.add("scatter_add", x, 1, g, s)
    c.add("scatter.src", x, 1, g, fill((2, 3, 2), f32))
    c.add("scatter.reduce", x, 1, g, s, reduce="add")
    c.add("scatter.value_reduce", x, 1, g, 2, reduce="multiply")
    for reduce, keeps in itertools.product(("sum", "prod", "amax", "amin", "mean"), (True, False)):
        c.add("scatter_reduce.two", x, 1, g, s, reduce, include_self=keeps)
    c.add("index_add", x, 1, t([0, 0], i64), fill((3, 2, 2), f32), alpha=2)
    c.add("index_copy", x, 0, t([2, 0], i64), fill((2, 4, 2), f32))
    c.add("index_fill.int_Scalar", x, 1, t([1, 3], i64), 2)
    c.add("index_fill.int_Tensor", x, 1, t([1, 3], i64), t(2.5))
    c.add("slice_scatter", x, fill((3, 2, 2), f32), 1, 1, 3)
    c.add("slice_scatter", x, fill((3, 2, 2), f32), 1, 0, 4, 2)
    c.add("slice_scatter", x, fill((1, 4, 2), f32), 0, -1)
    c.add("select_scatter", x, fill((3, 2), f32), 1, -2)
    c.add("nonzero", fill((2, 3), f32))
    c.add("masked_select", fill((2, 3), f32), fill((3,), b8))
    c.add("masked_scatter", fill((2, 3), f32), fill((2, 3), b8), t([9.0, 8.0, 7.0, 6.0, 5.0, 4.0]))
    m = fill((3, 4), f32)
    for k in (0, 1, -1, 3, 5):
        c.add("diagonal", m, k)
    c.add("diagonal", x, 0, 2, 0)
    c.add("diagonal_copy", m)
    y = t([[3.0, 1.0, 2.0, 1.0], [0.0, -1.0, 5.0, 4.0]])
    c.add("topk", y, 2)
    c.add("topk", y, 2, 1, False)
    c.add("topk", y, 1, 0)
    c.add("sort", y, 1, True)
    c.add("sort", y)
    c.add("sort.stable", t([1, 0, 1, 0], i32), stable=True)
    c.add("argsort", t([3.0, 1.0, 2.0]))
    c.add("argsort.stable", t([1.0, 0.0, 1.0]), stable=True, descending=True)
    c.add("kthvalue", y, 2)
    c.add("median", t([3.0, 1.0, 2.0, 5.0]))
    c.add("median.dim", t([[3.0, 1.0, 2.0, 5.0]]), 1, True)
    bounds = t([1.0, 2.0, 3.0])
    for right in (False, True):
        c.add("searchsorted.Tensor", bounds, t([[0.5, 2.0], [3.0, 4.0]]), right=right)
        c.add("bucketize.Tensor", t([[0.5, 2.0], [3.0, 4.0]]), bounds, right=right, out_int32=right)
    c.add("searchsorted.Scalar", bounds, 2.5)
    c.add("bucketize.Scalar", 2.0, bounds)
    for k in (0, 1, -2):
        c.add("diag_embed", fill((2, 3), f32), k)
        c.add("diag", fill((3,), f32), k)
        c.add("diag", fill((3, 4), f32), k)
    c.add("where", fill((2, 3), b8))
    state, gates = fill((2, 3), f32) * 0.3, fill((12, 3), f32) * 0.2
    c.add("lstm_cell", fill((2, 3), f32), [state, state], gates, gates, fill((12,), f32), None)
    c.add("gru_cell", fill((2, 3), f32), state, gates[:9], gates[:9], None, fill((9,), f32))
    for name in ("rnn_tanh_cell", "rnn_relu_cell"):
        c.add(name, fill((2, 3), f32), state, gates[:3], gates[:3])
    offsets, rows = t([0, 2, 2], i64), t([1, 4, 0, 0, 3], i64)
    for mode in (0, 1, 2):
        c.add("embedding_bag", fill((5, 3), f32), rows, offsets, False, mode, n_out=1)
        c.add("embedding_bag.padding_idx", fill((5, 3), f32), rows, offsets, False, mode, False,
              None, True, 0, n_out=1)
    c.add("hann_window", 6)
    c.add("hann_window.periodic", 6, False)
    c.add("blackman_window", 5)
    c.add("one_hot", t([0, 2, 1], i64), 4)
    c.add("isin.Tensor_Tensor", t([1, 2, 3], i64), t([[2], [5]], i64))
    c.add("isin.Tensor_Scalar", t([1, 2, 3], i64), 2, invert=True)
    c.add("_unique2", t([3, 1, 3, 2], i64), True, True, True)
    c.add("meshgrid", [t([1.0, 2.0]), t([3.0, 4.0, 5.0])])
    c.add("meshgrid.indexing", [t([1.0, 2.0]), t([3.0, 4.0, 5.0])], indexing="xy")


def suppressions(c):
    """Ties, NaN, corners that are swapped, boxes without area, thresholds that f32 rounds up."""
    scores = t([0.5, 0.9, 0.5, NAN, -INF, INF, 0.9, 0.0])
    boxes = t([[k % 3, k % 2, k % 3 + 2, k % 2 + 1 + k % 4] for k in range(8)])
    swapped = t([[0, 0, 4, 4], [4, 0, 0, 4], [4, 4, 0, 0], [0, 4, 4, 0], [1, 1, 1, 3]] * 2)
    third = t([[0, 0, 2, 1], [1, 0, 3, 1], [0, 0, 2, 1]])
    for threshold in (0.0, 0.3, 1 / 3, 0.5, 1.0):
        c.add("torchvision::nms", boxes, scores, threshold)
        c.add("torchvision::nms", boxes, t([1.0] * 8), threshold)
        c.add("torchvision::nms", swapped, torch.arange(10.0) % 4, threshold)
        c.add("torchvision::nms", third, t([1.0, 1.0, 2.0]), threshold)
    c.add("torchvision::nms", torch.zeros(0, 4), torch.zeros(0), 0.5)
