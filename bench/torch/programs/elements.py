"""Element by element, along an axis, and from nothing."""

import torch
import torch.nn.functional as F

from .program import function, ids, m, x

function("cumulative", lambda v: (v.cumsum(0), v.cumprod(1), v.cummax(0), v.cummin(1)), m)
function("logcumsumexp", lambda v: v.logcumsumexp(1), m)
function("diff", lambda v: torch.diff(v, dim=1), m)
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
function("norm_of_batch", lambda v: F.batch_norm(v, None, None, v[0, :, 0, 0], training=True), x)
