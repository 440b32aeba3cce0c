"""Modules as people write them: small networks, and pieces of networks, with what is in no layer of
torch.nn."""

import math

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from .program import function, made

image = torch.rand(2, 3, 16, 16)
tokens = torch.randint(0, 50, (2, 7), generator=torch.Generator().manual_seed(1))
rows = torch.rand(2, 7, 16) - 0.5
points = torch.rand(2, 32, 3)


@made((rows,))
class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(16))

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (self.weight * x).to(dtype)


@made((rows,))
class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv", 1.0 / (10000 ** (torch.arange(0, 16, 2).float() / 16)))

    def forward(self, x):
        t = torch.arange(x.shape[1], device=x.device).type_as(self.inv)
        freqs = torch.einsum("i,j->ij", t, self.inv)
        emb = torch.cat((freqs, freqs), dim=-1)
        x1, x2 = x.chunk(2, dim=-1)
        return x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()


@made((rows.reshape(2, 7, 2, 8),))
class RotaryComplex(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(7).float(), 1.0 / (100 ** (torch.arange(0, 8, 2) / 8)))
        self.register_buffer("freqs", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        z = z * self.freqs[None, :, None, :]
        return torch.view_as_real(z).flatten(3).type_as(x)


@made((rows,))
class GroupedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, 4, 4).transpose(1, 2)
        k = self.k(x).view(b, n, 2, 4).transpose(1, 2).repeat_interleave(2, dim=1)
        v = self.v(x).view(b, n, 2, 4).transpose(1, 2).repeat_interleave(2, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(b, n, -1)


@made((rows,))
class GroupedAttentionFlag(nn.Module):
    def forward(self, x):
        q = x.view(2, 7, 4, 4).transpose(1, 2)
        k = x[..., :8].view(2, 7, 2, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, k, enable_gqa=True, scale=0.3)


@made((rows,))
class SlidingWindow(nn.Module):
    def forward(self, x):
        n = x.size(1)
        i = torch.arange(n)
        mask = (i[None, :] <= i[:, None]) & (i[None, :] > i[:, None] - 3)
        scores = x @ x.mT / math.sqrt(x.size(-1))
        scores = scores.masked_fill(~mask, torch.finfo(x.dtype).min)
        return scores.softmax(-1) @ x


@made((rows,))
class Alibi(nn.Module):
    def forward(self, x):
        n, heads = x.shape[1], 4
        slopes = torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)])
        distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        bias = slopes[:, None, None] * distance.tril()
        q = x.unflatten(-1, (heads, 4)).transpose(1, 2)
        return (q @ q.transpose(-2, -1) / 2 + bias).softmax(-1) @ q


