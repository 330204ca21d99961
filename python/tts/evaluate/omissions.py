"""Why an evaluation lacks a measure: nobody has to guess whether a number is missing or forgotten."""

from tts.audio.features import Features
from tts.evaluate import cepstra, measures
from tts.evaluate.rows import Row

_OUTPUTS = {"duration": "log_durations", "pitch": "pitch", "energy": "energy"}


def left_out(
    metrics: list[dict], rows: dict[str, Row], counts: dict, missing: str, mute: str, features: Features
) -> list[dict]:
    """Every key without a metric, and what only some utterances lack. `missing`: of recordings; `mute`: of the spoken."""
    having = {metric["key"] for metric in metrics}
    outputs = set().union(*(row.predicted for row in rows.values()))

    def reason(key: str) -> str:
        kind, system = key.split(".")[0], key.split(".")[-1]
        needed = _OUTPUTS.get(kind) or ("mel" if key == "mcd.mel" or system == "predicted" else None)
        if needed and needed not in outputs:
            return f"the model hands out no {needed}"
        if key.startswith("mcd.mel") and features.n_mels <= cepstra.ORDER:
            return f"{features.n_mels} mel bands hold no {cepstra.ORDER} cepstral coefficients"
        if not key.startswith("mcd.mel") and not counts["audible"]:
            return "no utterance was to be made audible"
        if kind == "mos" and not counts["rated"]:
            return "no utterance was to be rated"
        if kind == "wer" and not any(row.text for row in rows.values()):
            return "the corpus has no transcripts"
        if system == "spoken" and mute:
            return mute
        return missing or "nothing to count was left"

    told = [{"what": key, "reason": reason(key)} for key in measures.MEASURES if key not in having]
    if missing and "mcd.recorded" in having:
        told.append({"what": "some recordings", "reason": missing})
    if mute and "mcd.mel.spoken" in having:
        told.append({"what": "some of the spoken", "reason": mute})
    return told
