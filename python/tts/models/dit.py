"""A diffusion transformer for flow matching in the form of F5-TTS (arXiv:2410.06885): phones and a part of a mel to the rest.

Phones need no durations: one stands at each of the first frames and zeros fill the rest, as in E2 and F5. What noise is
drawn, how far along the flow, which span is to be filled in and whether text and audio are dropped, all come from the
counter RNG in the model file itself; `tts.nn.draws` says by what it is keyed.
"""

import itertools
import math
from dataclasses import dataclass, field, replace

from tts import nn
from tts.data.errors import InputError, run_tool
from tts.models.command_line import RATES, graph_errors, of_corpus, parse_arguments, tell, with_flags, write_text
from tts.nn import draws, ops

PHONES, FRAMES = ("batch", "text"), ("batch", "frames")


@dataclass(frozen=True)
class Config:
    """Sizes of a DiT and the defaults of its training."""

    channels: int = 1024
    blocks: int = 22
    heads: int = 16
    expansion: int = 2  # of the feed-forward parts, those of the text blocks too
    text_channels: int = 512
    text_blocks: int = 4
    text_kernel: int = 7
    position_kernel: int = 31
    position_groups: int = 16
    time_channels: int = 256
    dropout: float = 0.1
    span: tuple[float, float] = (0.7, 1.0)  # share of an utterance to fill in
    drop_text: float = 0.2  # text and audio
    drop_audio: float = 0.44  # audio with text or without: 0.2 + 0.8 · 0.3
    symbols: int = 80
    mels: int = 80
    batch: int = 64
    buckets: tuple = field(
        default=({"text": 64, "frames": 304}, {"text": 128, "frames": 608}, {"text": 208, "frames": 1000})
    )
    lr: float = 7.5e-5
    warmup: int = 20000


SIZES = {
    "tiny": Config(
        channels=32,
        blocks=2,
        heads=2,
        text_channels=16,
        text_blocks=2,
        position_kernel=7,
        position_groups=4,
        time_channels=16,
        symbols=40,
        batch=8,
        lr=1e-3,
        warmup=20,
        buckets=({"text": 16, "frames": 64}, {"text": 24, "frames": 96}),
    ),
    # What trains on a CPU.
    "small": Config(
        channels=192,
        blocks=6,
        heads=3,
        text_channels=96,
        symbols=48,
        batch=16,
        lr=5e-4,
        warmup=300,
        buckets=({"text": 24, "frames": 128}, {"text": 48, "frames": 256}, {"text": 96, "frames": 512}),
    ),
    "base": Config(),
    # 500.2 M parameters with the symbols of F5's own vocabulary.
    "500m": Config(channels=1280, blocks=21, heads=20, symbols=2546),
}


def over_time(x, like):
    """[batch, channel] at every time step of `like`."""
    return ops.broadcast(x, like.shape, [0, 2], name="over_time")


def scaled(x, factor, dims, name):
    """`x` times a factor whose dimensions are `dims` of x."""
    return ops.mul(x, ops.broadcast(factor, x.shape, dims, name=f"{name}_factor"), name=name)


def one_minus(x, name):
    return ops.sub(ops.full(x.graph, 1.0, x.shape, name="one"), x, name=name)


class ResponseNorm(nn.Module):
    """Global response normalisation over time (ConvNeXt V2, arXiv:2301.00808): channels compete by their length."""

    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter((channels,), "zeros")
        self.bias = nn.Parameter((channels,), "zeros")

    def forward(self, x):
        norms = ops.time_norm(x)
        mean = ops.mul(ops.sum_to(norms, [0]), ops.full(x.graph, 1.0 / x.shape[2], ("batch",)), name="mean_norm")
        mean = ops.add(mean, ops.full(x.graph, 1e-6, ("batch",)), name="mean_norm")
        share = ops.div(norms, ops.broadcast(mean, norms.shape, [0]), name="share")
        weighed = scaled(ops.mul(x, over_time(share, x), name="weighed"), self.weight, [2], "weight")
        return ops.add(ops.add(weighed, ops.broadcast(self.bias, x.shape, [2]), name="add_bias"), x, name="residual")


class TextBlock(nn.Module):
    """ConvNeXt V2: depthwise convolution, LayerNorm, GELU, response normalisation; with a residual."""

    def __init__(self, channels: int, hidden: int, kernel: int):
        super().__init__()
        self.conv = nn.DepthwiseConv1d(channels, kernel)
        self.norm = nn.LayerNorm(channels, epsilon=1e-6)
        self.widen = nn.Linear(channels, hidden)
        self.response = ResponseNorm(hidden)
        self.narrow = nn.Linear(hidden, channels)

    def forward(self, x):
        return ops.add(x, self.narrow(self.response(ops.gelu(self.widen(self.norm(self.conv(x)))))), name="residual")


