"""Small programs for models.py: what networks are made of, one thing each, and what is rare in them.

A program is a module and sets of arguments, which are run in order on one module."""

import dataclasses
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclasses.dataclass
class Program:
    model: nn.Module
    sets: list
    dynamic: object = None


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


MADE = {}


def made(*sets, dynamic=None):
    def add(cls):
        MADE[cls.__name__] = lambda: Program(cls(), list(sets), dynamic)
        return cls

    return add


def function(name, f, *args, dynamic=None, more=()):
    MADE[name] = lambda: Program(Calls(f), [args, *more], dynamic)


def layer(name, make, *args):
    MADE[name] = lambda: Program(make(), [args])


def all_of_them():
    return MADE.items()


# ---- functions of tensors ----

x, y = torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)
m = torch.rand(4, 5) - 0.5
ids = torch.tensor([[0, 2, 1], [3, 3, 0]])
for mode, corners in (
    ("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True),
    ("bicubic", False), ("bicubic", True), ("area", None),
):  # fmt: skip
    for size in ((5, 11), (16, 16)):
        function(
            f"resize_{mode}_{corners}_{size[1]}",
            lambda v, size=size, mode=mode, corners=corners: F.interpolate(
                v, size=size, mode=mode, align_corners=corners
            ),
            x,
        )
    function(
        f"resize_{mode}_{corners}_scale",
        lambda v, mode=mode, corners=corners: F.interpolate(
            v, scale_factor=(1.7, 0.6), mode=mode, align_corners=corners
        ),
        x,
    )
for mode in ("bilinear", "bicubic"):
    function(
        f"resize_{mode}_antialias",
        lambda v, mode=mode: F.interpolate(v, size=(5, 6), mode=mode, antialias=True),
        x,
    )
for mode in ("linear", "nearest"):
    function(
        f"resize_1d_{mode}",
        lambda v, mode=mode: F.interpolate(v, size=11, mode=mode),
        torch.rand(2, 3, 7),
    )
for mode in ("trilinear", "nearest"):
    function(
        f"resize_3d_{mode}",
        lambda v, mode=mode: F.interpolate(v, size=(3, 5, 9), mode=mode),
        torch.rand(1, 2, 4, 6, 7),
    )
for mode in ("bilinear", "nearest", "bicubic"):
    for pad in ("zeros", "border", "reflection"):
        for corners in (False, True):
            function(
                f"grid_{mode}_{pad}_{corners}",
                lambda v, g, a=mode, b=pad, c=corners: F.grid_sample(v, g, a, b, c),
                x,
                torch.rand(2, 4, 5, 2) * 3 - 1.5,
            )
function(
    "affine_grid",
    lambda v, t: F.grid_sample(v, F.affine_grid(t, v.size(), False), align_corners=False),
    x,
    torch.rand(2, 2, 3),
)
for mode, value in (("constant", 1.5), ("reflect", 0.0), ("replicate", 0.0), ("circular", 0.0)):
    function(f"pad_{mode}", lambda v, a=mode, b=value: F.pad(v, (1, 2, 3, 0), a, b), x)
function("pad_negative", lambda v: F.pad(v, (-1, 2, 0, -3)), x)
for text, shapes in {
    "ij,jk->ik": [(3, 4), (4, 5)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
    "bhqd,bhkd->bhqk": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "ii->i": [(4, 4)],
    "ij->": [(4, 4)],
    "i,j->ij": [(3,), (4,)],
    "bn,anm,bm->ba": [(2, 3), (5, 3, 4), (2, 4)],
    "...ij->...ji": [(2, 3, 4)],
    "nctkv,kvw->nctw": [(2, 3, 4, 2, 5), (2, 5, 5)],
}.items():
    function(
        f"einsum_{text.replace(' ', '')}",
        lambda *a, t=text: torch.einsum(t, *a),
        *(torch.rand(s) for s in shapes),
    )
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
function("cumulative", lambda v: (v.cumsum(0), v.cumprod(1), v.cummax(0), v.cummin(1)), m)
function("logcumsumexp", lambda v: v.logcumsumexp(1), m)
function("diff", lambda v: torch.diff(v, dim=1), m)
function("roll", lambda v: torch.roll(v, (1, -2), (0, 1)), m)
function("flip", lambda v: torch.flip(v, (0, 1)), m)
function("rot90", lambda v: torch.rot90(v, 1, (0, 1)), m)
function("tri", lambda v: (v.tril(-1), v.triu(1)), m)
function("tril_indices", lambda v: v[:4, :4][torch.tril_indices(4, 4).unbind()], m)
function("tile", lambda v: (v.tile(2, 3), v.repeat(2, 1, 2), v.repeat_interleave(2, 1)), m)
function("repeat_tensor", lambda v: v.repeat_interleave(torch.tensor([1, 0, 2, 1]), 0), m)
function("unfold", lambda v: v.unfold(1, 3, 2), m)
function("im2col", lambda v: F.unfold(v, (3, 2), padding=1, stride=2), x)
function("col2im", lambda v: F.fold(v, (5, 5), (2, 2)), torch.rand(1, 8, 16))
function(
    "shuffles", lambda v: (F.pixel_shuffle(v, 2), F.pixel_unshuffle(v, 2)), torch.rand(1, 4, 4, 4)
)
function("channel_shuffle", lambda v: F.channel_shuffle(v, 2), torch.rand(1, 4, 4, 4))
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
function("kron", lambda v: torch.kron(v, v), m)
function("outer", lambda v: (torch.outer(v[0], v[1]), torch.dot(v[0], v[1]), torch.mv(v, v[0])), m)
function("cross", lambda v: torch.linalg.cross(v[:, :3], v[:, 1:4]), m)
function("tensordot", lambda v: torch.tensordot(v, v, ([1], [1])), m)
function("addmm", lambda v: torch.addmm(v[0], v, torch.ones(5, 5), beta=0.5, alpha=2), m)
function(
    "baddbmm",
    lambda v: torch.baddbmm(torch.ones(2, 4, 4), v, v.mT, beta=2, alpha=0.1),
    torch.rand(2, 4, 5),
)
function(
    "addcmul", lambda v: (torch.addcmul(v, v, v, value=2), torch.addcdiv(v, v, v + 3, value=2)), m
)
function("cdist", lambda v: (torch.cdist(v, v + 1), torch.cdist(v, v + 1, p=1.0)), m)
function("pdist", lambda v: torch.pdist(v), m)
function(
    "norms",
    lambda v: (
        v.norm(),
        v.norm(1, 1),
        torch.linalg.norm(v, 2, 1),
        torch.linalg.vector_norm(v, float("inf")),
        torch.linalg.matrix_norm(v),
    ),
    m,
)
function("normalize", lambda v: F.normalize(v, dim=1), m)
function("cosine", lambda v: F.cosine_similarity(v, v + 1), m)
function("lerp", lambda v: torch.lerp(v, v + 1, 0.3), m)
function(
    "moments",
    lambda v: (v.var(1), v.std(0, unbiased=False), torch.var_mean(v, 1), torch.std_mean(v)),
    m,
)
function(
    "extremes",
    lambda v: (v.max(), v.min(1), v.amax((0, 1)), v.argmax(1, True), v.aminmax(dim=1), v.argmin()),
    m,
)
function(
    "logic",
    lambda v: (
        (v > 0).any(1),
        (v > 0).all(),
        (v > 0).sum(0),
        torch.count_nonzero(v > 0, 1),
        torch.isclose(v, v),
        torch.equal(v, v),
    ),
    m,
)
function(
    "logsumexp",
    lambda v: (v.logsumexp((0, 1)), v.log_softmax(1), v.softmax(0, dtype=torch.float64)),
    m,
)
function(
    "nans",
    lambda v: (
        torch.nan_to_num(v / 0),
        torch.isnan(v),
        torch.isinf(v),
        torch.nansum(v),
        torch.nanmean(v),
    ),
    m,
)
function(
    "special",
    lambda v: (
        torch.erf(v),
        torch.erfc(v),
        torch.erfinv(v),
        torch.lgamma(v + 2),
        torch.digamma(v + 2),
        torch.special.expit(v),
        torch.logit(v + 0.5, 1e-3),
        torch.special.i0(v),
        torch.xlogy(v, v + 1),
        torch.sinc(v),
        torch.expm1(v),
        torch.log1p(v),
    ),
    m,
)
function(
    "trig",
    lambda v: (
        v.sin(),
        v.cos(),
        v.tan(),
        v.asin(),
        v.acos(),
        v.atan(),
        v.sinh(),
        v.cosh(),
        v.asinh(),
        (v + 2).acosh(),
        v.atanh(),
        torch.atan2(v, v + 1),
        torch.hypot(v, v),
    ),
    m,
)
function(
    "rounding",
    lambda v: (
        v.round(decimals=1),
        v.trunc(),
        v.frac(),
        v.floor(),
        v.ceil(),
        v.sign(),
        torch.fmod(v, 0.3),
        torch.remainder(v, -0.3),
        torch.copysign(v, -v),
        torch.heaviside(v, v),
    ),
    m,
)
function("bits", lambda v: (v & 1, v | 4, v ^ 3, ~v, v << 2, v >> 1, torch.bitwise_and(v, 6)), ids)
function(
    "integers",
    lambda v: (
        v // 2,
        v % 3,
        v / 2,
        torch.div(v, 2, rounding_mode="trunc"),
        v**2,
        torch.gcd(v, v + 2),
        torch.lcm(v, v + 2),
    ),
    ids,
)
function(
    "buckets",
    lambda v: (
        torch.bucketize(v, torch.tensor([-0.2, 0.1])),
        torch.histc(v, 4, -1, 1),
        torch.searchsorted(torch.tensor([-0.2, 0.1]), v),
    ),
    m,
)
function("bincount", lambda v: torch.bincount(v.flatten(), minlength=6), ids)
function("one_hot", lambda v: F.one_hot(v, 5), ids)
function(
    "creation",
    lambda v: (
        torch.arange(v.size(0)),
        torch.linspace(0, 1, 5),
        torch.logspace(0, 2, 3),
        torch.eye(3, 4),
        torch.zeros_like(v),
        v.new_full((2, 2), 3),
        torch.full((2,), True),
        torch.hann_window(5),
        torch.hamming_window(6),
    ),
    m,
)
function("constants", lambda v: v + torch.tensor([[1.0], [2.0], [3.0], [4.0]]), m)
function(
    "clamps",
    lambda v: (v.clamp(-0.1, 0.2), v.clamp(min=0.1), v.clamp(max=torch.tensor(0.1)), v.clip(0, 1)),
    m,
)
function(
    "casts",
    lambda v: (
        v.half(),
        v.double(),
        v.int(),
        v.bool(),
        v.to(torch.bfloat16).float(),
        v.long(),
        v.to(torch.int8),
    ),
    m,
)
function("half", lambda v: v @ v.T + v.sum(), m.half())
function("where", lambda v: (torch.where(v > 0, v, 0.5), torch.where(v > 0, 1, 0)), m)
function(
    "losses",
    lambda v: (
        F.mse_loss(v, v + 1),
        F.l1_loss(v, v + 1),
        F.smooth_l1_loss(v, v + 1),
        F.huber_loss(v, v + 1),
        F.cross_entropy(v, torch.tensor([0, 1, 2, 3])),
        F.kl_div(v, v, reduction="sum"),
        F.binary_cross_entropy_with_logits(v, v.sigmoid()),
    ),
    m,
)
for name in """relu relu6 elu selu celu gelu silu mish hardswish hardsigmoid hardtanh leaky_relu softplus softsign
    tanhshrink softshrink hardshrink logsigmoid sigmoid tanh""".split():
    function(f"f_{name}", lambda v, f=getattr(F, name): f(v * 8), m)
function(
    "gelu_tanh",
    lambda v: (
        F.gelu(v, approximate="tanh"),
        F.glu(v[:, :4]),
        F.threshold(v, 0.1, 7),
        F.rrelu(v),
        F.prelu(v, torch.tensor([0.3])),
    ),
    m,
)
function("fft", lambda v: torch.view_as_real(torch.fft.fft(v)), m)
function("rfft", lambda v: torch.fft.rfft(v).abs(), m)
function("irfft", lambda v: torch.fft.irfft(torch.fft.rfft(v), n=5), m)
function("fft2", lambda v: torch.fft.fft2(v).real, m)
function(
    "rfft2_filter",
    lambda v: torch.fft.irfft2(torch.fft.rfft2(v, norm="ortho") * 2, s=v.shape[-2:], norm="ortho"),
    x,
)
function("fftshift", lambda v: torch.fft.fftshift(v), m)
function(
    "complex_mul",
    lambda v: torch.view_as_real(
        torch.view_as_complex(v) * torch.polar(torch.ones(4, 2), torch.ones(4, 2))
    ),
    torch.rand(4, 2, 2),
)
function(
    "stft",
    lambda v: torch.view_as_real(
        torch.stft(v, 16, 4, window=torch.hann_window(16), return_complex=True)
    ),
    torch.rand(2, 64),
)
function(
    "istft",
    lambda v: torch.istft(
        torch.stft(v, 16, 4, window=torch.hann_window(16), return_complex=True),
        16,
        4,
        window=torch.hann_window(16),
    ),
    torch.rand(2, 64),
)
function("angle", lambda v: (torch.complex(v, v).angle(), torch.complex(v, -v).conj().imag), m)
function("norm_of_batch", lambda v: F.batch_norm(v, None, None, v[0, :, 0, 0], training=True), x)
function("solve", lambda v: torch.linalg.inv(v @ v.T + torch.eye(4)), m)
function("det", lambda v: torch.linalg.det(v @ v.T + torch.eye(4)), m)
function("attention", lambda q: F.scaled_dot_product_attention(q, q, q), torch.rand(2, 2, 5, 4))
function(
    "attention_causal",
    lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
    torch.rand(2, 2, 5, 4),
)
function(
    "attention_mask",
    lambda q, k: F.scaled_dot_product_attention(q, q, q, k, scale=0.3),
    torch.rand(2, 2, 5, 4),
    torch.rand(5, 5) > 0.3,
)
function(
    "attention_gqa",
    lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
    torch.rand(2, 4, 5, 4),
    torch.rand(2, 2, 5, 4),
)
function(
    "embedding_bag",
    lambda i, w: (
        F.embedding_bag(i, w, mode="sum"),
        F.embedding_bag(i, w, mode="mean"),
        F.embedding_bag(i, w, mode="max"),
    ),
    ids,
    torch.rand(5, 3),
)
function(
    "embedding_bag_offsets",
    lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 2]), mode="mean"),
    ids[0],
    torch.rand(5, 3),
)

