"""Trains a model with `train` and its twin in PyTorch: same corpus, order, first weights, updates; compares the curves.

The twin is the reference of the numerics tests. Usage, after the build and with a corpus:

    .venv/bin/python benchmarks/twin.py --corpus=demo-out/corpus --size=small --updates=200 --eval-every=20 --out=twin-out

With --metrics=demo-out/metrics.jsonl and the flags of that run, the run is not made again. Prints both validation
curves and the largest relative difference; exits 1 if it is above --tolerance (2 %).
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "Numerics"))
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch
from safetensors import safe_open

from philox import fnv1a64, philox4x32
from reference_fastspeech2 import Draw, FastSpeech2, denominators, losses
from reference_optimizer import Optimizer, backward
from speech import padded
from tts.data.corpus import read_manifest
from tts.data.errors import InputError, Parser, run_tool
from tts.models.fastspeech2 import SIZES, fitted, text

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("phones", "durations", "pitch", "energy", "mel")
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
WORD = 2**64 - 1


# The corpus and its order (docs/corpus.md)


class Split:
    """One split in memory: utterances in the order of their global ids, from `first` on."""

    def __init__(self, folder: Path, manifest: dict, name: str, first: int):
        self.first, self.shard_sizes, self.utterances, self.ids = first, [], [], []
        for file in manifest["splits"][name]["files"]:
            with safe_open(folder / file, "numpy") as shard:
                ids = [i for i in shard.metadata()["ids"].split(",") if i]
                self.utterances += [{n: shard.get_tensor(f"{i}/{n}") for n in INPUTS} for i in ids]
                self.ids += ids
                self.shard_sizes.append(len(ids))

    def batch(self, numbers) -> dict:
        """Utterances by global id, as the reference's padding takes them."""
        rows = [self.utterances[n - self.first] for n in numbers]
        batch = {name: [row[name] for row in rows] for name in INPUTS}
        batch["phone_lengths"] = [len(row["phones"]) for row in rows]
        batch["mel_lengths"] = [len(row["mel"]) for row in rows]
        return batch | {"utterance": list(numbers)}


