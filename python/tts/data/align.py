"""Forced alignment by pocketsphinx: one linear phone grammar per utterance, silences optional around words."""

import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tts.data.errors import InputError
from tts.data.phones import CONSONANTS, SILENCE, VOWELS
from tts.data.progress import Progress

MODEL = Path("/usr/share/pocketsphinx/model/en-us/en-us")
_FILLER = "<sil>"  # the model's own name for silence
_FRAME_SECONDS, _WINDOW_SECONDS = 0.01, 0.025625
# Frame j's window is centred at 10 j + 12.8 ms, so the border before it lies
# half a frame earlier.
_BORDER_OFFSET = (_WINDOW_SECONDS - _FRAME_SECONDS) / 2
_FLAGS = ("-adcin yes -fsgusefiller no -bestpath no -remove_silence no -cmn batch -dither no "
          "-beam 1e-200 -pbeam 1e-200 -wbeam 1e-200").split()  # fmt: skip
_UTTERANCES_PER_RUN = 24


@dataclass(frozen=True)
class Segment:
    phone: str
    begin: float  # seconds
    end: float


def grammar(name: str, words: list[list[str]]) -> str:
    """The finite-state grammar that accepts exactly these words, with an optional silence around each."""
    arcs, state = [], 0

    def silence() -> None:
        nonlocal state
        arcs.append(f"TRANSITION {state} {state + 1} 0.5 {_FILLER}")
        arcs.append(f"TRANSITION {state} {state + 1} 0.5")
        state += 1

    for word in words:
        silence()
        for phone in word:
            arcs.append(f"TRANSITION {state} {state + 1} 1.0 {phone}")
            state += 1
    silence()
    head = [f"FSG_BEGIN {name}", f"NUM_STATES {state + 1}", "START_STATE 0", f"FINAL_STATE {state}"]
    return "\n".join([*head, *arcs, "FSG_END", ""])


def parse_segmentation(line: str) -> tuple[str, list[Segment]]:
    """A line `id S score T score A score L score (begin acoustic language word)* end` of -hypseg."""
    identity, *fields = line.split()
    fields = fields[8:]
    marks = [(int(fields[i]), fields[i + 3]) for i in range(0, len(fields) - 1, 4)]
    marks = [mark for mark in marks if mark[1] != "(NULL)"]
    begins = [begin for begin, _ in marks] + [int(fields[-1])]
    seconds = [frame * _FRAME_SECONDS + _BORDER_OFFSET if frame else 0.0 for frame in begins]
    phones = [SILENCE if word == _FILLER else word for _, word in marks]
    return identity, [Segment(*values) for values in zip(phones, seconds, seconds[1:], strict=False)]


def align(words: dict[str, list[list[str]]], audio: Path, jobs: int) -> dict[str, list[Segment]]:
    """Aligns `audio/<id>.raw` with the words of every id; an id that does not align is missing from the answer."""
    if not MODEL.exists():
        raise InputError(MODEL, "the acoustic model is missing", "install the Debian package pocketsphinx-en-us")
    # Longest first and dealt in turn, so that no run is left with all the long ones.
    order = sorted(words, key=lambda identity: (-sum(map(len, words[identity])), identity))
    runs = max(1, -(-len(order) // _UTTERANCES_PER_RUN))
    chunks = [order[run::runs] for run in range(runs)]
    progress, aligned = Progress("align", len(order)), {}
    with ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda chunk: _align_chunk(chunk, words, audio), chunks)
        for chunk, result in zip(chunks, done, strict=True):
            aligned.update(result)
            progress.advance(len(chunk))
    return {identity: found for identity, found in aligned.items() if _complete(found, words[identity])}


def _complete(segments: list[Segment], words: list[list[str]]) -> bool:
    """A search that died early leaves fewer phones than the grammar demands."""
    return [s.phone for s in segments if s.phone != SILENCE] == [phone for word in words for phone in word]


def _align_chunk(chunk: Iterable[str], words: dict[str, list[list[str]]], audio: Path) -> dict[str, list[Segment]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for identity in chunk:
            (folder / f"{identity}.fsg").write_text(grammar(identity, words[identity]))
        (folder / "list").write_text("".join(f"{identity}\n" for identity in chunk))
        (folder / "dictionary").write_text(_dictionary())
        command = ["pocketsphinx_batch", "-hmm", MODEL, "-dict", folder / "dictionary", *_FLAGS]
        command += ["-fsgctl", folder / "list", "-fsgdir", folder, "-fsgext", ".fsg"]
        command += ["-ctl", folder / "list", "-cepdir", audio, "-cepext", ".raw", "-hypseg", folder / "segments"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise InputError("pocketsphinx_batch", "not found", "install the Debian package pocketsphinx") from error
        if done.returncode != 0 or not (folder / "segments").exists():
            message = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(
                "pocketsphinx_batch", f"failed: {message}", "reinstall pocketsphinx and pocketsphinx-en-us"
            )
        return dict(parse_segmentation(line) for line in (folder / "segments").read_text().splitlines() if line.strip())


def _dictionary() -> str:
    """Every phone is a word of one phone; the model knows no schwa."""
    return "".join(f"{phone} {'AH' if phone == 'ax' else phone.upper()}\n" for phone in sorted(VOWELS + CONSONANTS))
