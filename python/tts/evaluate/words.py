"""Intelligibility: what pocketsphinx understands of a sound, and the word error rate against the transcript."""

import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tts.data.align import MODEL
from tts.data.errors import InputError
from tts.data.progress import Progress

_GRAMMAR, _DICTIONARY = MODEL.parent / "en-us.lm.bin", MODEL.parent / "cmudict-en-us.dict"
_DIGITS = "zero one two three four five six seven eight nine".split()


def normalised(text: str) -> list[str]:
    """Words in lower case without punctuation; digits are read one by one."""
    spoken = re.sub(r"\d", lambda digit: f" {_DIGITS[int(digit[0])]} ", text.lower())
    # "witheld" stays as written; "don't" is one word, quotes around words are none.
    return [word for piece in re.findall(r"[a-z']+", spoken) if (word := piece.strip("'"))]


def errors(reference: list[str], heard: list[str]) -> tuple[int, int]:
    """Substitutions + insertions + deletions, and the words of the reference."""
    import jiwer

    told = jiwer.process_words(" ".join(reference), " ".join(heard))
    return told.substitutions + told.insertions + told.deletions, len(reference)


def recognise(names: list[str], folder: Path, jobs: int) -> dict[str, str]:
    """What is heard in `folder/<name>.raw` (16 kHz, signed 16 bit); empty where nothing is."""
    for path in (MODEL, _GRAMMAR, _DICTIONARY):
        if not path.exists():
            raise InputError(path, "the recogniser's model is missing", "install the Debian package pocketsphinx-en-us")
    # Longest first and dealt in turn, so that no run is left with all the long ones.
    order = sorted(names, key=lambda name: (-(folder / f"{name}.raw").stat().st_size, name))
    runs = max(1, min(2 * jobs, len(order)))
    progress, heard = Progress("listen", len(order), "sounds"), {}
    with ThreadPoolExecutor(jobs) as pool:
        for chunk in pool.map(lambda chunk: _recognise_chunk(chunk, folder), [order[run::runs] for run in range(runs)]):
            heard |= chunk
            progress.advance(len(chunk))
    return heard


def _recognise_chunk(names: list[str], folder: Path) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as own:
        listed, written = Path(own) / "list", Path(own) / "heard"
        listed.write_text("".join(f"{name}\n" for name in names))
        command = [
            "pocketsphinx_batch",
            "-hmm",
            MODEL,
            "-lm",
            _GRAMMAR,
            "-dict",
            _DICTIONARY,
            "-adcin",
            "yes",
            "-cmn",
            "batch",
        ]
        command += ["-ctl", listed, "-cepdir", folder, "-cepext", ".raw", "-hyp", written]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise InputError("pocketsphinx_batch", "not found", "install the Debian package pocketsphinx") from error
        if done.returncode != 0 or not written.exists():
            message = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(
                "pocketsphinx_batch", f"failed: {message}", "reinstall pocketsphinx and pocketsphinx-en-us"
            )
        return dict.fromkeys(names, "") | dict(parse_heard(line) for line in written.read_text().splitlines() if line)


def parse_heard(line: str) -> tuple[str, str]:
    """A line `words (name score)` of -hyp; variants of a word are numbered, `a(2)`."""
    text, _, mark = line.rpartition(" (")
    return mark.split(" ")[0], " ".join(re.sub(r"\(\d+\)", "", text).split())