@made((rows,))
class Experts(nn.Module):
    """The two best of four experts for each token."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 4, bias=False)
        self.up = nn.Parameter(torch.rand(4, 16, 8) - 0.5)
        self.down = nn.Parameter(torch.rand(4, 8, 16) - 0.5)

    def forward(self, x):
        x = x.reshape(-1, 16)
        weights, chosen = torch.topk(self.gate(x).softmax(-1), 2)
        weights = weights / weights.sum(-1, keepdim=True)
        every = torch.einsum("tc,ech->teh", x, self.up)
        every = torch.einsum("teh,ehc->tec", F.silu(every), self.down)
        picked = every.gather(1, chosen[..., None].expand(-1, -1, 16))
        return (picked * weights[..., None]).sum(1)


@made((rows,))
class ExpertsByIndex(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 3)
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        flat = x.view(-1, 16)
        chosen = self.gate(flat).argmax(-1)
        y = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            mask = (chosen == i).to(flat.dtype).unsqueeze(-1)
            y += expert(flat) * mask
        return y.view_as(x)


@made((image,))
class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 2, 1), nn.Conv2d(2, 3, 1)

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * F.hardsigmoid(self.b(F.relu(self.a(s), inplace=True)))


@made((image,))
class CBAM(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x):
        pooled = torch.cat([x.amax(1, keepdim=True), x.mean(1, keepdim=True)], 1)
        return x * torch.sigmoid(self.conv(pooled))


@made((image,))
class CoordConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 4, 3)

    def forward(self, x):
        b, _, h, w = x.shape
        ys, xs = torch.meshgrid(
            torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij"
        )
        grid = torch.stack([xs, ys]).unsqueeze(0).expand(b, -1, -1, -1)
        return self.conv(torch.cat([x, grid], 1))


@made((image,))
class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.theta = nn.Linear(3 * 16 * 16, 6)

    def forward(self, x):
        theta = self.theta(x.flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False, padding_mode="reflection")


@made((image, torch.rand(2, 2, 16, 16) * 4 - 2))
class FlowWarp(nn.Module):
    def forward(self, x, flow):
        b, _, h, w = x.shape
        base = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy"), -1)
        at = base[None].to(flow) + flow.permute(0, 2, 3, 1)
        at = 2.0 * at / torch.tensor([w - 1, h - 1]) - 1.0
        return F.grid_sample(x, at, mode="bilinear", padding_mode="border", align_corners=True)


@made((torch.rand(1, 8, 12, 12), torch.rand(1, 8, 12, 12)))
class CostVolume(nn.Module):
    def forward(self, a, b):
        b = F.pad(b, [2, 2, 2, 2])
        out = [
            (a * b[:, :, i : i + 12, j : j + 12]).mean(1) for i in range(5) for j in range(5)
        ]
        return F.leaky_relu(torch.stack(out, 1), 0.1)


@made((image,))
class PixelShuffleUp(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        up = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        return torch.clamp(self.shuffle(self.conv(x)) + up, 0, 1)


@made((image,))
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Mish())
        self.d2 = nn.Sequential(nn.Conv2d(8, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.GELU())
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.up(self.d2(a))
        return self.out(torch.cat([a, b], dim=1)).softmax(dim=1).argmax(1)


@made((image,))
class PyramidPool(nn.Module):
    def forward(self, x):
        size = x.shape[-2:]
        out = [x]
        for k in (1, 2, 3, 6):
            y = F.adaptive_avg_pool2d(x, k)
            out.append(F.interpolate(y, size, mode="bilinear", align_corners=True))
        return torch.cat(out, 1)


@made((image,))
class BlurPool(nn.Module):
    def __init__(self):
        super().__init__()
        a = torch.tensor([1.0, 2.0, 1.0])
        self.register_buffer("kernel", (a[:, None] * a[None] / 16)[None, None].repeat(3, 1, 1, 1))

    def forward(self, x):
        return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), self.kernel, stride=2, groups=3)


@made((image,))
class WeightStandard(nn.Conv2d):
    def __init__(self):
        super().__init__(3, 4, 3)

    def forward(self, x):
        w = self.weight
        v, m = torch.var_mean(w, dim=[1, 2, 3], keepdim=True, unbiased=False)
        return F.conv2d(x, (w - m) / torch.sqrt(v + 1e-5), self.bias, padding=1)


@made((image, torch.rand(2, 4)))
class DynamicFilter(nn.Module):
    """Weights that are computed for each picture: one grouped convolution."""

    def __init__(self):
        super().__init__()
        self.make = nn.Linear(4, 5 * 3 * 9)

    def forward(self, x, style):
        b = x.shape[0]
        w = self.make(style).view(b * 5, 3, 3, 3)
        y = F.conv2d(x.reshape(1, b * 3, 16, 16), w, padding=1, groups=b)
        return y.view(b, 5, 16, 16)


@made((image, torch.rand(2, 3)))
class AdaIN(nn.Module):
    def forward(self, x, style):
        mean = x.mean(dim=(2, 3), keepdim=True)
        std = x.std(dim=(2, 3), keepdim=True) + 1e-5
        return (x - mean) / std * style[..., None, None] + style.unsqueeze(-1).unsqueeze(-1)


@made((image,))
class SpectralNormed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 4, 3))
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(14, 5))

    def forward(self, x):
        return self.linear(self.conv(x))


@made((points,))
class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU())

    def forward(self, x):
        y = self.mlp(x.transpose(2, 1))
        return torch.max(y, 2, keepdim=True)[0].view(-1, 8)


@made((points,))
class EdgeFeatures(nn.Module):
    """k nearest neighbours, as DGCNN has them."""

    def forward(self, x):
        d = torch.cdist(x, x)
        near = d.topk(5, dim=-1, largest=False, sorted=True).indices
        b, n, _ = x.shape
        flat = (near + torch.arange(b).view(-1, 1, 1) * n).view(-1)
        neighbours = x.reshape(b * n, -1)[flat].view(b, n, 5, 3)
        centre = x.unsqueeze(2).expand(-1, -1, 5, -1)
        return torch.cat((neighbours - centre, centre), -1).permute(0, 3, 1, 2).amax(-1)


@made((points,))
class FarthestPoints(nn.Module):
    def forward(self, x):
        b, n, _ = x.shape
        far = torch.zeros(b, dtype=torch.long)
        distance = torch.full((b, n), 1e10)
        out = torch.zeros(b, 4, dtype=torch.long)
        for i in range(4):
            out[:, i] = far
            centre = x[torch.arange(b), far, :].view(b, 1, 3)
            distance = torch.minimum(distance, ((x - centre) ** 2).sum(-1))
            far = distance.max(-1)[1]
        return out


@made((torch.rand(6, 4), torch.tensor([[0, 1, 2, 5, 3], [1, 2, 0, 4, 4]])))
class GraphConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x, edges):
        src, dst = edges[0], edges[1]
        deg = torch.zeros(x.size(0)).scatter_add_(0, dst, torch.ones(dst.size(0)))
        norm = deg.clamp(min=1).pow(-0.5)
        norm = norm[src] * norm[dst]
        out = torch.zeros(x.size(0), 3)
        return out.index_add(0, dst, self.lin(x)[src] * norm[:, None])


@made((torch.rand(6, 4), torch.tensor([[0, 1, 2, 5, 3], [1, 2, 0, 4, 4]])))
class GraphAttention(nn.Module):
    def forward(self, x, edges):
        src, dst = edges.unbind(0)
        e = F.leaky_relu((x[src] * x[dst]).sum(-1), 0.2)
        top = torch.full((6,), -1e9).scatter_reduce(0, dst, e, "amax", include_self=True)
        e = (e - top[dst]).exp()
        total = torch.zeros(6).scatter_reduce(0, dst, e, reduce="sum")
        a = e / (total[dst] + 1e-16)
        return torch.zeros(6, 4).scatter_reduce(
            0, dst[:, None].expand(-1, 4), x[src] * a[:, None], "mean", include_self=False
        )


@made((torch.rand(2, 400),))
class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("mel", torch.rand(33, 10))

    def forward(self, x):
        spec = torch.stft(x, 64, 32, window=self.window, return_complex=True).abs() ** 2
        mel = torch.matmul(spec.transpose(1, 2), self.mel)
        return torch.log10(torch.clamp(mel, min=1e-10)).maximum(mel.amax((1, 2), True) - 8)


@made((torch.rand(2, 3, 33),))
class GatedDilated(nn.Module):
    """A residual block of WaveNet, causal."""

    def __init__(self):
        super().__init__()
        self.f, self.g = (nn.Conv1d(3, 3, 2, dilation=4) for _ in range(2))
        self.out = nn.Conv1d(3, 3, 1)

    def forward(self, x):
        padded = F.pad(x, (4, 0))
        y = torch.tanh(self.f(padded)) * torch.sigmoid(self.g(padded))
        return self.out(y) + x, y[..., -8:]


@made((torch.rand(2, 8, 20),))
class Snake(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(1, 8, 1))

    def forward(self, x):
        return x + (self.alpha + 1e-9).reciprocal() * torch.sin(self.alpha * x).pow(2)


@made((torch.rand(2, 12, 6),))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(6, 5, batch_first=True, bidirectional=True)
        self.attend = nn.Linear(10, 1)

    def forward(self, x):
        h, last = self.cell(x)
        a = torch.softmax(self.attend(h).squeeze(-1), dim=1)
        return torch.bmm(a.unsqueeze(1), h).squeeze(1), last[-1]


@made((tokens, torch.tensor([7, 4])))
class MaskedMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8, padding_idx=0)

    def forward(self, ids, lengths):
        mask = torch.arange(ids.size(1))[None, :] < lengths[:, None]
        x = self.embed(ids).masked_fill(~mask[..., None], 0.0)
        return x.sum(1) / lengths.clamp(min=1)[:, None], mask.sum(-1).eq(lengths).all()


@made((torch.rand(2, 7, 5), torch.tensor([7, 4])))
class PackedLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        y, (h, _) = self.lstm(packed)
        y, n = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
        return y, n, h


@made((torch.rand(5, 4), torch.randint(0, 4, (5,))))
class FocalLoss(nn.Module):
    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, reduction="none")
        return ((1 - torch.exp(-ce)) ** 2 * ce).mean(), F.nll_loss(logits.log_softmax(1), target)


@made((torch.rand(2, 3, 20) - 0.5,))
class CRFDecode(nn.Module):
    """Viterbi over three tags, unrolled."""

    def __init__(self):
        super().__init__()
        self.trans = nn.Parameter(torch.rand(3, 3))

    def forward(self, e):
        score, back = e[:, :, 0], []
        for t in range(1, e.shape[2]):
            best, at = (score.unsqueeze(2) + self.trans).max(1)
            score = best + e[:, :, t]
            back.append(at)
        tag = score.argmax(1, keepdim=True)
        path = [tag]
        for at in reversed(back):
            tag = at.gather(1, tag)
            path.insert(0, tag)
        return torch.cat(path, 1)


@made((torch.rand(3, 9, 6),))
class CTCGreedy(nn.Module):
    def forward(self, x):
        best = x.argmax(-1)
        keep = torch.ones_like(best, dtype=torch.bool)
        keep[:, 1:] = best[:, 1:] != best[:, :-1]
        keep &= best != 0
        return torch.where(keep, best, -1), keep.cumsum(1) - 1


@made((torch.rand(1, 30, 85),))
class YoloDecode(nn.Module):
    def forward(self, p):
        xy, wh, obj, cls = p.split((2, 2, 1, 80), dim=-1)
        conf, label = (obj * cls).max(-1)
        half = wh / 2
        boxes = torch.cat((xy - half, xy + half), -1)[0]
        keep = torchvision.ops.nms(boxes, conf[0], 0.45)
        return boxes[keep], conf[0][keep], label[0][keep]


@made((torch.rand(1, 4, 4, 4), torch.tensor([[0.0, 0.0, 2.5, 2.5], [1.0, 0.5, 3.0, 3.5]])))
class RoI(nn.Module):
    def forward(self, x, boxes):
        ops = torchvision.ops
        return (
            ops.roi_align(x, [boxes], 2, 1.0, 2, True),
            ops.roi_pool(x, [boxes], 2),
            ops.box_iou(boxes, boxes),
            ops.generalized_box_iou(boxes, boxes),
            ops.clip_boxes_to_image(boxes, (3, 3)),
        )


@made((image, torch.rand(2, 18, 16, 16)))
class Deformable(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 3, 3, 3))

    def forward(self, x, offset):
        return torchvision.ops.deform_conv2d(x, offset, self.weight, padding=1)


@made((torch.rand(2, 16),))
class Codebook(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(10, 4)

    def forward(self, z):
        flat = z.view(-1, 4)
        c = self.codes.weight
        d = flat.pow(2).sum(1, keepdim=True) + c.pow(2).sum(1) - 2 * flat @ c.t()
        at = torch.argmin(d, dim=1)
        q = self.codes(at).view_as(z)
        return z + (q - z).detach(), at, F.one_hot(at, 10).float().mean(0)


@made((torch.rand(2, 6) * 4 - 2,))
class FiniteScalar(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("levels", torch.tensor([8, 5, 5, 8, 6, 5]))

    def forward(self, z):
        half = (self.levels - 1) * (1 - 1e-3) / 2
        offset = torch.where(self.levels % 2 == 1, 0.0, 0.5)
        shift = torch.tan(offset / half)
        bounded = torch.tanh(z + shift) * half - offset
        codes = bounded.round()
        basis = torch.cumprod(torch.cat([torch.ones(1, dtype=torch.long), self.levels[:-1]]), 0)
        width = self.levels // 2
        return ((codes + width) * basis).sum(-1).to(torch.int32), codes / width


@made((torch.tensor([3, 250, 999]),))
class TimeEmbedding(nn.Module):
    def forward(self, t):
        half = 8
        freqs = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
        args = t[:, None].float() * freqs[None]
        return F.pad(torch.cat([torch.cos(args), torch.sin(args)], dim=-1), (0, 1))


@made((torch.rand(2, 3, 8, 8), torch.tensor([3, 7])))
class NoiseStep(nn.Module):
    def __init__(self):
        super().__init__()
        betas = torch.linspace(1e-4, 0.02, 10, dtype=torch.float64)
        self.register_buffer("a", torch.cumprod(1 - betas, 0))

    def forward(self, x, t):
        a = self.a[t].float().view(-1, 1, 1, 1)
        return (x - (1 - a).sqrt() * x.flip(0)) / a.sqrt()


@made((rows,))
class StateSpace(nn.Module):
    """A selective scan, unrolled."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(-torch.rand(16, 4))
        self.bc = nn.Linear(16, 8)

    def forward(self, x):
        b, c = self.bc(x).chunk(2, -1)
        dt = F.softplus(x)
        da = torch.exp(torch.einsum("bld,dn->bldn", dt, self.a))
        db = torch.einsum("bld,bln,bld->bldn", dt, b, x)
        h, out = x.new_zeros(2, 16, 4), []
        for t in range(x.shape[1]):
            h = da[:, t] * h + db[:, t]
            out.append((h * c[:, t, None, :]).sum(-1))
        return torch.stack(out, dim=1)