def hash_key(seed: int, data: bytes) -> int:
    """FNV-1a started from seed, then mixed: the key of a permutation."""
    h = fnv1a64(data, 0xCBF29CE484222325 ^ seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        h = ((h ^ (h >> shift)) * factor) & WORD
    return h


def shuffle(items: list, key: int):
    """Fisher-Yates; the word of step i is Philox of the counter i."""
    steps = np.arange(len(items) + 1, dtype=np.uint64)
    words = philox4x32((steps, 0, 0, 0), (key & 0xFFFFFFFF, key >> 32))[:, 0]
    for i in range(len(items), 1, -1):
        j = int(words[i]) * i >> 32
        items[i - 1], items[j] = items[j], items[i - 1]


def epoch_order(split: Split, seed: int, epoch: int) -> list[int]:
    """Shards round-robin, in an order of the seed alone; inside each a permutation of seed and epoch."""
    shards, start = [], split.first
    for number, size in enumerate(split.shard_sizes):
        members = list(range(start, start + size))
        shuffle(members, hash_key(seed, np.array([epoch, number], "<u8").tobytes()))
        shards.append(members)
        start += size
    order = list(range(len(shards)))
    shuffle(order, hash_key(seed, np.array([0, WORD], "<u8").tobytes()))
    longest = max(map(len, shards))
    return [shards[s][turn] for turn in range(longest) for s in order if turn < len(shards[s])]


def updates(split: Split, seed: int, batch: int):
    """The utterances of each update, through the epochs."""
    epoch, stream = 0, []
    while True:
        while len(stream) < batch:
            stream += epoch_order(split, seed, epoch)
            epoch += 1
        yield stream[:batch]
        stream = stream[batch:]


# The first weights


def uniforms(seed: int, name: str, count: int) -> np.ndarray:
    """Numbers in (0, 1), keyed by the seed and the parameter's name: the middles of 2³² cells."""
    key = hash_key(seed, name.encode())
    groups = np.arange((count + 3) // 4, dtype=np.uint64)
    words = philox4x32((groups, groups >> np.uint64(32), 0, 0), (key & 0xFFFFFFFF, key >> 32))
    return (words.reshape(-1).astype(np.float64) + 0.5) * 2.0**-32


def first_values(seed: int, name: str, kind: str, told: list[float], count: int) -> np.ndarray:
    if kind in ("zeros", "ones"):
        return np.full(count, float(kind == "ones"))
    if kind == "linspace":
        return np.linspace(*told, count)
    numbers = uniforms(seed, name, count)
    if kind == "uniform":
        return (told[0] + (told[1] - told[0]) * numbers)[:count]
    assert kind == "normal", kind
    radius, angle = np.sqrt(-2 * np.log(numbers[0::2])), 2 * np.pi * numbers[1::2]
    return told[0] * np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)[:count]


def first_weights(module: str, seed: int) -> dict[str, np.ndarray]:
    """What `train` starts with: drawn as the model file says."""
    weights = {}
    pattern = r'tensor<([\dx]*)f32> \{tts\.param = "([^"]+)", tts\.init = #tts\.init<(\w+)(?:, ([^>]+))?>'
    for sizes, name, kind, numbers in re.findall(pattern, module):
        shape = tuple(map(int, sizes.split("x")[:-1]))
        told = [float(n) for n in numbers.split(",")] if numbers else []
        weights[name] = first_values(seed, name, kind, told, int(np.prod(shape))).reshape(shape).astype(np.float32)
    return weights


# The two trainings


class Twin:
    """The reference model in f32 on one update after the other."""

    def __init__(self, config, weights: dict, manifest: dict, options):
        self.model = FastSpeech2(config)
        self.model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
        self.optimizer = Optimizer(self.model, weight_decay=options.weight_decay)
        self.options, self.mels = options, manifest["features"]["n_mels"]
        self.draw_seed = options.seed

    def rate(self, update: int) -> float:
        """Linear to the peak at the warm-up's end, then as the schedule says (docs/running.md)."""
        o = self.options
        if update < o.warmup:
            return o.lr * update / o.warmup
        if o.schedule == "noam":
            return o.lr * (max(o.warmup, 1) / update) ** 0.5
        if o.schedule == "cosine":
            along = min(1.0, (update - o.warmup) / max((o.steps or o.updates) - o.warmup, 1))
            return o.lr * 0.5 * (1 + math.cos(math.pi * along))
        return o.lr

    def micro_batches(self, split: Split, numbers, size: int = 4) -> list:
        """Sorted by length, so that padding is small; how it is cut changes rounding only."""
        numbers = sorted(numbers, key=lambda n: len(split.utterances[n - split.first]["mel"]))
        cuts = [split.batch(numbers[i : i + size]) for i in range(0, len(numbers), size)]
        shapes = [{"text": max(c["phone_lengths"]), "frames": max(c["mel_lengths"])} for c in cuts]
        return [padded(c, shape, torch.float32) for c, shape in zip(cuts, shapes)]

    def update(self, split: Split, numbers, number: int) -> float:
        told = backward(self.model, self.micro_batches(split, numbers), Draw(self.draw_seed, number - 1))
        self.optimizer.update(self.rate(number))
        return sum(told.values())

    @torch.no_grad()
    def evaluate(self, split: Split) -> float:
        """Each loss over the whole split, then their sum."""
        numbers = range(split.first, split.first + len(split.utterances))
        sums, counts = {}, {}
        for micro in self.micro_batches(split, numbers, 8):
            for name, value in losses(self.model(micro), micro).items():
                sums[name] = sums.get(name, 0.0) + float(value)
            for name, value in denominators(micro).items():
                counts[name] = counts.get(name, 0.0) + value
        return sum(sums[name] / counts[name] for name in sums)


def train_twin(twin: Twin, train: Split, validation: Split, options) -> tuple[dict, dict]:
    curve, training, start = {}, {}, time.monotonic()
    for number, numbers in enumerate(updates(train, options.seed, options.batch), 1):
        training[number] = twin.update(train, numbers, number)
        if number % options.eval_every == 0 or number == (options.steps or options.updates):
            curve[number] = twin.evaluate(validation)
            seconds = time.monotonic() - start
            print(f"twin: update {number}, val_loss {curve[number]:.5f}, {seconds:.0f} s", file=sys.stderr)
        if number == options.updates:
            return training, curve
    raise AssertionError("the stream of updates never ends")


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise InputError(
            command[0], f"exit {done.returncode}: {done.stderr.strip()[-500:]}", "see the program's message"
        )


def train_compiled(model: Path, options) -> Path:
    """Compiles and runs `train`; its metrics file."""
    program, logs = options.out / "train", options.out / "logs"
    run(TOOLS / "tts-compile", f"--memory-budget={options.memory_budget}", model, "-o", program)
    metrics = logs / "metrics.jsonl"
    metrics.unlink(missing_ok=True)
    flags = {
        "data": options.corpus,
        "steps": options.updates,
        "seed": options.seed,
        "lr": options.lr,
        "warmup": options.warmup,
        "schedule": options.schedule,
        "weight-decay": options.weight_decay,
        "eval-every": options.eval_every,
        "log-dir": logs,
    }
    run(program, *(f"--{name}={value}" for name, value in flags.items()))
    return metrics


def read_metrics(metrics: Path) -> tuple[dict, dict]:
    """Training losses and validation losses by update."""
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    curve = {row["step"]: row["val_loss"] for row in rows if "val_loss" in row}
    return {row["step"]: row["loss"] for row in rows if "loss" in row and "step" in row}, curve


# The comparison


def differences(ours: dict, twins: dict) -> dict[int, float]:
    """Relative difference at each point that the twin has."""
    missing = sorted(set(twins) - set(ours))
    if missing:
        raise InputError("metrics.jsonl", f"no val_loss at update {missing[0]}", "look at the log of train")
    return {step: abs(ours[step] - twins[step]) / abs(twins[step]) for step in sorted(twins)}


def report(ours: dict, twins: dict, training: tuple[dict, dict], options) -> int:
    told = differences(ours, twins)
    print(f"{'update':>8}{'train':>12}{'twin':>12}{'difference':>12}")
    for step, difference in told.items():
        print(f"{step:>8}{ours[step]:>12.5f}{twins[step]:>12.5f}{100 * difference:>11.3f}%")
    first = min(training[1])
    worst, at_first = max(told.values()), abs(training[0][first] / training[1][first] - 1)
    rows = {"validation": {"train": ours, "twin": twins}, "training": {"train": training[0], "twin": training[1]}}
    (options.out / "twin.json").write_text(json.dumps(rows | {"worst": worst}, indent=1) + "\n")
    print(f"first update's loss: {100 * at_first:.4f}% apart")
    print(f"largest difference of the validation curves: {100 * worst:.3f}% (at most {100 * options.tolerance:g}%)")
    return int(not worst <= options.tolerance)


def parse(arguments) -> argparse.Namespace:
    parser = Parser(prog="twin.py", description="Trains a model and its PyTorch twin and compares validation losses.")
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus directory")
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument(
        "--metrics", type=Path, help="metrics.jsonl of a run to compare with, instead of a run of its own"
    )
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument(
        "--steps", type=int, help="updates of the run in --metrics, where the twin stops before its end"
    )
    parser.add_argument("--eval-every", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--schedule", choices=["noam", "cosine", "constant"], default="noam")
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--dropout", type=float, help="of the blocks (default: the size's)")
    parser.add_argument("--variance-dropout", type=float, help="of the variance predictors (default: the size's)")
    parser.add_argument("--memory-budget", default="2G", help="for tts-compile")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch; one is faster on a busy machine")
    parser.add_argument("--tolerance", type=float, default=0.02)
    parser.add_argument("--out", type=Path, default=Path("twin-out"), help="where the model, logs and twin.json go")
    return parser.parse_args(arguments)


def main(arguments=None) -> int:
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    manifest = read_manifest(options.corpus)
    changes = {"batch": options.batch}
    for name in ("dropout", "variance_dropout"):
        if getattr(options, name) is not None:
            changes[name] = getattr(options, name)
    config = replace(fitted(SIZES[options.size], manifest, str(options.corpus)), **changes)
    module = text(config, manifest["features_hash"])
    if options.metrics is None:
        (options.out / "model.mlir").write_text(module)
        options.metrics = train_compiled(options.out / "model.mlir", options)
    our_training, our_curve = read_metrics(options.metrics)
    weights = first_weights(module, options.seed)

    train = Split(options.corpus, manifest, "train", 0)
    validation = Split(options.corpus, manifest, "validation", len(train.utterances))
    twins_training, twins_curve = train_twin(Twin(config, weights, manifest, options), train, validation, options)
    return report(our_curve, twins_curve, (our_training, twins_training), options)


if __name__ == "__main__":
    raise SystemExit(run_tool(main))
