"""FastSpeech 2 (arXiv:2006.04558), with or without PostNet: phones to mels.

A PostNet normalises over the whole update, so a model with one has a single bucket. Durations, pitch and energy are the
true ones in @train (teacher forcing) and the predicted ones in @infer.
"""

import itertools
from dataclasses import dataclass, field, replace

from tts import nn
from tts.data.errors import InputError, run_tool
from tts.models.command_line import RATES, graph_errors, of_corpus, parse_arguments, tell, with_flags, write_text
from tts.nn import ops

PHONES, FRAMES = ("batch", "text"), ("batch", "frames")


@dataclass(frozen=True)
class Config:
    """Sizes of a FastSpeech 2 and the defaults of its training."""

    channels: int = 256
    encoder_blocks: int = 4
    decoder_blocks: int = 6
    heads: int = 2
    filter: int = 1024
    kernels: tuple[int, int] = (9, 1)
    variance_filter: int = 256
    variance_kernel: int = 3
    bins: int = 256
    dropout: float = 0.1
    variance_dropout: float = 0.5
    postnet: bool = False
    postnet_layers: int = 5
    postnet_channels: int = 512
    postnet_kernel: int = 5
    postnet_dropout: float = 0.5
    symbols: int = 80
    mels: int = 80
    pitch_range: tuple[float, float] = (-4.0, 4.0)  # of standardised values
    energy_range: tuple[float, float] = (-4.0, 4.0)
    batch: int = 16
    buckets: tuple = field(
        default=({"text": 64, "frames": 304}, {"text": 128, "frames": 608}, {"text": 208, "frames": 1000})
    )
    lr: float = 1e-3
    warmup: int = 4000


SIZES = {
    "tiny": Config(
        channels=32,
        encoder_blocks=2,
        decoder_blocks=2,
        filter=128,
        variance_filter=32,
        postnet_channels=32,
        bins=16,
        symbols=40,
        warmup=20,
        buckets=({"text": 16, "frames": 64}, {"text": 24, "frames": 96}),
    ),
    "small": Config(
        channels=96,
        encoder_blocks=3,
        decoder_blocks=4,
        filter=384,
        variance_filter=96,
        postnet_channels=96,
        bins=64,
        symbols=48,
        warmup=300,
        buckets=({"text": 24, "frames": 128}, {"text": 48, "frames": 256}, {"text": 96, "frames": 512}),
    ),
    "base": Config(),
    # 503 M parameters, 42 blocks: what compiling and planning a large model costs.
    "500m": Config(
        channels=512, encoder_blocks=16, decoder_blocks=26, heads=8, filter=2112, variance_filter=512, lr=5e-4
    ),
}


class FeedForward(nn.Module):
    """Conv1d → ReLU → Conv1d."""

    def __init__(self, channels: int, hidden: int, kernels: tuple[int, int]):
        super().__init__()
        self.conv1 = nn.Conv1d(channels, hidden, kernels[0])
        self.conv2 = nn.Conv1d(hidden, channels, kernels[1])

    def forward(self, x):
        return self.conv2(ops.relu(self.conv1(x)))


class Block(nn.Module):
    """Post-norm transformer block with a convolutional feed-forward; its results are zero in the padding."""

    def __init__(self, c: Config):
        super().__init__()
        self.attention = nn.SelfAttention(c.channels, c.heads)
        self.attention_norm = nn.LayerNorm(c.channels)
        self.ffn = FeedForward(c.channels, c.filter, c.kernels)
        self.ffn_norm = nn.LayerNorm(c.channels)
        self.attention_dropout = nn.Dropout(c.dropout)
        self.ffn_dropout = nn.Dropout(c.dropout)

    def forward(self, x, lengths):
        attended = self.attention_dropout(self.attention(x, lengths))
        x = self.attention_norm(ops.add(attended, x, name="attention_residual"))
        x = ops.mask(x, lengths, name="attention_mask")
        y = self.ffn_norm(ops.add(self.ffn_dropout(self.ffn(x)), x, name="ffn_residual"))
        return ops.mask(y, lengths, name="ffn_mask")


