"""What one utterance costs: its mel's distortion, and if it is to be heard its three sounds, written and compared."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.evaluate import cepstra, prosody
from tts.evaluate.measures import Sums


@dataclass(frozen=True)
class Work:
    """An utterance for a worker process; mels are in log scale."""

    id: str
    recorded: np.ndarray
    predicted: np.ndarray | None  # None: the model hands out no mel
    recording: np.ndarray | None  # None: not to be had
    audible: bool
    rated: bool
    folder: Path  # for the sounds, <id>.<system>.raw
    features: Features


def sound_name(identity: str, system: str) -> str:
    return f"{identity}.{system}"


def measure(work: Work) -> tuple[str, Sums, list[str]]:
    """The sums, and the systems whose sounds now lie in the folder."""
    sums: Sums = {}
    if work.predicted is not None and work.features.n_mels > cepstra.ORDER:
        ours, theirs = cepstra.of_mel(work.predicted), cepstra.of_mel(work.recorded)
        sums["mcd.mel"] = cepstra.distortion(ours, theirs, cepstra.align(ours, theirs))
    waves = _waves(work) if work.audible else {}
    for system, wave in waves.items():
        path = work.folder / f"{sound_name(work.id, system)}.raw"
        np.clip(np.rint(wave * 32768.0), -32768, 32767).astype("<i2").tofile(path)
    if "recording" in waves:
        sums |= _against_recording(waves, work.features.sample_rate)
    if work.rated:
        from tts.evaluate.naturalness import opinion

        sums |= {f"mos.{system}": (opinion(wave), 1) for system, wave in waves.items()}
    return work.id, sums, list(waves)


def _waves(work: Work) -> dict[str, np.ndarray]:
    from tts.audio.vocoder import griffin_lim

    waves = {} if work.recording is None else {"recording": work.recording}
    waves["recorded"] = griffin_lim(work.recorded, work.features)
    if work.predicted is not None:
        waves["predicted"] = griffin_lim(work.predicted, work.features)
    return waves


def _against_recording(waves: dict[str, np.ndarray], rate: int) -> Sums:
    sums: Sums = {}
    reference, reference_f0 = cepstra.of_wave(waves["recording"], rate)
    for system in waves.keys() - {"recording"}:
        ours, f0 = cepstra.of_wave(waves[system], rate)
        path = cepstra.align(ours, reference)
        sums[f"mcd.{system}"] = cepstra.distortion(ours, reference, path)
        sums |= prosody.frame_errors(f0, reference_f0, path, system)
    return sums
