"""A codec language model: a GPT that reads phones and then codec tokens, and predicts each next token.

Blocks as in LLaMA (arXiv:2302.13971): RMS norm, rotary positions, causal attention with fewer key heads (GQA), SwiGLU. Its
last layer and the cross entropy are one operation, so that no tensor has time steps times tokens.
"""

from dataclasses import dataclass, field, replace

from tts import nn
from tts.data.errors import InputError, run_tool
from tts.models.command_line import graph_errors, of_corpus, parse_arguments, tell, with_flags, write_text
from tts.nn import ops

STEPS = ("batch", "frames")


@dataclass(frozen=True)
class Config:
    """Sizes of a codec language model and the defaults of its training."""

    channels: int = 512
    layers: int = 8
    heads: int = 8
    key_heads: int = 2
    hidden: int = 1408
    tokens: int = 1024  # phones, marks and codes
    dropout: float = 0.0
    batch: int = 16
    buckets: tuple = field(default=({"frames": 256}, {"frames": 512}, {"frames": 1024}))
    lr: float = 1e-3
    warmup: int = 2000


SIZES = {
    "tiny": Config(
        channels=32,
        layers=2,
        heads=4,
        hidden=80,
        tokens=120,
        batch=8,
        warmup=20,
        buckets=({"frames": 48}, {"frames": 96}),
    ),
    # The CPU twin: learns in minutes.
    "small": Config(channels=192, layers=6, heads=6, hidden=512, tokens=640, warmup=300),
    "base": Config(),
    # 501 M parameters, the large model's third: d = 1280, 24 layers.
    "500m": Config(channels=1280, layers=24, heads=20, key_heads=4, hidden=4352, tokens=2048, batch=64, lr=3e-4),
}


class Attention(nn.Module):
    """Causal self-attention with rotary positions; every key head serves a group of query heads."""

    def __init__(self, c: Config):
        super().__init__()
        depth = c.channels // c.heads
        self.heads, self.key_heads, self.dropout = c.heads, c.key_heads, c.dropout
        self.query = projection(c.channels, c.channels)
        self.key = projection(c.channels, c.key_heads * depth)
        self.value = projection(c.channels, c.key_heads * depth)
        self.output = projection(c.channels, c.channels, c)

    def forward(self, x, positions, lengths):
        q = ops.rotary(self.query(x), positions, self.heads, name="rotary_query")
        k = ops.rotary(self.key(x), positions, self.key_heads, name="rotary_key")
        dropout = self.dropout if x.graph.training else 0.0
        return self.output(ops.attention(q, k, self.value(x), lengths, self.heads, causal=True, dropout=dropout))


class FeedForward(nn.Module):
    """SwiGLU (arXiv:2002.05202): silu(x·gate) ⊙ x·up, then down."""

    def __init__(self, c: Config):
        super().__init__()
        self.gate = projection(c.channels, c.hidden)
        self.up = projection(c.channels, c.hidden)
        self.down = projection(c.hidden, c.channels, c)

    def forward(self, x):
        return self.down(ops.mul(ops.silu(self.gate(x)), self.up(x), name="gated"))


class Block(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.attention_norm = nn.RmsNorm(c.channels)
        self.attention = Attention(c)
        self.ffn_norm = nn.RmsNorm(c.channels)
        self.ffn = FeedForward(c)
        self.attention_dropout = nn.Dropout(c.dropout)
        self.ffn_dropout = nn.Dropout(c.dropout)

    def forward(self, x, positions, lengths):
        attended = self.attention(self.attention_norm(x), positions, lengths)
        x = ops.add(x, self.attention_dropout(attended), name="attention_residual")
        return ops.add(x, self.ffn_dropout(self.ffn(self.ffn_norm(x))), name="ffn_residual")


class CodecLm(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.depth = c.channels // c.heads
        self.embedding = nn.Embedding(c.tokens, c.channels, std=0.02)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = nn.RmsNorm(c.channels)
        self.head = nn.Parameter((c.channels, c.tokens), nn.normal(0.02))

    def forward(self, tokens, targets, lengths):
        """The cross entropy of each next token, summed over those that count."""
        x = self.embedding(tokens)
        positions = ops.sinusoid(x.graph, x.shape[1], self.depth, name="positions")
        for block in self.blocks:
            x = block(x, positions, lengths)
        return ops.linear_cross_entropy(self.norm(x), self.head, targets, lengths)


def projection(inputs: int, outputs: int, into_residual: Config | None = None) -> nn.Linear:
    """A matrix as GPT-2 starts it: those that add into the residual stream are smaller by 1/√(2·layers)."""
    linear = nn.Linear(inputs, outputs, bias=False)
    scale = (2 * into_residual.layers) ** -0.5 if into_residual else 1.0
    linear.weight = nn.Parameter((inputs, outputs), nn.normal(0.02 * scale))
    return linear


def build(c: Config) -> tuple[nn.Graph, CodecLm]:
    """The training function; its one loss counts the targets that are not ignored."""
    graph = nn.Graph()
    model = CodecLm(c).bind(graph)
    tokens = graph.input("tokens", STEPS, "i32")
    targets = graph.input("targets", STEPS, "i32")
    lengths = graph.input("token_lengths", ("batch",), "i32", lengths="frames")
    graph.loss("token", model(tokens, targets, lengths), ops.count_targets(targets, lengths, c.tokens))
    return graph, model


def text(c: Config, features_hash: str | None = None) -> str:
    """The module as MLIR text."""
    graph, _ = build(c)
    return graph.text(
        batch=c.batch,
        buckets=list(c.buckets),
        hardware="host",
        features_hash=features_hash,
        optimizer="adamw",
        grad_clip=1.0,
        lr=c.lr,
        warmup=c.warmup,
        schedule="noam",
    )


def fitted(c: Config, manifest: dict, place: str) -> Config:
    """The config with what the corpus of tokens decides: how many tokens there are, and the buckets."""
    try:
        told = manifest["codec"]["tokens"]
        return replace(c, tokens=told, buckets=tuple(manifest["suggested_buckets"]))
    except (KeyError, TypeError) as error:
        advice = "make a corpus of tokens with python -m tts.data tokens"
        raise InputError(place, f"the manifest lacks {error}", advice) from error


def main(arguments: list[str] | None = None) -> int:
    told = parse_arguments("codec_lm", SIZES, arguments)
    config, features_hash = of_corpus(told, SIZES[told.size], fitted)
    config = with_flags(told, config, "dropout")
    with graph_errors():
        write_text(told.output, text(config, features_hash))
        count = CodecLm(config).parameter_count()
    tell(told, f"codec LM {told.size}", count, config)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
