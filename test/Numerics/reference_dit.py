"""The DiT in PyTorch, written from the papers and F5-TTS's public code: the oracle for outputs, losses and gradients.

Nothing here comes from tts.nn: only the names and layouts of the parameters are those of the model file. Noise, spans
and flips are NumPy's (philox.py), keyed as the dialect says.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import philox
from reference_fastspeech2 import Attention, Dropout, Linear, mask, positions


@dataclass
class Batch:
    """One micro-batch, padded; lengths of 0 are empty slots."""

    phones: torch.Tensor
    mel: torch.Tensor
    phone_lengths: torch.Tensor
    mel_lengths: torch.Tensor
    utterance: np.ndarray


def padded(batch: dict, bucket: dict[str, int], dtype=torch.float64) -> Batch:
    """The whole batch in the bucket's shape."""
    count = len(batch["mel"])
    phones = np.zeros((count, bucket["text"]), np.int64)
    mel = np.zeros((count, bucket["frames"], np.shape(batch["mel"][0])[1]))
    for i in range(count):
        phones[i, : len(batch["phones"][i])] = batch["phones"][i]
        mel[i, : len(batch["mel"][i])] = batch["mel"][i]
    lengths = [torch.tensor([int(n) for n in batch[name]]) for name in ("phone_lengths", "mel_lengths")]
    ids = np.asarray(batch["utterance"], np.int64)
    return Batch(torch.from_numpy(phones), torch.from_numpy(mel).to(dtype), *lengths, ids)