@made((rows,))
class LinearAttention(nn.Module):
    def forward(self, x):
        q, k = F.elu(x) + 1, F.elu(x.roll(1, 1)) + 1
        kv = torch.einsum("nld,nle->nlde", k, x).cumsum(1)
        z = 1 / (torch.einsum("nld,nld->nl", q, k.cumsum(1)) + 1e-6)
        return torch.einsum("nld,nlde,nl->nle", q, kv, z)


@made((torch.rand(2, 64, 16),))
class WindowPartition(nn.Module):
    def forward(self, x):
        b, n, c = x.shape
        x = x.view(b, 8, 8, c).roll(shifts=(-2, -2), dims=(1, 2))
        w = x.view(b, 2, 4, 2, 4, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 16, c)
        y = w.softmax(-1)
        y = y.view(b, 2, 2, 4, 4, -1).permute(0, 1, 3, 2, 4, 5).reshape(b, 8, 8, -1)
        return torch.roll(y, (2, 2), (1, 2)).reshape(b, n, c)


@made((rows,))
class RelativeShift(nn.Module):
    """Transformer-XL's shift of scores."""

    def forward(self, x):
        s = x.unsqueeze(1) @ x.flip(1).unsqueeze(1).transpose(-1, -2)
        b, h, n, m = s.shape
        s = F.pad(s, (1, 0)).view(b, h, m + 1, n)[:, :, 1:].view(b, h, n, m)
        return s.tril()