class VariancePredictor(nn.Module):
    """One number per phone: twice Conv1d → ReLU → LayerNorm → dropout, then a linear layer."""

    def __init__(self, c: Config):
        super().__init__()
        self.conv1 = nn.Conv1d(c.channels, c.variance_filter, c.variance_kernel)
        self.norm1 = nn.LayerNorm(c.variance_filter)
        self.conv2 = nn.Conv1d(c.variance_filter, c.variance_filter, c.variance_kernel)
        self.norm2 = nn.LayerNorm(c.variance_filter)
        self.linear = nn.Linear(c.variance_filter, 1)
        self.dropout1 = nn.Dropout(c.variance_dropout)
        self.dropout2 = nn.Dropout(c.variance_dropout)

    def forward(self, x, lengths):
        x = self.dropout1(self.norm1(ops.relu(self.conv1(x))))
        x = self.dropout2(self.norm2(ops.relu(self.conv2(x))))
        return ops.mask(ops.squeeze(self.linear(x), -1), lengths)


class BinnedEmbedding(nn.Module):
    """Embeds a number by the bin it falls in; the boundaries are not trained."""

    def __init__(self, bins: int, channels: int, bounds: tuple[float, float]):
        super().__init__()
        self.boundaries = nn.Parameter((bins - 1,), nn.linspace(*bounds), frozen=True)
        self.embedding = nn.Embedding(bins, channels)

    def forward(self, x):
        return self.embedding(ops.bucketize(x, self.boundaries))


class VarianceAdaptor(nn.Module):
    """Predicts duration, pitch and energy per phone, and adds embeddings of the pitch and energy that it is to speak with."""

    def __init__(self, c: Config):
        super().__init__()
        self.duration = VariancePredictor(c)
        self.pitch = VariancePredictor(c)
        self.energy = VariancePredictor(c)
        self.pitch_bins = BinnedEmbedding(c.bins, c.channels, c.pitch_range)
        self.energy_bins = BinnedEmbedding(c.bins, c.channels, c.energy_range)

    def forward(self, x, lengths, spoken_pitch, spoken_energy):
        """`spoken_…` are functions of the predicted value."""
        log_durations = self.duration(x, lengths)
        pitch = self.pitch(x, lengths)
        x = x + self.pitch_bins(spoken_pitch(pitch))
        energy = self.energy(x, lengths)
        x = x + self.energy_bins(spoken_energy(energy))
        return x, log_durations, pitch, energy


class PostNetLayer(nn.Module):
    """Conv1d → BatchNorm → tanh (not in the last layer) → dropout."""

    def __init__(self, inputs: int, outputs: int, c: Config, is_last: bool):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, c.postnet_kernel)
        self.norm = nn.BatchNorm1d(outputs)
        self.dropout = nn.Dropout(c.postnet_dropout)
        self.is_last = is_last

    def forward(self, x, lengths):
        x = self.norm(self.conv(x), lengths)
        return self.dropout(x if self.is_last else ops.tanh(x))


class PostNet(nn.Module):
    """What is added to a mel to refine it (Tacotron 2's, arXiv:1712.05884)."""

    def __init__(self, c: Config):
        super().__init__()
        sizes = [c.mels, *[c.postnet_channels] * (c.postnet_layers - 1), c.mels]
        last = c.postnet_layers - 1
        self.layers = nn.ModuleList(
            PostNetLayer(inputs, outputs, c, i == last) for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes))
        )

    def forward(self, x, lengths):
        for layer in self.layers:
            x = layer(x, lengths)
        return x


