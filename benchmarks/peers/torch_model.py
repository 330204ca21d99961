"""FastSpeech 2 as one would write it for speed in PyTorch, old or new: the peer of the compiled model.

The names of the parameters are those of the model file; layouts are PyTorch's own ([out, in], [out, in, taps]), so
that no step pays for a transposed weight. Losses and masks are those of test/Numerics/reference_fastspeech2.py.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")


class Linear(nn.Linear):
    """A matrix product, or the same as a convolution of one tap, which PyTorch gives to oneDNN."""

    as_convolution = False

    def forward(self, x):
        if not self.as_convolution:
            return F.linear(x, self.weight, self.bias)
        return F.conv1d(x.transpose(1, 2), self.weight[..., None], self.bias).transpose(1, 2)


class Conv1d(nn.Module):
    """Over [batch, time, channels]; the transposes are views, and oneDNN takes them as channels-last."""

    def __init__(self, inputs, outputs, kernel):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs, kernel))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        if self.weight.shape[2] == 1 and not Linear.as_convolution:
            return F.linear(x, self.weight[..., 0], self.bias)
        padding = (self.weight.shape[2] - 1) // 2
        return F.conv1d(x.transpose(1, 2), self.weight, self.bias, padding=padding).transpose(1, 2)


class LayerNorm(nn.LayerNorm):
    """In its weights' type under autocast, too: PyTorch 1.13 takes no half input with weights in fp32."""

    def forward(self, x):
        return super().forward(x.to(self.weight.dtype))


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        for name in ("query", "key", "value", "output"):
            setattr(self, name, Linear(channels, channels))

    def forward(self, x, keep):
        batch, time, channels = x.shape
        q, k, v = (
            project(x).view(batch, time, self.heads, -1).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        if HAS_SDPA:
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])
        else:
            scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(2, 3)
            scores = scores.masked_fill(~keep[:, None, None, :], -math.inf)
            attended = torch.softmax(scores, -1) @ v
        return self.output(attended.transpose(1, 2).reshape(batch, time, channels))


class FeedForward(nn.Module):
    def __init__(self, channels, hidden, kernels):
        super().__init__()
        self.conv1 = Conv1d(channels, hidden, kernels[0])
        self.conv2 = Conv1d(hidden, channels, kernels[1])


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention = Attention(c.channels, c.heads)
        self.attention_norm = LayerNorm(c.channels)
        self.ffn = FeedForward(c.channels, c.filter, c.kernels)
        self.ffn_norm = LayerNorm(c.channels)
        self.rate = c.dropout

    def forward(self, x, keep):
        drop = ~keep[..., None]
        attended = F.dropout(self.attention(x, keep), self.rate, self.training)
        x = self.attention_norm(x + attended).masked_fill(drop, 0.0)
        hidden = torch.relu(self.ffn.conv1(x)).masked_fill(drop, 0.0)
        y = F.dropout(self.ffn.conv2(hidden), self.rate, self.training)
        return self.ffn_norm(x + y).masked_fill(drop, 0.0)


class VariancePredictor(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = Conv1d(c.channels, c.variance_filter, c.variance_kernel)
        self.norm1 = LayerNorm(c.variance_filter)
        self.conv2 = Conv1d(c.variance_filter, c.variance_filter, c.variance_kernel)
        self.norm2 = LayerNorm(c.variance_filter)
        self.linear = nn.Linear(c.variance_filter, 1)
        self.rate = c.variance_dropout

    def forward(self, x, keep):
        for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2)):
            x = conv(x.masked_fill(~keep[..., None], 0.0))
            x = F.dropout(norm(torch.relu(x)), self.rate, self.training)
        return self.linear(x).squeeze(-1).masked_fill(~keep, 0.0)


class Bins(nn.Module):
    def __init__(self, bins, channels):
        super().__init__()
        self.boundaries = nn.Parameter(torch.zeros(bins - 1), requires_grad=False)
        self.embedding = nn.Embedding(bins, channels)

    def forward(self, x):
        return self.embedding(torch.bucketize(x, self.boundaries))


class Variance(nn.Module):
    def __init__(self, c):
        super().__init__()
        for name in ("duration", "pitch", "energy"):
            setattr(self, name, VariancePredictor(c))
        self.pitch_bins = Bins(c.bins, c.channels)
        self.energy_bins = Bins(c.bins, c.channels)


def positions(time, channels):
    evens = torch.arange(0, channels, 2, dtype=torch.float64)
    angle = torch.arange(time)[:, None] / 10000.0 ** (evens / channels)
    return torch.stack([angle.sin(), angle.cos()], -1).reshape(time, channels).to(torch.get_default_dtype())


def regulate(x, durations, frames):
    """Each frame's phone by a search in the running sum of durations, then one gather."""
    ends = torch.cumsum(durations, 1)
    time = torch.arange(frames).expand(len(ends), frames).contiguous()
    phone = torch.searchsorted(ends, time, right=True).clamp(max=durations.shape[1] - 1)
    return x.gather(1, phone[..., None].expand(-1, -1, x.shape[2]))


class FastSpeech2(nn.Module):
    """`forward` returns the loss of a batch; `c` has the sizes of tts.models.fastspeech2.Config."""

    def __init__(self, c, phones, frames):
        super().__init__()
        self.embedding = nn.Embedding(c.symbols, c.channels)
        self.encoder = nn.ModuleList([Block(c) for _ in range(c.encoder_blocks)])
        self.variance = Variance(c)
        self.decoder = nn.ModuleList([Block(c) for _ in range(c.decoder_blocks)])
        self.mel = Linear(c.channels, c.mels)
        self.register_buffer("phone_positions", positions(phones, c.channels), persistent=False)
        self.register_buffer("frame_positions", positions(frames, c.channels), persistent=False)

    def forward(self, b):
        phones, frames = b["phones"].shape[1], b["mel"].shape[1]
        spoken = torch.arange(phones)[None, :] < b["phone_lengths"][:, None]
        sounding = torch.arange(frames)[None, :] < b["mel_lengths"][:, None]
        x = self.embedding(b["phones"]) + self.phone_positions
        for block in self.encoder:
            x = block(x, spoken)
        v = self.variance
        log_durations, pitch = v.duration(x, spoken), v.pitch(x, spoken)
        x = x + v.pitch_bins(b["pitch"])
        energy = v.energy(x, spoken)
        x = (x + v.energy_bins(b["energy"])).masked_fill(~spoken[..., None], 0.0)
        x = regulate(x, b["durations"], frames).masked_fill(~sounding[..., None], 0.0)
        x = x + self.frame_positions
        for block in self.decoder:
            x = block(x, sounding)
        mel = (self.mel(x) - b["mel"]).abs().masked_fill(~sounding[..., None], 0.0)
        loss = mel.sum() / (b["mel_lengths"].sum() * mel.shape[2])
        targets = (
            (log_durations, torch.log1p(b["durations"].to(pitch.dtype))),
            (pitch, b["pitch"]),
            (energy, b["energy"]),
        )
        for told, wanted in targets:
            loss = loss + (told - wanted).pow(2).masked_fill(~spoken, 0.0).sum() / b["phone_lengths"].sum()
        return loss


def in_own_layout(name, value):
    """A tensor of the model file ([in, out], [taps, in, out]) in PyTorch's layout."""
    if value.dim() == 3:
        return value.permute(2, 1, 0).contiguous()
    if value.dim() == 2 and not name.endswith("embedding.weight"):
        return value.t().contiguous()
    return value