@made((torch.rand(4, 6),))
class MixtureDensity(nn.Module):
    def forward(self, x):
        pi, mu, log_sigma = x.tensor_split(3, dim=-1)
        normal = torch.distributions.Normal(mu, log_sigma.exp(), validate_args=False)
        return torch.logsumexp(
            F.log_softmax(pi, -1) + normal.log_prob(torch.zeros_like(mu)), dim=-1
        )


@made((torch.rand(4, 5) + 0.1,))
class SpecialFunctions(nn.Module):
    def forward(self, x):
        return (
            torch.special.expit(x),
            torch.special.erfinv(x - 0.5),
            torch.special.entr(x),
            torch.special.xlog1py(x, x),
            
            torch.digamma(x),

            torch.sinc(x),
        )


@made((torch.tensor([[12, 18], [0, 7]]), torch.tensor([[8, 27], [5, 21]])))
class Integers(nn.Module):
    def forward(self, a, b):
        return (
            torch.gcd(a, b),
            torch.lcm(a, b),
            a // b.clamp(min=1),
            a % b,
            a << 2,
            b >> 1,
            a ^ b,
            torch.bitwise_not(a),
        )


@made((torch.rand(3, 3) + 2 * torch.eye(3),))
class Matrices(nn.Module):
    def forward(self, a):
        s = a @ a.mT
        return (
            torch.linalg.inv(a),
            torch.linalg.cholesky(s),
            torch.linalg.det(a),
            torch.linalg.solve(a, s),
            torch.linalg.matrix_norm(a),
            torch.linalg.vector_norm(a, 3, dim=0),
            torch.linalg.matrix_power(a, 3),
            torch.trace(a),
        )