class FastSpeech2(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.embedding = nn.Embedding(c.symbols, c.channels)
        self.encoder = nn.ModuleList(Block(c) for _ in range(c.encoder_blocks))
        self.variance = VarianceAdaptor(c)
        self.decoder = nn.ModuleList(Block(c) for _ in range(c.decoder_blocks))
        self.mel = nn.Linear(c.channels, c.mels)
        self.has_postnet = c.postnet
        if c.postnet:
            self.postnet = PostNet(c)
        self.encoder_positions = nn.Sinusoid()
        self.decoder_positions = nn.Sinusoid()

    def forward(self, phones, phone_lengths, durations, pitch, energy, mel_lengths):
        x = self.encode(phones, phone_lengths)
        x, *predicted = self.variance(x, phone_lengths, lambda _: pitch, lambda _: energy)
        return self.decode(x, durations, mel_lengths), *predicted

    def refine(self, mel, mel_lengths):
        """The mel and what the PostNet adds; the mel itself without one."""
        if not self.has_postnet:
            return mel
        return ops.add(mel, self.postnet(mel, mel_lengths), name="refined_mel")

    def encode(self, phones, phone_lengths):
        x = self.encoder_positions(self.embedding(phones))
        for block in self.encoder:
            x = block(x, phone_lengths)
        return x

    def decode(self, x, durations, mel_lengths):
        x = self.decoder_positions(ops.length_regulate(x, durations, "frames"))
        for block in self.decoder:
            x = block(x, mel_lengths)
        return self.mel(x)

    def speak(self, phones, phone_lengths, duration_scale, pitch_shift, energy_shift) -> dict[str, nn.Value]:
        """Everything predicted; a scale of the durations and shifts of pitch and energy, per phone, are the caller's."""
        x = self.encode(phones, phone_lengths)
        x, log_durations, pitch, energy = self.variance(
            x, phone_lengths, lambda predicted: predicted + pitch_shift, lambda predicted: predicted + energy_shift
        )
        durations = spoken_durations(log_durations, duration_scale)
        wanted, mel_lengths = spoken_frames(durations)
        mel = self.refine(self.decode(x, durations, mel_lengths), mel_lengths)
        told = {"mel": mel, "mel_lengths": mel_lengths, "wanted_frames": wanted, "durations": durations}
        return told | {"pitch": pitch, "energy": energy}


def spoken_durations(log_durations, scale):
    """The nearest whole number of frames to scale · (e^p - 1), p predicted; none below 0, none in the padding."""
    grown = ops.exp(log_durations, name="grown_durations")
    ones = ops.full(grown.graph, 1.0, grown.shape, name="one_frame")
    return ops.round_to_int(ops.relu(ops.mul(ops.sub(grown, ones), scale)), name="spoken_durations")


def spoken_frames(durations) -> tuple[nn.Value, nn.Value]:
    """How many frames each utterance wants, and how many of them the bucket has."""
    graph = durations.graph
    wanted = ops.round_to_int(ops.sum_to(ops.cast(durations), [0]), name="wanted_frames")
    frames = ops.mask(ops.full(graph, 1.0, FRAMES, name="every_frame"), wanted, name="wanted_and_there")
    return wanted, ops.round_to_int(ops.sum_to(frames, [0]), lengths="frames", name="mel_lengths")


def build_infer(c: Config) -> nn.Graph:
    """The program that speaks. Controls are neutral at 1, 0 and 0; pitch and energy count in standard deviations."""
    graph = nn.Graph("infer")
    model = FastSpeech2(c).bind(graph)
    phones = graph.input("phones", PHONES, "i32")
    phone_lengths = graph.input("phone_lengths", ("batch",), "i32", lengths="text")
    controls = [graph.input(name, PHONES) for name in ("duration_scale", "pitch_shift", "energy_shift")]
    for name, value in model.speak(phones, phone_lengths, *controls).items():
        graph.output(name, value, lengths="frames" if name == "wanted_frames" else None)
    return graph


def build(c: Config) -> tuple[nn.Graph, FastSpeech2]:
    """The training function with its four losses, five with PostNet; each is a sum with its own denominator."""
    graph = nn.Graph()
    model = FastSpeech2(c).bind(graph)
    phones = graph.input("phones", PHONES, "i32")
    phone_lengths = graph.input("phone_lengths", ("batch",), "i32", lengths="text")
    durations = graph.input("durations", PHONES, "i32")
    pitch = graph.input("pitch", PHONES)
    energy = graph.input("energy", PHONES)
    mel = graph.input("mel", (*FRAMES, c.mels))
    mel_lengths = graph.input("mel_lengths", ("batch",), "i32", lengths="frames")

    first_mel, *predicted = model(phones, phone_lengths, durations, pitch, energy, mel_lengths)
    predicted_mel = model.refine(first_mel, mel_lengths)
    mels = {"mel": first_mel} | ({"refined_mel": predicted_mel} if c.postnet else {})
    for name, prediction in mels.items():
        frames = ops.count(mel_lengths, per=float(c.mels), name=f"{name}_count")
        graph.loss(name, ops.l1_loss(prediction, mel, mel_lengths, name=f"{name}_loss"), frames)
    targets = {
        "duration": ops.log1p(ops.cast(durations, name="durations"), name="log_durations"),
        "pitch": pitch,
        "energy": energy,
    }
    for (name, target), prediction in zip(targets.items(), predicted):
        total = ops.mse_loss(prediction, target, phone_lengths, name=f"{name}_loss")
        graph.loss(name, total, ops.count(phone_lengths, name=f"{name}_count"))
    for name, value in zip(("mel", "log_durations", "pitch", "energy"), (predicted_mel, *predicted)):
        graph.output(name, value)
    return graph, model


def text(c: Config, features_hash: str | None = None) -> str:
    """The module as MLIR text."""
    graph, _ = build(c)
    return graph.text(
        batch=c.batch,
        buckets=list(c.buckets),
        infer=build_infer(c),
        hardware="host",
        features_hash=features_hash,
        optimizer="adamw",
        grad_clip=1.0,
        ema_decay=0.999,
        lr=c.lr,
        warmup=c.warmup,
        schedule="noam",
    )


def with_postnet(c: Config) -> Config:
    """The config with a PostNet, and with one bucket, in which every utterance of an update finds room."""
    largest = {name: max(bucket[name] for bucket in c.buckets) for name in c.buckets[0]}
    return replace(c, postnet=True, buckets=(largest,))


def fitted(c: Config, manifest: dict, place: str) -> Config:
    """The config with what the corpus decides: symbols, mels, buckets and ranges of pitch and energy."""
    try:
        told = manifest["statistics"]
        return replace(
            c,
            symbols=len(manifest["symbols"]),
            mels=manifest["features"]["n_mels"],
            buckets=tuple(manifest["suggested_buckets"]),
            pitch_range=(told["pitch_min"], told["pitch_max"]),
            energy_range=(told["energy_min"], told["energy_max"]),
        )
    except (KeyError, TypeError) as error:
        raise InputError(place, f"the manifest lacks {error}", "prepare the corpus again") from error


def main(arguments: list[str] | None = None) -> int:
    rates = RATES | {"variance-dropout": "dropout in the variance predictors"}
    switches = {"postnet": "refine the mels by five convolutions (one bucket)"}
    told = parse_arguments("fastspeech2", SIZES, arguments, rates, switches=switches)
    config, features_hash = of_corpus(told, SIZES[told.size], fitted)
    if told.postnet:
        config = with_postnet(config)
    config = with_flags(told, config, "dropout", "variance_dropout")
    with graph_errors():
        write_text(told.output, text(config, features_hash))
        count = FastSpeech2(config).parameter_count(trainable_only=True)
    tell(told, f"FastSpeech 2 {told.size}{' with PostNet' if told.postnet else ''}", count, config)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
