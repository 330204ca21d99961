"""Debian's Asterisk prompts: one speaker's recordings, their transcripts, and decoding them to 16 kHz."""

import gzip
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tts.data.errors import InputError
from tts.data.progress import Progress

SOUNDS = Path("/usr/share/asterisk/sounds/en_US_f_Allison")
TRANSCRIPTS = Path("/usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz")
LICENSE = "CC-BY-SA-3.0"

# Asides such as "[beep]", "<beep>", "(note: ...)" are not spoken.
_ASIDE = re.compile(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)")
# Names that the speaker spells or says otherwise than flite would read them.
_SPOKEN = {
    "DAHDI": "dah dee",
    "IAX": "I A X",
    "IP": "I P",
    "IVR": "I V R",
    "thousandth": "thousanth",
    "www.asterisk.org": "w w w dot asterisk dot org",
}
_FILES_PER_DECODER = 24


@dataclass(frozen=True)
class Prompt:
    id: str
    text: str  # as transcribed, without asides
    audio: Path

    @property
    def spoken(self) -> str:
        text = self.text
        for written, spoken in _SPOKEN.items():
            text = re.sub(rf"\b{re.escape(written)}\b", spoken, text)
        return text


def find_prompts(sounds: Path = SOUNDS, transcripts: Path = TRANSCRIPTS) -> tuple[list[Prompt], list[dict]]:
    """All prompts with words, by id, and the rejected rest with the reason."""
    for path, package in ((sounds, "asterisk-core-sounds-en-g722"), (transcripts, "asterisk-core-sounds-en")):
        if not path.exists():
            raise InputError(path, "the Asterisk prompts are missing", f"install the Debian package {package}")
    texts = read_transcripts(transcripts)
    prompts, rejected = [], []
    for audio in sorted(sounds.rglob("*.g722")):
        name = audio.relative_to(sounds).with_suffix("").as_posix()
        identity = name.replace("/", ".")
        text = texts.get(name)
        if text is None:
            rejected.append({"id": identity, "reason": "no transcript"})
        elif not re.search(r"\w", text):
            rejected.append({"id": identity, "reason": "no words in the transcript"})
        else:
            prompts.append(Prompt(identity, text, audio))
    return prompts, rejected


def read_transcripts(path: Path) -> dict[str, str]:
    texts = {}
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, colon, text = line.strip().partition(": ")
            if colon and not name.startswith(";"):
                texts[name] = " ".join(_ASIDE.sub(" ", text).split())
    return texts


def decode(prompts: list[Prompt], folder: Path, rate: int, jobs: int) -> dict[str, str]:
    """Writes `folder/<id>.raw` (signed 16 bit) for every prompt; returns the ids that failed, with the reason."""
    groups = [prompts[first : first + _FILES_PER_DECODER] for first in range(0, len(prompts), _FILES_PER_DECODER)]
    progress, failed = Progress("decode", len(prompts)), {}

    def decode_group(group: list[Prompt]) -> dict[str, str]:
        if _run_decoder(group, folder, rate) is None:
            return {}
        # One bad file spoils the whole call: find out which.
        errors = {prompt.id: _run_decoder([prompt], folder, rate) for prompt in group}
        return {identity: error for identity, error in errors.items() if error}

    with ThreadPoolExecutor(jobs) as pool:
        for group, errors in zip(groups, pool.map(decode_group, groups), strict=True):
            failed.update(errors)
            progress.advance(len(group))
    return failed


def _run_decoder(prompts: list[Prompt], folder: Path, rate: int) -> str | None:
    """One ffmpeg for several files, since starting it costs more than decoding a prompt."""
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-threads", "1"]
    for prompt in prompts:
        command += ["-f", "g722", "-i", str(prompt.audio)]
    for index, prompt in enumerate(prompts):
        command += ["-map", str(index), "-f", "s16le", "-ar", str(rate), "-ac", "1", str(folder / f"{prompt.id}.raw")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise InputError("ffmpeg", "not found", "install the Debian package ffmpeg") from error
    if done.returncode == 0:
        return None
    return "ffmpeg cannot decode it: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