@made((torch.rand(5, 2, 3, 3) + 2 * torch.eye(3),))
class Factors(nn.Module):
    def forward(self, a):
        s = a @ a.mT
        return (
            torch.linalg.eigvalsh(s),
            torch.linalg.svdvals(a),
            torch.linalg.solve_triangular(s.tril(), a, upper=False),
            torch.linalg.slogdet(a)[1],
            torch.linalg.qr(a)[1].abs(),
        )


@made((torch.rand(3, 4), torch.rand(4), torch.tensor(True)))
class Conditions(nn.Module):
    def forward(self, x, y, flag):
        return torch.where(flag, x + y, x - y), torch.cond(
            flag, lambda a, b: a * b, lambda a, b: a / b, (x, y)
        )


@made((torch.rand(3, 4) - 0.5,))
class Histogram(nn.Module):
    def forward(self, x):
        edges = torch.linspace(-0.5, 0.5, 6)
        return (
            torch.bucketize(x, edges),
            torch.searchsorted(edges, x, right=True),
            torch.histc(x, 5, -0.5, 0.5),
            torch.bincount((x > 0).long().flatten(), minlength=3),
        )


@made((torch.rand(3, 4) - 0.5,))
class Nans(nn.Module):
    def forward(self, x):
        y = torch.log(x)
        return (
            torch.nan_to_num(y, nan=0.5),
            torch.nansum(y, 1),
            torch.nanmean(y, 0),
            y.isnan().any(),
            torch.isclose(x, x + 1e-9),
            torch.signbit(x),
            torch.copysign(x, -x),
            torch.frexp(x)[0],
        )


