"""What one utterance costs: its mel's distortion, and if it is to be heard its three sounds, written and compared."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.audio.features import Features
from tts.evaluate import cepstra, prosody
from tts.evaluate.measures import Sums


@dataclass(frozen=True)
class Work:
    """An utterance for a worker process."""

    id: str
    mels: dict[str, np.ndarray]  # by system, in log scale
    recording: np.ndarray | None  # None: not to be had
    audible: bool
    rated: bool
    folder: Path  # for the sounds, <id>.<system>.raw
    features: Features


def sound_name(identity: str, system: str) -> str:
    return f"{identity}.{system}"


def shortest(features: Features) -> int:
    """The frames that a mel needs to become a sound: one window."""
    return 1 + -(-features.n_fft // features.hop)


def measure(work: Work) -> tuple[str, Sums, list[str]]:
    """The sums, and the systems whose sounds now lie in the folder."""
    sums = _against_recorded_mel(work.mels) if work.features.n_mels > cepstra.ORDER else {}
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


def _against_recorded_mel(mels: dict[str, np.ndarray]) -> Sums:
    sums: Sums = {}
    reference = cepstra.of_mel(mels["recorded"])
    for system, key in (("predicted", "mcd.mel"), ("spoken", "mcd.mel.spoken")):
        if system in mels:
            ours = cepstra.of_mel(mels[system])
            sums[key] = cepstra.distortion(ours, reference, cepstra.align(ours, reference))
    return sums


def _waves(work: Work) -> dict[str, np.ndarray]:
    from tts.audio.vocoder import griffin_lim

    waves = {} if work.recording is None else {"recording": work.recording}
    return waves | {system: griffin_lim(mel, work.features) for system, mel in work.mels.items()}


def _against_recording(waves: dict[str, np.ndarray], rate: int) -> Sums:
    sums: Sums = {}
    reference, reference_f0 = cepstra.of_wave(waves["recording"], rate)
    for system, wave in waves.items():
        if system == "recording":
            continue
        ours, f0 = cepstra.of_wave(wave, rate)
        path = cepstra.align(ours, reference)
        sums[f"mcd.{system}"] = cepstra.distortion(ours, reference, path)
        sums |= prosody.frame_errors(f0, reference_f0, path, system)
    return sums