class Convolution(nn.Module):
    """Grouped or depthwise, centred."""

    def __init__(self, *shape, bias: int, groups: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(shape)), nn.Parameter(torch.zeros(bias))
        self.groups = groups

    def forward(self, x):
        w = self.weight if self.weight.dim() == 3 else self.weight[:, None]
        kernel = w.permute(2, 1, 0)
        y = F.conv1d(x.transpose(1, 2), kernel, self.bias, padding=(len(w) - 1) // 2, groups=self.groups)
        return y.transpose(1, 2)


class Response(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x, lengths):
        norms = torch.linalg.vector_norm(mask(x, lengths), dim=1, keepdim=True)
        share = norms / (norms.mean(dim=-1, keepdim=True) + 1e-6)
        return self.weight * (x * share) + self.bias + x


class TextBlock(nn.Module):
    def __init__(self, channels, hidden, kernel):
        super().__init__()
        self.conv = Convolution(kernel, channels, bias=channels, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.widen = Linear(channels, hidden)
        self.response = Response(hidden)
        self.narrow = Linear(hidden, channels)

    def forward(self, x, lengths):
        y = gelu(self.widen(self.norm(self.conv(mask(x, lengths)))))
        return x + self.narrow(self.response(y, lengths))


def gelu(x):
    return F.gelu(x, approximate="tanh")


class Text(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embedding = nn.Embedding(c.symbols, c.text_channels)
        wide = c.expansion * c.text_channels
        self.blocks = nn.ModuleList([TextBlock(c.text_channels, wide, c.text_kernel) for _ in range(c.text_blocks)])

    def forward(self, b: Batch, keep):
        frames = b.mel.shape[1]
        x = mask(self.embedding(b.phones), b.phone_lengths)[:, :frames] * keep
        x = F.pad(x, (0, 0, 0, max(frames - x.shape[1], 0)))
        x = x + positions(frames, x.shape[2], x.dtype)
        for block in self.blocks:
            x = block(x, b.mel_lengths)
        return x


class Positions(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, g = c.channels, c.position_groups
        self.conv1 = Convolution(c.position_kernel, d // g, d, bias=d, groups=g)
        self.conv2 = Convolution(c.position_kernel, d // g, d, bias=d, groups=g)

    def forward(self, x, lengths):
        y = F.mish(self.conv1(mask(x, lengths)))
        return x + F.mish(self.conv2(mask(y, lengths)))


class Time(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.channels = c.time_channels
        self.linear1, self.linear2 = Linear(c.time_channels, c.channels), Linear(c.channels, c.channels)

    def forward(self, t):
        angles = 1000 * t[:, None] / 10000.0 ** (torch.arange(0, self.channels, 2, dtype=t.dtype) / self.channels)
        x = torch.stack([torch.sin(angles), torch.cos(angles)], -1).reshape(len(t), 1, self.channels)
        return self.linear2(F.silu(self.linear1(x)))


class Modulation(nn.Module):
    def __init__(self, channels, parts):
        super().__init__()
        self.parts, self.linear = parts, Linear(channels, parts * channels)

    def forward(self, time):
        return self.linear(F.silu(time)).chunk(self.parts, dim=-1)


def rotate(x):
    """Rotary positions of [batch, heads, time, depth]: pairs of neighbours turn by t / 10000^(2i/depth)."""
    depth, time = x.shape[3], x.shape[2]
    angle = torch.arange(time, dtype=x.dtype)[:, None] / 10000.0 ** (torch.arange(0, depth, 2, dtype=x.dtype) / depth)
    turned = torch.view_as_complex(x.contiguous().reshape(*x.shape[:3], -1, 2)) * torch.polar(
        torch.ones_like(angle), angle
    )
    return torch.view_as_real(turned).reshape(x.shape)


class RotaryAttention(Attention):
    placed = staticmethod(rotate)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.modulation = Modulation(c.channels, 6)
        self.attention = RotaryAttention(c.channels, c.heads)
        self.attention_dropout, self.ffn_dropout = Dropout(c.dropout), Dropout(c.dropout)
        self.widen = Linear(c.channels, c.expansion * c.channels)
        self.narrow = Linear(c.expansion * c.channels, c.channels)

    def forward(self, x, lengths, time, *random):
        shift, scale, gate, ffn_shift, ffn_scale, ffn_gate = self.modulation(time)
        y = self.attention(normalised(x) * (1 + scale) + shift, lengths)
        x = x + gate * self.attention_dropout(y, *random)
        y = gelu(self.widen(normalised(x) * (1 + ffn_scale) + ffn_shift))
        return x + ffn_gate * self.narrow(self.ffn_dropout(y, *random))


def normalised(x):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


class Dit(nn.Module):
    """`c` is any object with the sizes of tts.models.dit.Config."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.text, self.time = Text(c), Time(c)
        self.input = Linear(2 * c.mels + c.text_channels, c.channels)
        self.positions = Positions(c)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.blocks)])
        self.modulation = Modulation(c.channels, 2)
        self.output = Linear(c.channels, c.mels)
        for name, module in self.named_modules():
            if isinstance(module, Dropout):
                module.stream = f"{name}.dropout"

    def drawn(self, b: Batch, draw):
        """Noise, flow time, span and the two flips; evaluation draws for seed 0 and update 0 and keeps everything."""
        c, key = self.c, (draw.seed, draw.update) if draw else (0, 0)
        to = lambda x: torch.as_tensor(x).to(b.mel.dtype)  # noqa: E731
        noise = to(philox.normal(b.mel.shape, "noise", *key, b.utterance))
        t = to(philox.uniform("flow_time", *key, b.utterance))
        span = philox.span_mask(b.mel.shape[:2], *c.span, "span", *key, b.mel_lengths.numpy(), b.utterance)
        flips = [philox.coin(rate, "drop", *key) if draw else 1.0 for rate in (c.drop_text, c.drop_audio)]
        return noise, t, to(span), *flips

    def forward(self, b: Batch, draw=None) -> dict[str, torch.Tensor]:
        noise, t, span, keep_text, keep_audio = self.drawn(b, draw)
        noisy = (1 - t)[:, None, None] * noise + t[:, None, None] * b.mel
        known = b.mel * (1 - span)[..., None] * keep_audio
        return {"velocity": self.velocity(noisy, known, self.text(b, keep_text), t, b, draw)}

    def velocity(self, noisy, known, text, t, b: Batch, draw=None) -> torch.Tensor:
        x = self.input(torch.cat([noisy, known, text], -1))
        x, time = self.positions(x, b.mel_lengths), self.time(t)
        for block in self.blocks:
            x = block(x, b.mel_lengths, time, draw, b.utterance)
        scale, shift = self.modulation(time)
        return self.output(normalised(x) * (1 + scale) + shift)

    def speak(self, noise, b: Batch, steps: int) -> torch.Tensor:
        """Euler's method; what of the mel is known stands in `b.mel`."""
        times = 1 - np.cos(np.pi / 2 * np.arange(steps + 1) / steps)
        x, text = noise, self.text(b, 1.0)
        for t, after in itertools.pairwise(times):
            at = torch.full((len(x),), t, dtype=x.dtype)
            x = x + (after - t) * self.velocity(x, b.mel, text, at, b)
        return x

    def losses(self, out: dict, b: Batch, draw=None) -> dict[str, torch.Tensor]:
        noise, _, span, *_ = self.drawn(b, draw)
        error = (out["velocity"] - (b.mel - noise)) ** 2
        return {"flow": error[span > 0].sum()}

    def denominators(self, b: Batch, draw=None) -> dict[str, float]:
        return {"flow": float(self.drawn(b, draw)[2].sum()) * b.mel.shape[2]}


def backward(model: Dit, batches: list[Batch], draw) -> dict[str, float]:
    """Gradients of (sum over the update) / (denominator over the update); returns the losses."""
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    total = sum(model.denominators(b, draw)["flow"] for b in batches)
    told = 0.0
    for b in batches:
        part = model.losses(model(b, draw), b, draw)["flow"]
        (part / total).backward()
        told += float(part.detach()) / total
    return {"flow": told}