@made((torch.rand(3, 4, 5),))
class Reductions(nn.Module):
    def forward(self, x):
        return (
            x.aminmax(dim=1),
            torch.std_mean(x, dim=(0, 2)),
            x.logsumexp((1, 2)),
            x.norm(p=1, dim=-1),
            torch.count_nonzero(x > 0.5, dim=0),
            torch.cov(x[0]),
            torch.corrcoef(x[1]),
            torch.diff(x, n=2),
            torch.trapezoid(x, dim=1),
            x.cummax(2)[0],
            x.cummin(1).indices,
            torch.renorm(x, 2, 0, 1.0),
        )


@made((torch.rand(3, 4, 5),))
class Moves(nn.Module):
    def forward(self, x):
        return (
            x.swapaxes(0, 2),
            torch.tensordot(x, x, dims=([1, 2], [1, 2])),
            torch.combinations(torch.arange(4)),
            torch.vander(torch.arange(1.0, 4.0)),
            x.diag_embed(),
            torch.diagonal_scatter(x[:, :, :4], torch.zeros(3, 4), dim1=1, dim2=2),
            torch.select_scatter(x, torch.ones(3, 5), 1, 2),
            torch.slice_scatter(x, torch.ones(3, 1, 5), 1, 0, 1),
            torch.as_strided(x, (2, 3), (5, 1), 2),
            torch.narrow_copy(x, 2, 1, 2),
            torch.column_stack([x[0], x[1]]),
            torch.dstack([x[0], x[1]]),
            torch.take(x, torch.tensor([0, 7, 3])),
            torch.tile(x, (2, 1)),
            torch.rot90(x, 1, (1, 2)),
            torch.unravel_index(torch.tensor([5, 17]), (3, 4, 5))[0],
        )


@made((torch.rand(2, 5, 8), torch.rand(2, 6, 8)))
class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, q, kv):
        mask = torch.zeros(2, 6, dtype=torch.bool)
        mask[:, 4:] = True
        y, w = self.attend(q, kv, kv, key_padding_mask=mask)
        return F.layer_norm(y + q, (8,)), w


@made((rows,), dynamic={"src": {1: torch.export.Dim("length", min=2, max=32)}})
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, src):
        mask = nn.Transformer.generate_square_subsequent_mask(src.size(1))
        return self.encoder(src.transpose(0, 1), mask=mask, is_causal=True)


@made((rows, torch.rand(2, 4, 16)))
class WholeTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)

    def forward(self, src, tgt):
        return self.net(src, tgt)


