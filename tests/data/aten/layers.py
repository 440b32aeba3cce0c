"""Cases of products and layers of networks."""

import itertools

import torch
from tensors import b8, f32, f64, fill, i32, i64, INF, NAN, t, unit


def products(c):
    a, b, v = fill((2, 3), f32), fill((3, 4), f32, 1), fill((3,), f32, 2)
    batch = fill((2, 2, 3), f32)
    for x, y in (
        (a, b),
        (a, v),
        (v, b),
        (v, v),
        (batch, b),
        (batch, v),
        (v, fill((2, 3, 2), f32)),
        (fill((2, 3), i32), fill((3, 2), i64).to(i32)),
    ):
        c.add("matmul", x, y)
    c.add("mm", a, b)
    c.add("_add_relu.Tensor", a, v, alpha=2)
    rows, matrices = fill((5, 8), f32), fill((3, 8, 4), f32, 1)
    c.add("_grouped_mm", rows, matrices, offs=t([2, 2, 5], i32))
    c.add("_grouped_mm", rows, matrices, offs=t([0, 1, 5], i32), out_dtype=f32)
    c.add("bmm", batch, fill((2, 3, 1), f32))
    c.add("mv", a, v)
    c.add("dot", v, v)
    c.add("linear", a, fill((4, 3), f32), fill((4,), f32))
    c.add("linear", batch, fill((4, 3), f32))
    c.add("linear", v, fill((4, 3), f32), fill((4,), f32))
    c.add("addmm", fill((4,), f32), a, b)
    c.add("addmm", fill((2, 4), f32), a, b, beta=0.5, alpha=2)
    c.add("addmm", t([[NAN]]), a, b, beta=0)
    c.add("addmv", fill((2,), f32), a, v, beta=2, alpha=0.5)
    c.add("baddbmm", fill((2, 2, 1), f32), batch, fill((2, 3, 1), f32), beta=2, alpha=0.5)
    c.add("vdot", v, v)
    c.add("bilinear", a, fill((2, 2), f32), fill((4, 3, 2), f32), fill((4,), f32))
    c.add("linalg_norm", a)
    c.add("linalg_norm", a, 1, [1])
    c.add("outer", v, fill((2,), f32))
    c.add("ger", v, fill((2,), f32))
    c.add("einsum", "bij,jk->bik", [batch, b])
    q, k, w = fill((1, 2, 3, 4), f32), fill((1, 2, 5, 4), f32, 1), fill((1, 2, 5, 4), f32, 2)
    c.add("scaled_dot_product_attention", q, k, w)
    c.add("scaled_dot_product_attention", q, k, w, None, 0.0, True)
    c.add("scaled_dot_product_attention", q, k, w, fill((3, 5), b8))
    c.add("scaled_dot_product_attention", q, k, w, fill((3, 5), f32), scale=0.3)
    c.add("scaled_dot_product_attention", fill((1, 4, 3, 4), f32), k, w, enable_gqa=True)
    transformers(c)
    for p in (2.0, 1.0, INF, 3.0, 0.0):
        c.add("cdist", a, fill((4, 3), f32, 1), p)
        c.add("_cdist_forward", a, fill((4, 3), f32, 1), p, None)
    c.add("pairwise_distance", a, fill((2, 3), f32, 1))
    c.add("cosine_similarity", a, fill((2, 3), f32, 1))
    c.add("cosine_similarity", torch.zeros(1, 3), fill((1, 3), f32))


