"""Our side: the compiled model as a library, through tts.runtime."""

import ctypes
import sys
from pathlib import Path

import numpy as np

from worker import serve

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from tts.runtime import Session

ISA = {0x27: "AVX-512", 0x67: "AVX-512 VNNI", 0xE7: "AVX-512 bfloat16", 0x3E7: "AMX"}  # of dnnl_cpu_isa_t


class DnnlVersion(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")]


def onednn():
    """Version and instruction set of the oneDNN that the model is linked with."""
    library = ctypes.CDLL("libdnnl.so.2")
    library.dnnl_version.restype = ctypes.POINTER(DnnlVersion)
    version = library.dnnl_version().contents
    isa = library.dnnl_get_effective_cpu_isa()
    return f"oneDNN {version.major}.{version.minor}.{version.patch}, {ISA.get(isa, f'instruction set {isa:#x}')}"


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
            "libraries": [onednn()],
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
