"""Resizing, sampling, padding, windows and blocks of images."""

import torch
import torch.nn.functional as F

from .program import function, x

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
function("im2col", lambda v: F.unfold(v, (3, 2), padding=1, stride=2), x)
function("col2im", lambda v: F.fold(v, (5, 5), (2, 2)), torch.rand(1, 8, 16))
function(
    "shuffles", lambda v: (F.pixel_shuffle(v, 2), F.pixel_unshuffle(v, 2)), torch.rand(1, 4, 4, 4)
)
function("channel_shuffle", lambda v: F.channel_shuffle(v, 2), torch.rand(1, 4, 4, 4))
