"""A session like tts.runtime's over interpreted programs: what Differentiate made, run by NumPy in f64."""

import re
import subprocess
from pathlib import Path

import numpy as np

import interpreter
import interpreter_updates  # noqa: F401 (its rules join the interpreter's)
import ir
from tts.runtime import RuntimeFailure

STATES = {
    "tts.param": "",
    "tts.gradient": "grad:",
    "tts.moment1": "moment1:",
    "tts.moment2": "moment2:",
    "tts.ema": "ema:",
}
DTYPES = {"f32": np.float64, "i32": np.int32, "i64": np.int64}


class InterpretedSession:
    """One bucket shape per bucket of the file, with the given micro-batch."""

    def __init__(self, tool: Path, source: Path, micro_batch: int):
        command = [tool, "--tts-differentiate-pipeline", "--mlir-print-op-generic", source]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
        self.programs, self.module = ir.parse(done.stdout)
        self.dims = [self._bucket(text) | {"batch": micro_batch} for text in self.module["tts.buckets"]]
        arguments = [a for p in self.programs.values() for a in p.arguments]
        self.types = {self._name(role): kind for _, role, kind in arguments}
        self.parameters = list(dict.fromkeys(n for _, (kind, n), _ in arguments if kind == "tts.param"))
        self.trainable = [n for n in self.parameters if f"grad:{n}" in self.types]
        self.losses = [n for _, (kind, n) in self.programs["forward"].results if kind == "tts.loss"]
        self.buckets = [self._describe_bucket(dims) for dims in self.dims]
        text = source.read_text()
        self.coefficients = self._coefficients(text)
        self.inits = dict(re.findall(r'tts\.param = "([^"]+)", tts\.init = #tts\.init<([^>]+)>', text))
        settings = {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "ema": self.module.get("tts.ema_decay") or 0.0}
        self.manifest = {"optimizer": settings | {"grad_clip": self.module.get("tts.grad_clip")}}
        self.values = {name: np.zeros(self.types[name].sizes({})) for name in self.parameters}
        self._reset()

    @staticmethod
    def _bucket(text: str) -> dict[str, int]:
        inside = text[text.index("<") + 1 : text.rindex(">")]
        return {n.strip(): int(s) for n, _, s in (item.partition("=") for item in inside.split(","))}

    @staticmethod
    def _coefficients(text: str) -> dict[str, float]:
        found = re.findall(r'tts\.loss = "(\w+)", tts\.coefficient = ([\d.e+-]+)', text)
        return {name: float(value) for name, value in found}

    @staticmethod
    def _name(role: tuple[str, str]) -> str:
        kind, name = role
        return STATES[kind] + name if kind in STATES else f"{kind.removeprefix('tts.')}:{name}"

    def _describe_bucket(self, dims: dict) -> dict:
        def inputs(programs) -> list[dict]:
            found = {n: t for p in programs for _, (kind, n), t in p.arguments if kind == "tts.input"}
            dtypes = {"f32": "F64", "i32": "I32", "i64": "I64"}
            return [{"name": n, "shape": list(t.sizes(dims)), "dtype": dtypes[t.dtype]} for n, t in found.items()]

        infer = [p for kind, p in self.programs.items() if kind == "infer"]
        others = [p for kind, p in self.programs.items() if kind != "infer"]
        return {"micro_batch": dims["batch"], "inputs": inputs(others), "infer_inputs": inputs(infer)}

    # The interface of tts.runtime.Session, as far as Machine needs it

    def close(self):
        self.values.clear()

    def initialise(self, seed: int):
        """Zeros, ones and linspace as the file says, other kinds normal."""
        rng = np.random.default_rng(seed)
        for name in self.parameters:
            shape, kind = self.types[name].sizes({}), self.inits[name]
            fixed = {"zeros": np.zeros(shape), "ones": np.ones(shape)}
            if kind.startswith("linspace"):
                low, high = map(float, kind.split(",")[1:])
                self.values[name] = np.linspace(low, high, *shape)
            else:
                self.values[name] = fixed.get(kind, rng.normal(scale=0.3, size=shape))
        self._reset()

    def _reset(self):
        for name in self.trainable:
            self.values |= {f"{s}:{name}": np.zeros_like(self.values[name]) for s in ("grad", "moment1", "moment2")}
            self.values[f"ema:{name}"] = self.values[name].copy()

    def outputs(self, bucket: int = 0, program: str = "eval") -> list[str]:
        return [n for _, (kind, n) in self.programs[program].results if kind == "tts.output"]

    def describe(self, name: str, bucket: int = 0):
        kind = self.types[name]
        return DTYPES[kind.dtype], kind.sizes(self.dims[bucket])

    def read(self, name: str, bucket: int = 0) -> np.ndarray:
        return np.array(self.values[name])

    def write(self, name: str, array, bucket: int = 0):
        array = np.asarray(array)
        if name in self.types:
            dtype, shape = self.describe(name, bucket)
            assert array.shape == shape, f"{name}: {array.shape} is not {shape}"
            array = array.astype(dtype)
        self.values[name] = array.copy()

    def set_input(self, name: str, bucket: int, array):
        self.write(f"input:{name}", array, bucket)

    def set_scalars(self, seed=0, update=1, lr=0.0, weight_decay=0.0):
        o = self.manifest["optimizer"]
        self.values["scalar:draw"] = np.array([seed, update - 1])
        corrections = [1 / (1 - o[b] ** update) for b in ("beta1", "beta2")]
        numbers = [lr, o["beta1"], o["beta2"], o["epsilon"], weight_decay, *corrections, o["ema"]]
        self.values["scalar:optimizer"] = np.array(numbers)

    def set_denominators(self, denominators: dict[str, float]):
        for name, count in denominators.items():
            self.values[f"scalar:loss_weight.{name}"] = np.float64(self.coefficients[name] / count if count else 0.0)

    def run(self, program: str, bucket: int = 0):
        told = self.programs[program]
        values = {ssa: self.values[self._name(role)] for ssa, role, _ in told.arguments}
        with np.errstate(all="ignore"):
            for op in told.ops:
                results = interpreter.run(op, [values[o] for o in op.operands], self.dims[bucket])
                values |= dict(zip(op.results, results))
        for ssa, role in told.results:
            self.values[f"infer:{role[1]}" if program == "infer" else self._name(role)] = values[ssa]

    def step(self, batches, lr: float, update: int = 1, seed: int = 0, weight_decay: float = 0.0) -> dict:
        self.set_scalars(seed, update, lr, weight_decay)
        total, losses = dict.fromkeys(self.losses, 0.0), dict.fromkeys(self.losses, 0.0)
        for bucket, inputs in batches:
            self._load(bucket, inputs)
            self.run("denominators", bucket)
            for name in total:
                total[name] += float(self.values[f"denominator:{name}"])
        self.set_denominators(total)
        self.run("zero")
        for bucket, inputs in batches:
            self._load(bucket, inputs)
            self.run("forward", bucket)
            self.run("backward", bucket)
            for name in total:
                losses[name] += float(self.values[f"loss:{name}"]) / total[name] if total[name] else 0.0
        self.run("update")
        norm = float(self.values["scalar:grad_norm"])
        if not np.isfinite(norm):
            raise RuntimeFailure(5, "not finite")
        return {"loss": sum(losses.values()), "losses": losses, "grad_norm": norm}

    def _load(self, bucket: int, inputs: dict):
        for name, array in inputs.items():
            self.set_input(name, bucket, array)
