"""Products, norms, distances, Fourier transforms, attention."""

import torch
import torch.nn.functional as F

from .program import function, m, x

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