# ---- layers ----

layer("bag_layer", lambda: nn.EmbeddingBag(5, 3, mode="mean", padding_idx=0), ids)
for kind in (nn.LSTM, nn.GRU, nn.RNN):
    n = kind.__name__
    layer(n, lambda k=kind: k(4, 6, 2), torch.rand(5, 2, 4))
    layer(f"{n}_first", lambda k=kind: k(4, 6, 1, batch_first=True), torch.rand(2, 5, 4))
    layer(
        f"{n}_both",
        lambda k=kind: k(4, 6, 2, bidirectional=True, batch_first=True),
        torch.rand(2, 5, 4),
    )
    layer(f"{n}_unbatched", lambda k=kind: k(4, 6), torch.rand(5, 4))
    layer(f"{n}_no_bias", lambda k=kind: k(4, 6, bias=False), torch.rand(5, 2, 4))
layer("LSTM_projected", lambda: nn.LSTM(4, 6, proj_size=3), torch.rand(5, 2, 4))
layer("RNN_relu", lambda: nn.RNN(4, 6, nonlinearity="relu"), torch.rand(5, 2, 4))
layer(
    "LSTM_given",
    lambda: nn.LSTM(4, 6),
    torch.rand(5, 2, 4),
    (torch.rand(1, 2, 6), torch.rand(1, 2, 6)),
)
layer("cells", lambda: Cells(), torch.rand(2, 4))
for n, make in {
    "conv1d_same": lambda: nn.Conv1d(3, 4, 4, padding="same", dilation=2),
    "conv1d_circular": lambda: nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"),
    "deconv1d": lambda: nn.ConvTranspose1d(3, 4, 3, stride=2, output_padding=1),
    "norm1d": lambda: nn.BatchNorm1d(3),
    "instance1d": lambda: nn.InstanceNorm1d(3, affine=True),
    "pool1d": lambda: nn.Sequential(
        nn.MaxPool1d(3, 2, 1), nn.AvgPool1d(2), nn.AdaptiveAvgPool1d(2)
    ),
    "lp1d": lambda: nn.LPPool1d(2, 3),
}.items():
    layer(n, make, torch.rand(2, 3, 16))