class TextEncoder(nn.Module):
    """One phone at each of the first frames, zeros behind them; positions; convolutions along the frames."""

    def __init__(self, c: Config):
        super().__init__()
        self.embedding = nn.Embedding(c.symbols, c.text_channels)
        self.positions = nn.Sinusoid()
        self.blocks = nn.ModuleList(
            TextBlock(c.text_channels, c.expansion * c.text_channels, c.text_kernel) for _ in range(c.text_blocks)
        )

    def forward(self, phones, phone_lengths, keep_text):
        ones = ops.mask(ops.full(phones.graph, 1.0, PHONES, name="one_frame"), phone_lengths, name="one_frame_each")
        frames = ops.round_to_int(ones, name="frames_each")
        x = ops.length_regulate(self.embedding(phones), frames, "frames")
        x = self.positions(scaled(x, keep_text, [], "keep_text"))
        for block in self.blocks:
            x = block(x)
        return x


class PositionEmbedding(nn.Module):
    """Adds what two grouped convolutions see around each frame."""

    def __init__(self, c: Config):
        super().__init__()
        self.conv1 = nn.Conv1d(c.channels, c.channels, c.position_kernel, groups=c.position_groups)
        self.conv2 = nn.Conv1d(c.channels, c.channels, c.position_kernel, groups=c.position_groups)

    def forward(self, x):
        return ops.add(x, ops.mish(self.conv2(ops.mish(self.conv1(x)))), name="residual")


class TimeEmbedding(nn.Module):
    """How far along the flow, in [0, 1), as channels that condition every block."""

    def __init__(self, c: Config):
        super().__init__()
        self.channels = c.time_channels
        self.linear1 = nn.Linear(c.time_channels, c.channels)
        self.linear2 = nn.Linear(c.channels, c.channels)

    def forward(self, t):
        angles = ops.sinusoid_at(t, self.channels, scale=1000.0)
        return ops.silu(self.linear2(ops.silu(self.linear1(angles))), name="condition")


class Modulation(nn.Module):
    """LayerNorm whose scale and shift come from the condition, and `gates` more vectors of it; zero at first."""

    def __init__(self, channels: int, parts: int):
        super().__init__()
        self.channels, self.parts = channels, parts
        self.linear = nn.Linear(channels, parts * channels, init="zeros")

    def forward(self, condition):
        return ops.split(self.linear(condition), [self.channels] * self.parts)


def modulate(x, shift, scale):
    """x · (1 + scale) + shift, both the same at every time step."""
    factor = ops.add(ops.full(x.graph, 1.0, scale.shape, name="one"), scale, name="scale")
    return ops.add(ops.mul(x, over_time(factor, x), name="scaled"), over_time(shift, x), name="modulated")


class Attention(nn.Module):
    """Self-attention whose queries and keys are rotated by their places."""

    def __init__(self, channels: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.value = nn.Linear(channels, channels)
        self.output = nn.Linear(channels, channels)

    def forward(self, x, lengths, places):
        q, k = (ops.rotary(project(x), places, self.heads) for project in (self.query, self.key))
        return self.output(ops.attention(q, k, self.value(x), lengths, self.heads))


class Block(nn.Module):
    """Attention and a feed-forward part, each normalised, modulated and gated by the condition."""

    def __init__(self, c: Config):
        super().__init__()
        self.modulation = Modulation(c.channels, 6)
        self.attention_norm = nn.LayerNorm(c.channels, epsilon=1e-6, affine=False)
        self.attention = Attention(c.channels, c.heads)
        self.attention_dropout = nn.Dropout(c.dropout)
        self.ffn_norm = nn.LayerNorm(c.channels, epsilon=1e-6, affine=False)
        self.widen = nn.Linear(c.channels, c.expansion * c.channels)
        self.ffn_dropout = nn.Dropout(c.dropout)
        self.narrow = nn.Linear(c.expansion * c.channels, c.channels)

    def forward(self, x, lengths, places, condition):
        shift, scale, gate, ffn_shift, ffn_scale, ffn_gate = self.modulation(condition)
        attended = self.attention(modulate(self.attention_norm(x), shift, scale), lengths, places)
        x = ops.add(x, scaled(self.attention_dropout(attended), gate, [0, 2], "gated"), name="attention_residual")
        hidden = ops.gelu(self.widen(modulate(self.ffn_norm(x), ffn_shift, ffn_scale)))
        y = self.narrow(self.ffn_dropout(hidden))
        return ops.add(x, scaled(y, ffn_gate, [0, 2], "ffn_gated"), name="ffn_residual")


class Dit(nn.Module):
    """The flow's velocity at noisy mels, given the rest of the mel, the phones and how far along the flow it is."""

    def __init__(self, c: Config):
        super().__init__()
        self.depth = c.channels // c.heads
        self.text = TextEncoder(c)
        self.time = TimeEmbedding(c)
        self.input = nn.Linear(2 * c.mels + c.text_channels, c.channels)
        self.positions = PositionEmbedding(c)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.blocks))
        self.norm = nn.LayerNorm(c.channels, epsilon=1e-6, affine=False)
        self.modulation = Modulation(c.channels, 2)
        self.output = nn.Linear(c.channels, c.mels, init="zeros")

    def forward(self, noisy, known, text, t, lengths):
        condition = self.time(t)
        x = self.positions(self.input(ops.concat(noisy, known, text)))
        places = ops.sinusoid(x.graph, x.shape[1], self.depth, name="places")
        for block in self.blocks:
            x = block(x, lengths, places, condition)
        scale, shift = self.modulation(condition)
        return self.output(modulate(self.norm(x), shift, scale))


