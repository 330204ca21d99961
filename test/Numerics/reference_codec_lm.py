"""The codec language model in PyTorch, written from the papers it names: the oracle for losses and gradients.

Rotary positions turn complex numbers, keys are repeated for their group of heads, and the loss is PyTorch's own cross
entropy over whole logits: nothing here is written as the compiler does it. Parameters have the model file's names.
"""

import torch
import torch.nn.functional as F
from torch import nn

IGNORE = -100


class Linear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(inputs, outputs))

    def forward(self, x):
        return x @ self.weight


class RmsNorm(nn.Module):
    def __init__(self, channels, epsilon=1e-6):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(channels)), epsilon

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def rotated(x: torch.Tensor) -> torch.Tensor:
    """[batch, heads, time, depth]: pair i of the channels at step t by the angle t / 10000^(2i/depth)."""
    time, depth = x.shape[2:]
    angle = torch.arange(time)[:, None] / 10000.0 ** (torch.arange(0, depth, 2, dtype=torch.float64) / depth)
    turn = torch.polar(torch.ones_like(angle), angle)
    turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * turn
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.key_heads = c.heads, c.key_heads
        keys = c.channels // c.heads * c.key_heads
        self.query, self.output = Linear(c.channels, c.channels), Linear(c.channels, c.channels)
        self.key, self.value = Linear(c.channels, keys), Linear(c.channels, keys)

    def forward(self, x, lengths):
        split = lambda y, heads: y.unflatten(-1, (heads, -1)).transpose(1, 2)  # noqa: E731
        q = rotated(split(self.query(x), self.heads))
        k, v = rotated(split(self.key(x), self.key_heads)), split(self.value(x), self.key_heads)
        k, v = (y.repeat_interleave(self.heads // self.key_heads, 1) for y in (k, v))
        time = x.shape[1]
        seen = torch.ones(time, time).tril().bool() & (torch.arange(time) < lengths[:, None, None])
        # A row that sees nothing attends nowhere; its softmax is taken of zeros and thrown away.
        some = seen.any(-1, keepdim=True)[:, None]
        scores = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).masked_fill(~seen[:, None] & some, -torch.inf)
        attended = torch.where(some, scores.softmax(-1) @ v, torch.zeros_like(q))
        return self.output(attended.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate, self.up = Linear(c.channels, c.hidden), Linear(c.channels, c.hidden)
        self.down = Linear(c.hidden, c.channels)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention_norm, self.attention = RmsNorm(c.channels), Attention(c)
        self.ffn_norm, self.ffn = RmsNorm(c.channels), FeedForward(c)

    def forward(self, x, lengths):
        x = x + self.attention(self.attention_norm(x), lengths)
        return x + self.ffn(self.ffn_norm(x))


class CodecLm(nn.Module):
    """`c` is any object with the sizes of tts.models.codec_lm.Config; there is no dropout."""

    def __init__(self, c):
        super().__init__()
        self.embedding = nn.Embedding(c.tokens, c.channels)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.layers)])
        self.norm = RmsNorm(c.channels)
        self.head = nn.Parameter(torch.zeros(c.channels, c.tokens))

    def loss(self, tokens, targets, lengths) -> tuple[torch.Tensor, int]:
        """The sum over the targets that count, and their number."""
        x = self.embedding(tokens.long())
        for block in self.blocks:
            x = block(x, lengths)
        logits = self.norm(x) @ self.head
        told = targets.long().masked_fill(torch.arange(targets.shape[1]) >= lengths[:, None], IGNORE)
        total = F.cross_entropy(logits.flatten(0, 1), told.flatten(), ignore_index=IGNORE, reduction="sum")
        return total, int((told != IGNORE).sum())