for n, make in {
    "conv_reflect": lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"),
    "conv_groups": lambda: nn.Conv2d(3, 6, 3, groups=3, stride=2, bias=False),
    "deconv_groups": lambda: nn.ConvTranspose2d(3, 6, 3, 2, 1, 1, groups=3, dilation=2),
    "group_norm": lambda: nn.GroupNorm(3, 3),
    "layer_norm": lambda: nn.LayerNorm([8, 8]),
    "rms_norm": lambda: nn.RMSNorm(8),
    "instance": lambda: nn.InstanceNorm2d(3),
    "local_response": lambda: nn.LocalResponseNorm(2),
    "max_ceil": lambda: nn.MaxPool2d(3, 2, ceil_mode=True, dilation=1),
    "max_indices": lambda: nn.MaxPool2d(2, return_indices=True),
    "avg_ceil": lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    "avg_divisor": lambda: nn.AvgPool2d(2, divisor_override=3),
    "adaptive": lambda: nn.AdaptiveAvgPool2d((3, 5)),
    "adaptive_max": lambda: nn.AdaptiveMaxPool2d((3, 5)),
    "fractional": lambda: nn.LPPool2d(2, 3, 2),
    "upsample": lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
    "softmax2d": lambda: nn.Softmax2d(),
    "spectral": lambda: nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 1)),
    "weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 4, 1)),
    "alpha_dropout": lambda: nn.Sequential(nn.AlphaDropout(), nn.Dropout2d(), nn.Dropout(0.3)),
    "channels_last": lambda: nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last),
    "flatten": lambda: nn.Sequential(nn.Flatten(1, 2), nn.Unflatten(1, (4, 6)), nn.ZeroPad2d(1)),
}.items():
    layer(n, make, x)
