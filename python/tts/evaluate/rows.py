"""An utterance of the split: what was recorded, predicted and spoken of it, and what has been measured so far."""

from dataclasses import dataclass, field

import numpy as np

from tts.evaluate import measures
from tts.evaluate.measures import Sums


@dataclass
class Row:
    id: str
    recorded: dict[str, np.ndarray]  # the corpus's tensors
    predicted: dict[str, np.ndarray]  # what eval hands out, teacher-forced
    spoken: np.ndarray | None  # the mel from phones alone
    text: str | None
    sums: Sums = field(default_factory=dict)
    sounds: list[str] = field(default_factory=list)  # systems that became audible
    heard: dict[str, str] = field(default_factory=dict)
    samples: dict[str, str] = field(default_factory=dict)

    def mels(self, statistics: dict, shortest: int) -> dict[str, np.ndarray]:
        """By system, in log scale; one too short to be a sound is none."""
        told = {"recorded": self.recorded["mel"], "predicted": self.predicted.get("mel"), "spoken": self.spoken}
        return {
            system: np.asarray(mel, np.float64) * statistics["mel_std"] + statistics["mel_mean"]
            for system, mel in told.items()
            if mel is not None and (system == "recorded" or len(mel) >= shortest)
        }

    def told(self) -> dict:
        """The row of evaluation.json."""
        return {
            "id": self.id,
            "text": self.text,
            "frames": len(self.recorded["mel"]),
            "phones": len(self.recorded["phones"]),
            "values": measures.values(self.sums),
            "heard": self.heard,
            "samples": self.samples,
        }
