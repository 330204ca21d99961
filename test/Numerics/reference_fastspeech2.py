"""FastSpeech 2 in PyTorch, written from the paper and its public code: the oracle for outputs, losses and gradients.

Nothing here comes from tts.nn: only the names and layouts of the parameters are those of the model file ([in, out] and
[taps, in, out]), so that `load_state_dict` takes its weights. Dropout draws from NumPy's Philox.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import philox


@dataclass
class Batch:
    """One micro-batch, padded; lengths of 0 are empty slots."""

    phones: torch.Tensor
    durations: torch.Tensor
    pitch: torch.Tensor
    energy: torch.Tensor
    mel: torch.Tensor
    phone_lengths: torch.Tensor
    mel_lengths: torch.Tensor
    utterance: np.ndarray


class Draw:
    """What the random numbers of an update are keyed by; without one there is no dropout."""

    def __init__(self, seed: int, update: int):
        self.seed, self.update = seed, update


def valid(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """[batch, time]: true where there is an utterance."""
    return torch.arange(time)[None, :] < lengths[:, None]


def mask(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    keep = valid(lengths, x.shape[1])
    return x.masked_fill(~(keep if x.dim() == 2 else keep[..., None]), 0.0)


class Linear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        """As a convolution of one tap: Debian's PyTorch has oneDNN for those, a slow reference BLAS for matmuls."""
        return F.conv1d(x.transpose(1, 2), self.weight.t()[..., None], self.bias).transpose(1, 2)