def build(c: Config) -> tuple[nn.Graph, Dit]:
    """The training function: the squared error of the velocity in a random span, over the span's elements."""
    graph = nn.Graph()
    model = Dit(c).bind(graph)
    phones = graph.input("phones", PHONES, "i32")
    phone_lengths = graph.input("phone_lengths", ("batch",), "i32", lengths="text")
    mel = graph.input("mel", (*FRAMES, c.mels))
    mel_lengths = graph.input("mel_lengths", ("batch",), "i32", lengths="frames")

    mel = ops.mask(mel, mel_lengths, name="clean_mel")
    noise = draws.normal(graph, mel.shape, name="noise")
    t = draws.uniform(graph, name="flow_time")
    span = draws.span_mask(mel_lengths, "frames", *c.span, name="span")
    # One flip an update: where text is dropped, so is audio.
    keep_text = draws.coin(graph, c.drop_text, stream="drop", name="keep_text")
    keep_audio = draws.coin(graph, c.drop_audio, stream="drop", name="keep_audio")

    velocity = ops.sub(mel, noise, name="velocity")
    noisy = ops.add(noise, scaled(velocity, t, [0], "way"), name="noisy")
    known = scaled(mel, one_minus(span, name="outside"), [0, 1], "known")
    known = scaled(known, keep_audio, [], "keep_audio")
    predicted = model(noisy, known, model.text(phones, phone_lengths, keep_text), t, mel_lengths)

    in_span = [scaled(x, span, [0, 1], "in_span") for x in (predicted, velocity)]
    count = ops.mul(ops.sum_to(span, [], name="span_frames"), ops.full(graph, float(c.mels)), name="span_count")
    graph.loss("flow", ops.mse_loss(*in_span, mel_lengths, name="flow_loss"), count)
    graph.output("velocity", predicted)
    return graph, model


def flow_times(steps: int) -> list[float]:
    """From 0 to 1, closer together at first: F5's sway sampling with -1."""
    return [1.0 - math.cos(math.pi / 2 * k / steps) for k in range(steps)] + [1.0]


def build_infer(c: Config, steps: int) -> nn.Graph:
    """The program that speaks: Euler's method from `noise` to a mel, `known` frames of which are given, zeros elsewhere."""
    graph = nn.Graph("infer")
    model = Dit(c).bind(graph)
    phones = graph.input("phones", PHONES, "i32")
    phone_lengths = graph.input("phone_lengths", ("batch",), "i32", lengths="text")
    noise, known = (graph.input(name, (*FRAMES, c.mels)) for name in ("noise", "known"))
    mel_lengths = graph.input("mel_lengths", ("batch",), "i32", lengths="frames")
    spoken, mel = model.text(phones, phone_lengths, draws.coin(graph, c.drop_text)), noise
    times = flow_times(steps)
    for t, after in itertools.pairwise(times):
        velocity = model(mel, known, spoken, ops.full(graph, t, ("batch",), name="flow_time"), mel_lengths)
        mel = ops.add(
            mel, ops.mul(velocity, ops.full(graph, after - t, mel.shape, name="step"), name="way"), name="mel"
        )
    graph.output("mel", mel)
    return graph


def text(c: Config, features_hash: str | None = None, infer_steps: int = 0) -> str:
    """The module as MLIR text, with a program that speaks in so many steps or without one."""
    graph, _ = build(c)
    return graph.text(
        batch=c.batch,
        buckets=list(c.buckets),
        infer=build_infer(c, infer_steps) if infer_steps else None,
        hardware="host",
        features_hash=features_hash,
        optimizer="adamw",
        grad_clip=1.0,
        ema_decay=0.999,
        lr=c.lr,
        warmup=c.warmup,
        schedule="cosine",
    )


def fitted(c: Config, manifest: dict, place: str) -> Config:
    """The config with what the corpus decides: symbols, mels and buckets."""
    try:
        mels, buckets = manifest["features"]["n_mels"], tuple(manifest["suggested_buckets"])
        return replace(c, symbols=len(manifest["symbols"]), mels=mels, buckets=buckets)
    except (KeyError, TypeError) as error:
        raise InputError(place, f"the manifest lacks {error}", "prepare the corpus again") from error


def main(arguments: list[str] | None = None) -> int:
    rates = RATES | {"drop-text": "how often text and audio are dropped", "drop-audio": "how often audio is dropped"}
    counts = {"infer-steps": "add a program that speaks, in so many evaluations of the model"}
    told = parse_arguments("dit", SIZES, arguments, rates, counts)
    config, features_hash = of_corpus(told, SIZES[told.size], fitted)
    config = with_flags(told, config, "dropout", "drop_text", "drop_audio")
    with graph_errors():
        write_text(told.output, text(config, features_hash, told.infer_steps or 0))
    tell(told, f"DiT {told.size}", Dit(config).parameter_count(), config)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
