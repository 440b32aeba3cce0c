"""Layers of torch.nn, and quantised ones."""

import torch
import torch.nn.functional as F
from torch import nn

from .program import function, ids, layer, x

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
