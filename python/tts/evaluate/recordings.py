"""The recordings that a corpus was made of, decoded again: a corpus holds features, no sound."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np

from tts.data import asterisk

SOURCE = "asterisk-core-sounds-en"


def find(manifest: dict, ids: list[str], jobs: int) -> tuple[dict[str, np.ndarray], str]:
    """The waveforms in [-1, 1] of those ids that still are what the corpus saw, and why others are missing ("" if none)."""
    if manifest.get("source", {}).get("name") != SOURCE:
        return {}, "the corpus does not come from a source whose recordings are known here"
    about = {
        identity: manifest["utterances"][identity] for identity in ids if identity in manifest.get("utterances", {})
    }
    wanted = {entry["source"] for entry in about.values()}
    prompts = [prompt for prompt in asterisk.find_prompts()[0] if prompt.id in wanted]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asterisk.decode(prompts, folder, manifest["features"]["sample_rate"], jobs)
        found = {identity: _cut(folder / f"{entry['source']}.raw", entry) for identity, entry in about.items()}
    sound = {identity: wave for identity, wave in found.items() if wave is not None}
    missing = sorted(set(ids) - set(sound))
    return sound, f"no recording with the corpus's hash for {', '.join(missing)}" if missing else ""


def _cut(path: Path, about: dict) -> np.ndarray | None:
    """The utterance's part of a decoded prompt; None when it is not the audio that the corpus was made of."""
    if not path.exists():
        return None
    wave = np.fromfile(path, "<i2").astype(np.float32) / 32768
    begin, end = about.get("samples", (0, len(wave)))
    wave = wave[begin:end]
    return wave if hashlib.sha256(wave.tobytes()).hexdigest() == about.get("audio_sha256") else None


def transcripts(manifest: dict, ids: list[str]) -> dict[str, str]:
    """What is said, of those utterances that are not just a part of their transcript."""
    told = {}
    for identity in ids:
        about = manifest.get("utterances", {}).get(identity, {})
        if about.get("text") and about.get("source", identity) == identity:
            told[identity] = asterisk.Prompt(identity, about["text"], Path()).spoken
    return told