layer("unpool", lambda: Unpool(), x)
for n, make in {
    "conv3d": lambda: nn.Conv3d(2, 3, 3, padding=1),
    "deconv3d": lambda: nn.ConvTranspose3d(2, 3, 3, 2),
    "pool3d": lambda: nn.Sequential(nn.MaxPool3d(2), nn.AdaptiveAvgPool3d((1, 2, 2))),
    "adaptive_max3d": lambda: nn.AdaptiveMaxPool3d((1, 2, 2)),
    "norm3d": lambda: nn.BatchNorm3d(2),
    "replication3d": lambda: nn.ReplicationPad3d(1),
}.items():
    layer(n, make, torch.rand(1, 2, 4, 6, 6))
layer(
    "multihead", lambda: nn.MultiheadAttention(8, 2, batch_first=True), *[torch.rand(2, 5, 8)] * 3
)
layer(
    "multihead_masks",
    lambda: Masked(),
    torch.rand(2, 5, 8),
    torch.tensor([[False] * 5, [False] * 3 + [True] * 2]),
)
layer(
    "encoder",
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
    torch.rand(2, 5, 8),
)
layer(
    "encoder_first",
    lambda: nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation="gelu"),
    torch.rand(5, 2, 8),
)
layer(
    "decoder",
    lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1),
    torch.rand(5, 2, 8),
    torch.rand(4, 2, 8),
)
layer(
    "transformer", lambda: nn.Transformer(8, 2, 1, 1, 16), torch.rand(5, 2, 8), torch.rand(4, 2, 8)
)
layer("bilinear", lambda: nn.Bilinear(3, 4, 5), torch.rand(2, 3), torch.rand(2, 4))


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.LSTMCell(4, 5), nn.GRUCell(5, 5), nn.RNNCell(5, 3)

    def forward(self, x):
        h, c = self.a(x)
        return self.c(self.b(h, c))


