"""Made-up utterances with the inputs of FastSpeech 2, and their padded form for the PyTorch reference."""

import numpy as np
import torch

from reference_fastspeech2 import Batch


def utterances(lengths, symbols: int, mels: int = 80, seed: int = 0, first_id: int = 3) -> dict[str, list]:
    """One utterance per (phones, frames); durations add up to the frames."""
    rng = np.random.default_rng(seed)
    batch = {name: [] for name in ("phones", "durations", "pitch", "energy", "mel")}
    for phones, frames in lengths:
        cuts = np.sort(rng.integers(0, frames + 1, phones - 1))
        batch["phones"].append(rng.integers(1, symbols, phones))
        batch["durations"].append(np.diff(np.concatenate([[0], cuts, [frames]])))
        batch["pitch"].append(rng.normal(size=phones).astype(np.float32))
        batch["energy"].append(rng.normal(size=phones).astype(np.float32))
        batch["mel"].append(rng.normal(size=(frames, mels)).astype(np.float32))
    batch["phone_lengths"] = [np.int32(n) for n, _ in lengths]
    batch["mel_lengths"] = [np.int32(n) for _, n in lengths]
    batch["utterance"] = first_id + 7 * np.arange(len(lengths))
    return batch


def select(batch: dict, part) -> dict:
    return {name: [values[i] for i in part] for name, values in batch.items()}


def padded(batch: dict, bucket: dict[str, int], dtype=torch.float64) -> Batch:
    """The whole batch in the bucket's shape."""
    sizes = {"mel": bucket["frames"]}
    arrays = {}
    for name in ("phones", "durations", "pitch", "energy", "mel"):
        rows, time = batch[name], sizes.get(name, bucket["text"])
        whole = np.zeros((len(rows), time, *np.asarray(rows[0]).shape[1:]), np.asarray(rows[0]).dtype)
        for target, row in zip(whole, rows):
            target[: len(row)] = row
        arrays[name] = torch.from_numpy(whole)
    for name in ("pitch", "energy", "mel"):
        arrays[name] = arrays[name].to(dtype)
    lengths = {name: torch.tensor([int(n) for n in batch[name]]) for name in ("phone_lengths", "mel_lengths")}
    return Batch(**arrays, **lengths, utterance=np.asarray(batch["utterance"], np.int64))