class Conv1d(nn.Module):
    def __init__(self, inputs, outputs, kernel):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(kernel, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        kernel = self.weight.permute(2, 1, 0)
        y = F.conv1d(x.transpose(1, 2), kernel, self.bias, padding=(kernel.shape[2] - 1) // 2)
        return y.transpose(1, 2)


class Dropout(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate, self.stream = rate, ""

    def forward(self, x, draw, utterances):
        if draw is None or self.rate == 0:
            return x
        kept = philox.kept(tuple(x.shape), self.rate, self.stream, draw.seed, draw.update, utterances)
        return torch.where(torch.from_numpy(kept), x * (1.0 / (1.0 - self.rate)), torch.zeros_like(x))


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        for name in ("query", "key", "value", "output"):
            setattr(self, name, Linear(channels, channels))

    @staticmethod
    def placed(x):
        """Queries or keys that know where they stand, as far as attention itself tells them."""
        return x

    def forward(self, x, lengths):
        batch, time, channels = x.shape
        q, k, v = (
            project(x).view(batch, time, self.heads, -1).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        scores = self.placed(q) @ self.placed(k).transpose(2, 3) / math.sqrt(channels // self.heads)
        keys = valid(lengths, time)[:, None, None, :]
        # A row without a key attends nowhere; its softmax is taken of zeros and thrown away.
        some = (lengths > 0)[:, None, None, None]
        scores = scores.masked_fill(~keys & some, -math.inf)
        attended = torch.where(some, torch.softmax(scores, -1) @ v, torch.zeros_like(v))
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
        self.attention_norm = nn.LayerNorm(c.channels)
        self.ffn = FeedForward(c.channels, c.filter, c.kernels)
        self.ffn_norm = nn.LayerNorm(c.channels)
        self.attention_dropout = Dropout(c.dropout)
        self.ffn_dropout = Dropout(c.dropout)

    def forward(self, x, lengths, *random):
        x = self.attention_norm(x + self.attention_dropout(self.attention(x, lengths), *random))
        x = mask(x, lengths)
        hidden = mask(torch.relu(self.ffn.conv1(x)), lengths)
        return mask(self.ffn_norm(x + self.ffn_dropout(self.ffn.conv2(hidden), *random)), lengths)


class VariancePredictor(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = Conv1d(c.channels, c.variance_filter, c.variance_kernel)
        self.norm1 = nn.LayerNorm(c.variance_filter)
        self.conv2 = Conv1d(c.variance_filter, c.variance_filter, c.variance_kernel)
        self.norm2 = nn.LayerNorm(c.variance_filter)
        self.linear = Linear(c.variance_filter, 1)
        self.dropout1 = Dropout(c.variance_dropout)
        self.dropout2 = Dropout(c.variance_dropout)

    def forward(self, x, lengths, *random):
        x = self.dropout1(self.norm1(torch.relu(self.conv1(mask(x, lengths)))), *random)
        x = self.dropout2(self.norm2(torch.relu(self.conv2(mask(x, lengths)))), *random)
        return mask(self.linear(x).squeeze(-1), lengths)


class Bins(nn.Module):
    def __init__(self, bins, channels):
        super().__init__()
        self.boundaries = nn.Parameter(torch.zeros(bins - 1), requires_grad=False)
        self.embedding = nn.Embedding(bins, channels)

    def forward(self, x):
        return self.embedding(torch.bucketize(x.contiguous(), self.boundaries))


class Variance(nn.Module):
    def __init__(self, c):
        super().__init__()
        for name in ("duration", "pitch", "energy"):
            setattr(self, name, VariancePredictor(c))
        self.pitch_bins = Bins(c.bins, c.channels)
        self.energy_bins = Bins(c.bins, c.channels)


def positions(time: int, channels: int, dtype) -> torch.Tensor:
    angle = np.arange(time)[:, None] / 10000.0 ** (np.arange(0, channels, 2) / channels)
    table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(time, channels)
    return torch.from_numpy(table).to(dtype)


def regulate(x: torch.Tensor, durations: torch.Tensor, frames: int) -> torch.Tensor:
    """Repeats and pads each utterance by itself."""
    rows = [torch.repeat_interleave(u, d.clamp(min=0).long(), 0)[:frames] for u, d in zip(x, durations)]
    return torch.stack([F.pad(r, (0, 0, 0, frames - len(r))) for r in rows])


class FastSpeech2(nn.Module):
    """`c` is any object with the sizes of tts.models.fastspeech2.Config."""

    def __init__(self, c):
        super().__init__()
        self.embedding = nn.Embedding(c.symbols, c.channels)
        self.encoder = nn.ModuleList([Block(c) for _ in range(c.encoder_blocks)])
        self.variance = Variance(c)
        self.decoder = nn.ModuleList([Block(c) for _ in range(c.decoder_blocks)])
        self.mel = Linear(c.channels, c.mels)
        for name, module in self.named_modules():
            if isinstance(module, Dropout):
                module.stream = f"{name}.dropout"

    def forward(self, b: Batch, draw: Draw | None = None) -> dict[str, torch.Tensor]:
        random, n = (draw, b.utterance), b.phone_lengths
        x = self.embedding(b.phones.long())
        x = x + positions(x.shape[1], x.shape[2], x.dtype)
        for block in self.encoder:
            x = block(x, n, *random)
        v = self.variance
        out = {"log_durations": v.duration(x, n, *random), "pitch": v.pitch(x, n, *random)}
        x = x + v.pitch_bins(b.pitch)
        out["energy"] = v.energy(x, n, *random)
        x = mask(x + v.energy_bins(b.energy), n)
        x = regulate(x, b.durations, b.mel.shape[1])
        x = x + positions(x.shape[1], x.shape[2], x.dtype)
        for block in self.decoder:
            x = block(x, b.mel_lengths, *random)
        return {"mel": self.mel(x), **out}

    def speak(self, phones, lengths, duration_scale, pitch_shift, energy_shift, frames: int) -> dict[str, torch.Tensor]:
        """Everything predicted, as in the public code; `frames` is how many there is room for. `unrounded` durations too."""
        x = self.embedding(phones.long())
        x = x + positions(x.shape[1], x.shape[2], x.dtype)
        still = (None, None)  # no draw, no utterances: no dropout
        for block in self.encoder:
            x = block(x, lengths, *still)
        v = self.variance
        unrounded = torch.clamp(torch.exp(v.duration(x, lengths, *still)) - 1, min=0) * duration_scale
        durations = torch.round(unrounded).int()
        pitch = v.pitch(x, lengths, *still)
        x = x + v.pitch_bins(pitch + pitch_shift)
        energy = v.energy(x, lengths, *still)
        x = mask(x + v.energy_bins(energy + energy_shift), lengths)
        wanted = durations.sum(1)
        mel_lengths = wanted.clamp(max=frames)
        x = regulate(x, durations, frames)
        x = x + positions(frames, x.shape[2], x.dtype)
        for block in self.decoder:
            x = block(x, mel_lengths, *still)
        told = {"mel": self.mel(x), "mel_lengths": mel_lengths, "wanted_frames": wanted, "durations": durations}
        return told | {"pitch": pitch, "energy": energy, "unrounded": unrounded}


def losses(out: dict, b: Batch) -> dict[str, torch.Tensor]:
    """Sums over valid steps; with a PostNet, `first_mel` is what it refines."""
    frames, phones = valid(b.mel_lengths, b.mel.shape[1]), valid(b.phone_lengths, b.phones.shape[1])
    target = torch.log1p(b.durations.to(out["pitch"].dtype))
    mels = {"mel": out.get("first_mel", out["mel"])} | ({"refined_mel": out["mel"]} if "first_mel" in out else {})
    return {
        **{name: (mel - b.mel).abs()[frames].sum() for name, mel in mels.items()},
        "duration": (out["log_durations"] - target).pow(2)[phones].sum(),
        "pitch": (out["pitch"] - b.pitch).pow(2)[phones].sum(),
        "energy": (out["energy"] - b.energy).pow(2)[phones].sum(),
    }


def denominators(b: Batch, refines: bool = False) -> dict[str, float]:
    phones = float(b.phone_lengths.sum())
    return {
        **dict.fromkeys(["mel", "refined_mel"][: 1 + refines], float(b.mel_lengths.sum()) * b.mel.shape[2]),
        "duration": phones,
        "pitch": phones,
        "energy": phones,
    }