@made((torch.rand(1, 2, 3, 8),), (torch.rand(1, 2, 3, 8),))
class KeyValueCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 12, 8))
        self.register_buffer("at", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        where = self.at + torch.arange(x.shape[2])
        self.k.index_copy_(2, where, x)
        self.at += x.shape[2]
        mask = torch.arange(12) < self.at
        return F.scaled_dot_product_attention(x, self.k, self.k, attn_mask=mask[None, None, None])


@made((torch.rand(2, 4),), (torch.rand(2, 4),))
class RunningMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x - self.mean


@made((torch.rand(2, 6, 6),))
class Stencil(nn.Module):
    def forward(self, u):
        v = u.clone()
        v[:, 1:-1, 1:-1] += 0.25 * (
            u[:, 2:, 1:-1] + u[:, :-2, 1:-1] + u[:, 1:-1, 2:] + u[:, 1:-1, :-2]
        )
        v[:, 0] = 0
        v[..., -1] *= 2
        v[v > 0.9] = 0.9
        return v


@made((torch.rand(8, 3), torch.tensor([0, 1, 1, 0, 2, 2, 1, 0])))
class SegmentPool(nn.Module):
    def forward(self, x, group):
        counts = torch.bincount(group, minlength=3)
        sums = x.new_zeros(3, 3).index_add_(0, group, x)
        best = x.new_full((3, 3), float("-inf")).index_reduce(0, group, x, "amax")
        return sums / counts[:, None], best


@made((torch.rand(4, 8) > 0.5, torch.rand(4, 8)))
class Booleans(nn.Module):
    def forward(self, m, x):
        return (
            m.any(1),
            m.all(),
            m.sum(),
            m.float().cumsum(1),
            m & (x > 0.3),
            ~m | (x < 0.2),
            m.logical_xor(x.bool()),
            x[m].sum(),
            x.masked_select(m).mean(),
            m.nonzero().shape[0] + torch.zeros(1),
        )


@made((torch.rand(2, 3, 4, 6, 6),))
class Video(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(3, 4, (1, 3, 3), padding=(0, 1, 1))
        self.time = nn.Conv3d(4, 4, (3, 1, 1), padding=(1, 0, 0), groups=2)
        self.up = nn.ConvTranspose3d(4, 2, 2, stride=2)

    def forward(self, x):
        y = F.max_pool3d(F.silu(self.time(self.conv(x))), (1, 2, 2))
        return F.interpolate(self.up(y), size=(4, 6, 6), mode="trilinear"), F.avg_pool3d(y, 2)


@made((torch.randint(0, 255, (1, 8, 8, 3), dtype=torch.uint8),))
class Preprocess(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))

    def forward(self, x):
        y = x.permute(0, 3, 1, 2).to(torch.float32).div(255).sub(self.mean)
        y = F.interpolate(y, (5, 7), mode="bilinear", antialias=True)
        z = F.interpolate(y, scale_factor=(1.5, 0.7), mode="nearest-exact")
        return y, z, (y.clamp(0, 1) * 255).round().to(torch.uint8)


@made((torch.rand(2, 8).half(), torch.rand(8, 8)))
class HalfTypes(nn.Module):
    def forward(self, a, b):
        return a.softmax(-1), (a.float() @ b.bfloat16().float()).half(), a.double().sum(), F.silu(a)


class Config:
    scale, steps = 0.5, [1, 2]


@made(({"a": torch.rand(3), "b": [torch.rand(3), torch.rand(3)]},))
class Nested(nn.Module):
    def forward(self, given):
        a, b = given["a"], given["b"]
        return {"sum": a + b[0], "parts": [x * Config.scale for x in b], "n": len(b)}


function(
    "scan_of_pairs",
    lambda x: torch._higher_order_ops.associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x + 1), 0, combine_mode="generic"
    ),
    torch.rand(5, 3),
)
function("chebyshev", lambda x: torch.special.chebyshev_polynomial_t(x, 3), torch.rand(4))
function(
    "two_numbers",
    lambda a, b: (
        torch.hypot(a, b),
        torch.logaddexp(a, b),
        torch.logaddexp2(a, b),
        a.fmod(b),
        a.fmax(b),
        torch.ldexp(a, b),
        torch.float_power(a, b),
        torch.atan2(a, b),
        torch.heaviside(a, b),
        torch.xlogy(a, b),
    ),
    torch.rand(4) - 0.5,
    torch.rand(4) + 0.1,
)
