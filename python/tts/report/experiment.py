"""Whether a run was the experiment that was planned, or another run's: parameters, corpus, batch and rates, and the
trace of all updates. A plan may change memory and time; whatever else differs is listed here by name.
"""

import math
import struct
import zlib
from dataclasses import dataclass

#: What the plan and a run's last line both tell, in reading order.
SETTINGS = {
    "parameters": "Parameters",
    "corpus_hash": "Corpus",
    "batch": "Batch",
    "batch_frames": "Frames of a batch",
    "lr": "Rate",
    "warmup": "Warm-up updates",
    "schedule": "Schedule",
    "weight_decay": "Weight decay",
    "ema": "Decay of averages",
}
#: What two runs can be compared in besides.
OF_RUNS = {"seed": "Seed", "steps": "Last update of the schedule"}


@dataclass(frozen=True)
class Row:
    """A setting as planned (or of another run) and as trained; None: not told. `same` is None where that is so."""

    name: str
    planned: object
    trained: object

    @property
    def same(self) -> bool | None:
        if self.planned is None or self.trained is None:
            return None
        if isinstance(self.planned, float) and isinstance(self.trained, int | float):
            return math.isclose(self.planned, self.trained, rel_tol=1e-9)
        return self.planned == self.trained

    @property
    def difference(self) -> str:
        return f"{self.name[0].lower()}{self.name[1:]} {self.trained} instead of {self.planned}"


def settings(planned: dict, trained: dict, names: dict[str, str] = SETTINGS) -> list[Row]:
    """A row for each setting that either side knows; of what is left out, none and 0 are the same."""
    if trained.get("batch_frames"):  # how many utterances that was is no setting
        names = {key: title for key, title in names.items() if key != "batch"}
    rows = [Row(title, planned.get(key) or None, trained.get(key) or None) for key, title in names.items()]
    return [row for row in rows if (row.planned, row.trained) != (None, None)]


def rate(step: int, experiment: dict) -> float:
    """The rate of an update, as docs/running.md defines the schedules."""
    lr, warmup = experiment["lr"], experiment["warmup"]
    if step < warmup:
        return lr * step / warmup
    if experiment["schedule"] == "noam":
        return lr * math.sqrt(max(warmup, 1) / step)
    if experiment["schedule"] == "cosine":
        along = min(1.0, (step - warmup) / max(experiment["steps"] - warmup, 1))
        return lr * 0.5 * (1 + math.cos(math.pi * along))
    return lr


def trace_faults(updates: list[dict], trained: dict) -> list[str]:
    """What of the updates' lines is not what the settings and the trace of the last line say.

    Where settings were changed on the way (`changes`), the lines are only compared with the trace.
    """
    faults = []
    if not trained.get("changes"):
        wrong = [u["step"] for u in updates if not math.isclose(u["lr"], rate(u["step"], trained), rel_tol=1e-12)]
        faults += _listed("rates that the schedule does not give", wrong)
        if not trained.get("batch_frames"):
            faults += _listed(
                "another batch", [u["step"] for u in updates if u.get("utterances") not in (None, trained["batch"])]
            )
    trace = trained.get("trace")
    if trace and [u["step"] for u in updates] == list(range(1, trace["updates"] + 1)):
        crc = 0
        for update in updates:
            crc = zlib.crc32(struct.pack("<d", update["lr"]), crc)
        if f"{crc:08x}" != trace["rates"]:
            faults.append(f"the rates of its updates ({crc:08x}) are not those of its trace ({trace['rates']})")
    return faults


def _listed(what: str, steps: list[int]) -> list[str]:
    if not steps:
        return []
    return [
        f"{what} at update{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps[:3]))}{' …' * (len(steps) > 3)}"
    ]


def differences(planned: dict, trained: dict, updates: list[dict]) -> list[str]:
    """Why a run was not the experiment of the plan; empty: it was, as far as both tell."""
    found = [row.difference for row in settings(planned, trained) if row.same is False]
    return found + list(trained.get("changes", [])) + trace_faults(updates, trained)


def between_runs(one: dict, other: dict) -> list[Row]:
    """Two runs' settings and traces. Traces are of all updates, so they can be compared where these are as many."""
    rows = settings(one, other, SETTINGS | OF_RUNS)
    traces = [experiment.get("trace") or {} for experiment in (one, other)]
    rows.append(Row("Updates", *(trace.get("updates") for trace in traces)))
    if rows[-1].same:
        rows += [Row(f"Trace of {key}", *(trace.get(key) for trace in traces)) for key in ("utterances", "rates")]
    return rows