def transformers(c):
    x, w, b = fill((2, 3, 4), f32), fill((12, 4), f32, 1), fill((12,), f32, 2)
    out = fill((4, 4), f32, 3), fill((4,), f32, 4)
    masks = (
        (None, None),
        (t([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).bool(), 0),
        (t([[0, 0, 1], [0, 1, 1]]).bool(), 1),
        (fill((2, 2, 3, 3), f32, 5) > 0.5, 2),
    )
    for mask, kind in masks:
        c.add("_native_multi_head_attention", x, x, x, 4, 2, w, b, *out, mask, mask_type=kind)
    c.add("_native_multi_head_attention", x, x, x, 4, 2, w, b, *out, None, True, False)
    c.add("_native_multi_head_attention", x, x, x, 4, 1, w, b, *out, None, False, n_out=1)
    norms = [fill((4,), f32, k) for k in range(4)]
    ffn = fill((5, 4), f32, 1), fill((5,), f32), fill((4, 5), f32, 2), fill((4,), f32, 3)
    for gelu, first, (mask, kind) in (
        (False, False, masks[0]),
        (True, False, masks[1]),
        (False, True, masks[2]),
    ):
        c.add("_transformer_encoder_layer_fwd", x, 4, 2, w, b, *out, gelu, first, 1e-5, *norms,
              *ffn, mask, kind)


def layers(c):
    x, w, bias = fill((1, 2, 5, 5), f32), fill((4, 2, 3, 3), f32, 1), fill((4,), f32)
    c.add("conv2d", x, w, bias)
    c.add("conv2d", x, w, None, [2], [1])
    c.add("conv2d", x[0], w, bias, [1, 2], [1, 0], [2, 1])
    c.add("conv2d", x, fill((4, 1, 3, 3), f32), bias, 1, 1, 1, 2)
    c.add("conv2d.padding", x, fill((4, 2, 2, 4), f32), bias, 1, "same")
    c.add("conv2d.padding", x, w, bias, 2, "valid")
    c.add("conv1d", fill((1, 2, 6), f32), fill((3, 2, 3), f32), None, 2, 1)
    c.add("conv1d.padding", fill((1, 2, 6), f32), fill((3, 2, 4), f32), None, 1, "same")
    c.add("conv3d", fill((1, 1, 3, 3, 3), f32), fill((2, 1, 2, 2, 2), f32), fill((2,), f32))
    c.add("conv3d.padding", fill((1, 1, 3, 3, 3), f32), fill((2, 1, 2, 2, 2), f32), None, 1, "same")
    wt = fill((2, 3, 3, 3), f32)
    c.add("conv_transpose2d.input", x, wt, fill((3,), f32), 2, 1, 1)
    c.add("conv_transpose2d.input", x, fill((2, 2, 3, 3), f32), None, 1, 0, 0, 2, 2)
    c.add("conv_transpose1d", fill((1, 2, 4), f32), fill((2, 3, 3), f32), None, 2)
    c.add("conv_transpose3d.input", fill((1, 1, 2, 2, 2), f32), fill((1, 2, 2, 2, 2), f32))
    c.add("convolution", x, w, bias, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    c.add("convolution", x, wt, None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1)
    old = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True)
    c.add("_convolution.deprecated", x, w, bias, *old)
    p = fill((1, 2, 5, 6), f32)
    c.add("max_pool2d", p, [2, 2])
    c.add("max_pool2d", p, [3], [2], [1], [1], True)
    c.add("max_pool2d", p, [2, 3], [1, 2], [1, 1], [2, 1])
    c.add("max_pool2d_with_indices", p, [3], [2], [1], [1], True)
    c.add("max_pool2d_with_indices", p, [2, 2])
    c.add("max_pool2d", p, [2], [3], [0], [1], True)
    c.add("max_pool1d", fill((1, 2, 7), f32), [3], [2], [1], [1], True)
    c.add("max_pool1d_with_indices", fill((1, 2, 7), f32), [3], [2], [1])
    c.add("max_pool3d", fill((1, 1, 3, 4, 4), f32), [2])
    c.add("max_pool3d_with_indices", fill((1, 1, 3, 4, 4), f32), [2])
    for ceil, counts in itertools.product((False, True), (False, True)):
        c.add("avg_pool2d", p, [3], [2], [1], ceil, counts)
        c.add("avg_pool1d", fill((1, 2, 7), f32), [3], [2], [1], ceil, counts)
        c.add("avg_pool2d", p, [2, 3], [3, 2], [0, 1], ceil, counts)
    c.add("avg_pool2d", p, [3], [2], [1], False, True, 5)
    c.add("avg_pool3d", fill((1, 1, 3, 4, 4), f32), [2])
    c.add("avg_pool2d", p[0], [2])
    for size in ([1, 1], [2, 3], [3, 4], [5, 6], [7, 7]):
        c.add("adaptive_avg_pool2d", p, size)
        c.add("_adaptive_avg_pool2d", p, size)
    c.add("adaptive_avg_pool1d", fill((1, 2, 7), f32), [3])
    c.add("adaptive_avg_pool3d", fill((1, 1, 3, 4, 4), f32), [2, 2, 2])
    c.add("_adaptive_avg_pool3d", fill((1, 1, 3, 4, 4), f32), [2, 2, 2])
    c.add("adaptive_max_pool2d", p, [3, 4], n_out=1)
    c.add("adaptive_max_pool2d", p, [5, 3])
    c.add("adaptive_max_pool1d", fill((1, 2, 7), f32), [3], n_out=1)
    c.add("adaptive_max_pool3d", fill((1, 1, 2, 4, 4), f32), [2, 2, 2])
    c.add("im2col", p, [2, 3], [1, 1], [1, 0], [2, 1])
    c.add("col2im", fill((1, 8, 12), f32), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    n, m, s = fill((2, 4, 3), f32), fill((4,), f32), unit((4,))
    c.add("batch_norm", n, m, fill((4,), f32, 1), m, s, False, 0.1, 1e-3, False)
    c.add("batch_norm", n, None, None, m, s, False, 0.1, 1e-5, False)
    c.add("batch_norm", n, m, s, None, None, True, 0.1, 1e-3, False)
    c.add("batch_norm", n, None, None, None, None, True, 0.1, 1e-5, False)
    c.add("_native_batch_norm_legit_no_training", n, m, None, m, s, 0.1, 1e-5, n_out=1)
    c.add("native_batch_norm", n, m, None, m, s, False, 0.1, 1e-5, n_out=1)
    c.add("instance_norm", n, None, None, None, None, True, 0.1, 1e-5, False)
    c.add("instance_norm", n, m, m, None, None, True, 0.1, 1e-5, False)
    c.add("layer_norm", n, [3], fill((3,), f32), fill((3,), f32, 1))
    c.add("layer_norm", n, [4, 3])
    c.add("native_layer_norm", n, [3], fill((3,), f32), None, 1e-3)
    c.add("rms_norm", n, [3], fill((3,), f32))
    c.add("rms_norm", n, [4, 3], None, 1e-3)
    c.add("group_norm", n, 2, m, m)
    c.add("group_norm", n, 4)
    c.add("native_group_norm", n, m, None, 2, 4, 3, 2, 1e-5, n_out=1)
    c.add("_weight_norm", fill((2, 3), f32), t([[1.0], [2.0]]))
    img = fill((1, 2, 3, 4), f32)
    for size in ([6, 8], [5, 7], [2, 2]):
        c.add("upsample_nearest2d", img, size)
        c.add("_upsample_nearest_exact2d", img, size)
        for align in (False, True):
            c.add("upsample_bilinear2d", img, size, align)
            c.add("upsample_bicubic2d", img, size, align)
        c.add("_upsample_bilinear2d_aa", img, size, False)
        c.add("_upsample_bicubic2d_aa", img, size, False)
    c.add("upsample_nearest2d.vec", img, None, [2.0, 1.5])
    c.add("upsample_bilinear2d.vec", img, None, False, [1.7, 2.0])
    c.add("upsample_bicubic2d.vec", img, [5, 5], False, None)
    c.add("upsample_nearest1d", img[0], [7])
    c.add("upsample_linear1d", img[0], [7], False)
    c.add("upsample_linear1d.vec", img[0], None, True, [2.0])
    c.add("upsample_nearest1d.vec", img[0], [8], None)
    vol = fill((1, 1, 2, 3, 2), f32)
    c.add("upsample_nearest3d", vol, [4, 3, 3])
    c.add("upsample_trilinear3d", vol, [3, 4, 2], False)
    c.add("upsample_nearest3d.vec", vol, None, [2.0, 1.0, 2.0])
    c.add("upsample_trilinear3d.vec", vol, [3, 3, 3], True, None)
    grid = fill((1, 2, 3, 2), f32) * 0.58
    for mode, padding, align in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
        c.add("grid_sampler", img, grid, mode, padding, align)
    for exact in ("upsample_nearest", "_upsample_nearest_exact"):
        c.add(f"{exact}1d", img[0], [7])
        c.add(f"{exact}1d.vec", img[0], None, [1.5])
        c.add(f"{exact}2d.vec", img, None, [1.5, 0.7])
        c.add(f"{exact}3d", fill((1, 1, 2, 3, 2), f32), [3, 4, 5])
        c.add(f"{exact}3d.vec", fill((1, 1, 2, 3, 2), f32), [3, 4, 5], None)
    c.add("_upsample_bilinear2d_aa.vec", img, [2, 3], False, None)
    c.add("_upsample_bicubic2d_aa.vec", img, [2, 3], False, None)
    cube = fill((1, 1, 2, 3, 2), f32)
    c.add("grid_sampler_3d", cube, fill((1, 1, 2, 2, 3), f32) * 0.37, 0, 0, False)
    c.add("grid_sampler", cube, fill((1, 1, 2, 2, 3), f32) * 0.37, 0, 1, True)
    for name in ("alias_copy", "detach_copy", "resolve_conj", "resolve_neg", "real", "conj"):
        c.add(name, img)
    for name in ("alpha_dropout", "feature_dropout"):
        c.add(name, img, 0.5, False)
    c.add("clip.Tensor", img, t(-1.0), t(1.0))
    c.add("_prelu_kernel", img, fill((1, 2, 1, 1), f32))
    c.add("norm.ScalarOpt_dim_dtype", img, 2, [1], True, dtype=f64)
    c.add("special_softmax", img, 1)
    c.add("special_log_softmax", img, 1, dtype=f64)
    c.add("to.dtype_layout", img, dtype=f64)
    c.add("_reshape_alias", img, [2, 12], [12, 1])
    c.add("grid_sampler_2d", img, grid, 0, 0, False)
    c.add("affine_grid_generator", t([[[1.0, 0.5, 0.1], [0.0, 1.0, -0.2]]]), [1, 1, 2, 3], False)
    for pad in ([1, 2], [1, 0, 2, 1], [-1, 1], [-1, -1, 1, 0]):
        c.add("constant_pad_nd", img, pad, 1.5)
        c.add("pad", img, pad, "constant", 2.0)
    c.add("pad", img, [1, 2], "constant")
    c.add("reflection_pad2d", img, [1, 2, 1, 0])
    c.add("replication_pad2d", img, [1, 2, 1, 0])
    c.add("reflection_pad1d", img[0], [2, 1])
    c.add("replication_pad1d", img[0], [2, 1])
    c.add("pad", img, [1, 2, 1, 0], "reflect")
    c.add("pad", img, [1, 2, 1, 0], "replicate")
    c.add("pad", img, [1, 2, 1, 0], "circular")
    c.add("_pad_circular", img, [1, 2, 1, 0])
    c.add("replication_pad3d", vol, [1, 0, 1, 1, 0, 1])
    c.add("reflection_pad3d", vol, [1, 0, 1, 1, 0, 1])
    seq, h = fill((4, 2, 3), f32), fill((1, 2, 3), f32, 1) * 0.3

    def weights(gates, size, n):
        return [
            fill(s, f32, k) * 0.2
            for k in range(n)
            for s in ((gates * 3, size), (gates * 3, 3), (gates * 3,), (gates * 3,))
        ]

    c.add("gru.input", seq, h, weights(3, 3, 1), True, 1, 0.0, False, False, False)
    c.add(
        "gru.input",
        seq,
        fill((2, 2, 3), f32) * 0.3,
        weights(3, 3, 2),
        True,
        1,
        0.0,
        False,
        True,
        False,
    )
    for name in ("rnn_tanh.input", "rnn_relu.input"):
        c.add(name, seq, h, weights(1, 3, 1), True, 1, 0.0, False, False, False)
        c.add(name, fill((2, 4, 3), f32), h, weights(1, 3, 1), True, 1, 0.0, False, False, True)
