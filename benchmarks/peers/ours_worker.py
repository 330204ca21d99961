"""Our side: the compiled model as a library, through tts.runtime."""

import sys
from pathlib import Path

import numpy as np

from worker import serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from tts.runtime import Session


class Side:
    def __init__(self, job):
        self.job, self.session = job, Session(job.library)
        self.session.initialise(job.seed)
        with np.load(job.batch) as arrays:
            given = {name: arrays[name] for name in arrays.files}
        given["utterance"] = np.arange(len(given["phones"]))
        self.inputs = {}
        for entry in self.session.buckets[0]["inputs"]:
            dtype, shape = self.session.describe(f"input:{entry['name']}")
            self.inputs[entry["name"]] = given[entry["name"]].astype(dtype).reshape(shape)

    def about(self):
        return {
            "version": self.job.version,
            "threads": self.job.threads,
            "implementation": f"{Path(self.job.library).name}, no EMA",
            "libraries": [],
        }

    def save(self, path):
        self.session.save(path)

    def evaluate(self):
        session, total = self.session, 0.0
        for name, array in self.inputs.items():
            session.set_input(name, 0, array)
        session.run("denominators")
        counts = {loss: session.read(f"denominator:{loss}").item() for loss in session.losses}
        session.set_denominators(counts)
        for name, array in self.inputs.items():
            session.set_input(name, 0, array)
        session.run("eval")
        for loss in session.losses:
            total += session.read(f"loss:{loss}").item() / counts[loss]
        return total

    def step(self, update):
        told = self.session.step([(0, self.inputs)], self.job.lr, update, self.job.seed, self.job.weight_decay)
        return told["loss"]


serve(Side)