class Unpool(nn.Module):
    def forward(self, x):
        y, at = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(y, at, 2)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, ignored):
        mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
        return self.a(x, x, x, key_padding_mask=ignored, attn_mask=mask, need_weights=True)


# ---- open dims ----

B, T = torch.export.Dim("B", min=1, max=64), torch.export.Dim("T", min=2, max=64)
A = torch.rand(3, 5, 8)


def open_dims(name, f, *first, dims, more=()):
    MADE[name] = lambda: Program(f if isinstance(f, nn.Module) else Calls(f), [first, *more], dims)


open_dims("dim_linear", nn.Linear(8, 4), A, dims=({0: B, 1: T},), more=[(torch.rand(7, 2, 8),)])
open_dims(
    "dim_reshape",
    lambda v: v.reshape(v.shape[0], -1).sum(1),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_heads",
    lambda v: v.view(v.size(0), v.size(1), 2, 4).transpose(1, 2).softmax(-1),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_arange",
    lambda v: v + torch.arange(v.size(1))[:, None],
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_causal",
    lambda v: torch.ones(v.size(1), v.size(1)).tril() @ v,
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_cat",
    lambda v: torch.cat([v, v[:, : v.size(1) // 2]], 1),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_expand",
    lambda v: v[:, None].expand(-1, v.size(1), -1, -1).flatten(1, 2),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_mean",
    lambda v: v.sum((0, 1)) / (v.size(0) * v.size(1)),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_pad",
    lambda v: F.pad(v, (0, 0, 0, v.size(1))),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
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
open_dims(
    "dim_attention",
    lambda v: F.scaled_dot_product_attention(v, v, v, is_causal=True),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_mask",
    lambda v: v[v > 0.5].sum(),
    A,
    dims=(({0: B, 1: T},),),
    more=[(torch.rand(2, 9, 8),)],
)
open_dims(
    "dim_lstm", nn.GRU(8, 4, batch_first=True), A, dims=({0: B},), more=[(torch.rand(2, 5, 8),)]
)

# ---- state, control flow, languages ----


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


def quantised(dynamic):
    def make():
        torch.backends.quantized.engine = "qnnpack"
        if dynamic:
            model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()
            return torch.ao.quantization.quantize_dynamic(model, {nn.Linear})
        inner = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
        )
        model = torch.ao.quantization.QuantWrapper(inner).eval()
        model.qconfig = torch.ao.quantization.get_default_qconfig("qnnpack")
        torch.ao.quantization.prepare(model, inplace=True)
        model(x)
        return torch.ao.quantization.convert(model)

    return make


layer("quantised_dynamic", quantised(True), torch.rand(2, 8))
layer("quantised_static", quantised(False), x)
