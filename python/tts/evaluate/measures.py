"""What is measured: every key's title, unit and recipe, and sums over utterances that each frame or word enters once."""

import math
from dataclasses import dataclass

_MCD = (
    "(10 / ln 10) * sqrt(2 * sum over i = 1..24 of (c_i - c'_i)^2), mean over the pairs of frames on the path of dynamic time "
    "warping (steps (1,1), (1,0), (0,1), each pair costs its own distance), of all utterances together; c_0, the level, is out. "
)
RECIPES = {
    "loss": "of the executable's own eval program over the whole split: sum of the term / its denominator",
    "mcd.mel": _MCD
    + "c_i: the amplitude of cos(pi i (n + 1/2) / N) in the ln of the corpus's mel magnitudes, n < N bands, by scipy's "
    "orthonormal DCT-II. No vocoder is in it.",
    "mcd.wave": _MCD
    + "c_i: mel cepstrum of the WORLD envelope's ln magnitude, by pyworld: dio + stonemask (71-500 Hz), cheaptrick, "
    "code_spectral_envelope / sqrt(2), every 5 ms. Of the waveform from Griffin-Lim (60 iterations) against the recording.",
    "duration": "|expm1(predicted log duration) - recorded duration|, below 0 as 0; mean over phones in frames, and in ms by hop / sample rate",
    "duration.total": "sum over utterances of |predicted length - recorded length| / sum of recorded lengths, lengths as sums of durations before rounding",
    "pitch": "root mean square over phones of predicted - recorded mean log-F0, 1200 cents an octave (interpolated where unvoiced)",
    "energy": "root mean square over phones of predicted - recorded mean energy, in standard deviations of the training split",
    "f0": "root mean square over frames that are voiced in both, on the path of mcd.wave, 1200 cents an octave; F0 by WORLD as there",
    "voicing": "share of the frames on the path of mcd.wave that are voiced in just one of the two",
    "wer": "(substitutions + insertions + deletions) / words of the transcripts, by jiwer; pocketsphinx with its general English "
    "model and 3-gram; lower case, no punctuation, digits read one by one",
    "mos": "mean of distillmos's predicted opinion, 1 to 5: use differences only, no person listened",
}


@dataclass(frozen=True)
class Measure:
    title: str
    unit: str
    recipe: str
    of: str  # what is counted
    scale: float = 1.0
    root: bool = False  # the sum is one of squares

    def value(self, total: float, count: int) -> float:
        mean = total / count
        return self.scale * (math.sqrt(mean) if self.root else mean)


_VOCODER = {"recorded": "recorded mel", "predicted": "predicted mel", "spoken": "spoken mel"}
SYSTEMS = {"recording": "recording"} | {system: f"{of} by Griffin-Lim" for system, of in _VOCODER.items()}
CENTS = 1200 / math.log(2)


def _measures() -> dict[str, Measure]:
    told = {
        "mcd.mel": Measure("MCD, predicted mel against recorded mel", "dB", "mcd.mel", "aligned frames"),
        "mcd.mel.spoken": Measure("MCD, spoken mel against recorded mel", "dB", "mcd.mel", "aligned frames"),
        "duration.frames": Measure("duration error of a phone", "frames", "duration", "phones"),
        "duration.ms": Measure("duration error of a phone", "ms", "duration", "phones"),
        "duration.total": Measure("duration error of an utterance", "%", "duration.total", "frames", 100),
        "pitch": Measure("pitch error of a phone", "cents", "pitch", "phones", CENTS, True),
        "energy": Measure("energy error of a phone", "deviations", "energy", "phones", root=True),
    }
    for kind, title, measure in (
        ("mcd", "MCD", ("dB", "mcd.wave", "aligned frames")),
        ("f0", "F0 error", ("cents", "f0", "voiced frames", CENTS, True)),
        ("voicing", "voicing error", ("%", "voicing", "aligned frames", 100)),
    ):
        for system, of in _VOCODER.items():
            told[f"{kind}.{system}"] = Measure(f"{title}, {of} by Griffin-Lim against recording", *measure)
    for system, of in SYSTEMS.items():
        told[f"wer.{system}"] = Measure(f"word error rate, {of}", "%", "wer", "words", 100)
    for system, of in SYSTEMS.items():
        told[f"mos.{system}"] = Measure(f"predicted MOS, {of}", "of 5", "mos", "utterances")
    return told


MEASURES = _measures()

Sums = dict[str, tuple[float, int]]  # by key: the sum and what it is over


def values(sums: Sums) -> dict[str, float]:
    return {key: MEASURES[key].value(*sums[key]) for key in MEASURES if key in sums and sums[key][1]}


def summarise(rows: dict[str, Sums]) -> list[dict]:
    """The metrics of evaluation.json, over all utterances that have them."""
    told = []
    for key, measure in MEASURES.items():
        having = [sums[key] for sums in rows.values() if key in sums and sums[key][1]]
        if having:
            total, count = (sum(column) for column in zip(*having, strict=True))
            told.append(_metric(key, measure, measure.value(total, count), count, len(having)))
    return told


def losses(total: float, terms: dict[str, float], utterances: int) -> list[dict]:
    """The same for what the executable has already reduced."""
    told = {"total": total} | terms
    return [
        _metric(
            f"loss.{name}", Measure(f"validation loss, {name}", "", "loss", "utterances"), value, utterances, utterances
        )
        for name, value in told.items()
    ]


def _metric(key: str, measure: Measure, value: float, count: int, utterances: int) -> dict:
    return {"key": key, "title": measure.title, "value": value, "unit": measure.unit, "recipe": measure.recipe,
            "count": count, "of": measure.of, "utterances": utterances}  # fmt: skip
