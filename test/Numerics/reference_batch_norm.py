"""Batch normalisation by hand over valid frames, in PyTorch, and the FastSpeech 2 whose PostNet has five of it."""

import itertools

import torch
from torch import nn

from reference_fastspeech2 import Conv1d, Dropout, FastSpeech2, mask, valid


class MaskedNorm(nn.BatchNorm1d):
    """PyTorch's parameters and buffers; the statistics are those of the frames x[keep]."""

    def forward(self, x, keep):
        if not self.training:
            return (x - self.running_mean) / torch.sqrt(self.running_var + self.eps) * self.weight + self.bias
        frames = x[keep]
        n, mean = len(frames), frames.mean(0)
        variance = ((frames - mean) ** 2).mean(0)
        with torch.no_grad():
            for running, now in ((self.running_mean, mean), (self.running_var, variance * n / (n - 1))):
                running.mul_(1 - self.momentum).add_(self.momentum * now)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias


class PostNetLayer(nn.Module):
    def __init__(self, inputs, outputs, c, is_last):
        super().__init__()
        self.conv = Conv1d(inputs, outputs, c.postnet_kernel)
        self.norm = MaskedNorm(outputs)
        self.dropout = Dropout(c.postnet_dropout)
        self.is_last = is_last

    def forward(self, x, lengths, *random):
        x = self.norm(self.conv(mask(x, lengths)), valid(lengths, x.shape[1]))
        return self.dropout(x if self.is_last else torch.tanh(x), *random)


class PostNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        sizes = [c.mels, *[c.postnet_channels] * (c.postnet_layers - 1), c.mels]
        pairs = list(itertools.pairwise(sizes))
        self.layers = nn.ModuleList(PostNetLayer(*pair, c, i == len(pairs) - 1) for i, pair in enumerate(pairs))


class FastSpeech2WithPostNet(FastSpeech2):
    def __init__(self, c):
        super().__init__(c)
        self.postnet = PostNet(c)
        for name, module in self.postnet.named_modules():
            if isinstance(module, Dropout):
                module.stream = f"postnet.{name}.dropout"

    def forward(self, b, draw=None):
        out = super().forward(b, draw)
        x = out["mel"]
        for layer in self.postnet.layers:
            x = layer(x, b.mel_lengths, draw, b.utterance)
        return out | {"mel": out["mel"] + x, "first_mel": out["mel"]}
