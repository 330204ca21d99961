"""A compiled model (`tts-compile -o model.so`) as NumPy arrays: the C API of tts-runtime/Runtime.h through ctypes."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tts.entries import TAP, CEntry, CNonFinite, Entry, NonFinite, Profile, Timed

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}
DTYPES |= {"F16": np.float16, "BF16": np.uint16}  # NumPy has no bf16: its bits
STATES = {"grad": "gradient", "moment1": "moment1", "moment2": "moment2", "ema": "ema", "next": "next"}


class RuntimeFailure(RuntimeError):
    """An error of the runtime, with the exit code `train` would have ended with."""

    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code


class _NamedData(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64)]


class _MicroBatch(ctypes.Structure):
    _fields_ = [
        ("bucket", ctypes.c_uint32),
        ("num_inputs", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(_NamedData)),
    ]


class _StepResult(ctypes.Structure):
    _fields_ = [
        ("loss", ctypes.c_double),
        ("grad_norm", ctypes.c_double),
        ("losses", ctypes.POINTER(ctypes.c_double)),
    ]


_SIGNATURES = {
    "tts_session_create": (ctypes.c_void_p, []),
    "tts_session_destroy": (None, [ctypes.c_void_p]),
    "tts_last_error": (ctypes.c_char_p, []),
    "tts_session_manifest": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)]),
    "tts_session_initialise": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64]),
    "tts_session_load": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]),
    "tts_session_save": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]),
    "tts_session_read": (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64],
    ),
    "tts_session_write": (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64],
    ),
    "tts_session_run": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32]),
    "tts_session_set_scalars": (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_double, ctypes.c_double],
    ),
    "tts_session_set_denominators": (
        ctypes.c_int,
        [ctypes.c_void_p, ctypes.POINTER(ctypes.c_double), ctypes.c_uint64],
    ),
    "tts_session_step": (
        ctypes.c_int,
        [
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.c_int64,
            ctypes.c_double,
            ctypes.c_double,
            ctypes.POINTER(_MicroBatch),
            ctypes.c_uint64,
            ctypes.POINTER(_StepResult),
        ],
    ),
    "tts_session_non_finite": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(CNonFinite)]),
    "tts_session_num_entries": (ctypes.c_uint64, [ctypes.c_void_p]),
    "tts_session_entry": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(CEntry)]),
    "tts_session_tap": (ctypes.c_int, [ctypes.c_void_p, TAP, ctypes.c_void_p]),
    "tts_session_time": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]),
    "tts_session_times": (
        ctypes.c_int,
        [
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_double),
            ctypes.POINTER(ctypes.c_double),
            ctypes.POINTER(ctypes.c_uint64),
            ctypes.c_uint64,
        ],
    ),
}


class Session:
    """One arena of the model in a shared library.

    Tensor names: a parameter's own; `grad:`, `moment1:`, `moment2:`, `ema:` and a parameter; `loss:` (its sum over the
    micro-batch) and `denominator:` and a loss; `scalar:NAME`; `input:NAME`, `output:NAME` (of eval) and
    `infer:NAME` (what infer hands out) of a bucket.
    """

    def __init__(self, library: str | os.PathLike):
        # Threads that wait for each other spin briefly, as in `train`; libgomp reads it when it is first loaded.
        if "OMP_WAIT_POLICY" not in os.environ:
            os.environ.setdefault("GOMP_SPINCOUNT", "10000")
        self._lib = ctypes.CDLL(str(Path(library).resolve()))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments
        self._session = self._lib.tts_session_create()
        if not self._session:
            raise RuntimeFailure(7, self._lib.tts_last_error().decode())
        size = ctypes.c_uint64()
        text = self._lib.tts_session_manifest(self._session, ctypes.byref(size))
        self.manifest = json.loads(ctypes.string_at(text, size.value))
        self._parameters = {p["name"]: p for p in self.manifest["parameters"]}
        self._scalars = {s["name"]: s for s in self.manifest["scalars"]}
        self._entries: list[Entry] | None = None
        self._tap = TAP()

    def close(self) -> None:
        """Frees the arena; the session is not used afterwards."""
        if self._session:
            self._lib.tts_session_destroy(self._session)
            self._session = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    # -- names ---------------------------------------------------------------

    @property
    def parameters(self) -> list[str]:
        return list(self._parameters)

    @property
    def trainable(self) -> list[str]:
        """Those that an update changes by their gradients."""
        return [n for n, p in self._parameters.items() if not p.get("frozen") and not p.get("next")]

    @property
    def losses(self) -> list[str]:
        return [loss["name"] for loss in self.manifest["losses"]]

    @property
    def buckets(self) -> list[dict]:
        return self.manifest["buckets"]

    def outputs(self, bucket: int = 0, program: str = "eval") -> list[str]:
        return list(self._outputs(bucket, program))

    def _outputs(self, bucket: int, program: str) -> dict[str, dict]:
        told = self.manifest.get("outputs", [])
        return {o["name"]: o for o in told if (o["bucket"], o.get("program", "eval")) == (bucket, program)}

    def describe(self, name: str, bucket: int = 0) -> tuple[type, tuple[int, ...]]:
        """NumPy dtype and shape of a tensor by its public name."""
        entry = self._entry(name, bucket)
        if entry is None:
            raise KeyError(f"no tensor '{name}' (bucket {bucket})")
        return DTYPES[entry["dtype"]], tuple(entry["shape"])

    def _entry(self, name: str, bucket: int) -> dict | None:
        if name in self._parameters:
            return self._parameters[name]
        kind, _, rest = name.partition(":")
        if kind == "half" and "half_copy" in self._parameters.get(rest, {}):
            parameter = self._parameters[rest]
            return {**parameter, "dtype": parameter["half_copy"]["dtype"]}
        if kind in STATES:
            parameter = self._parameters.get(rest)
            return parameter if parameter and parameter.get(STATES[kind]) else None
        if kind == "input":
            known = [*self.buckets[bucket]["inputs"], *self.buckets[bucket].get("infer_inputs", [])]
            return next((i for i in known if i["name"] == rest), None)
        if kind in ("output", "infer"):
            return self._outputs(bucket, "infer" if kind == "infer" else "eval").get(rest)
        prefix = {"scalar": "", "loss": "loss_sum.", "denominator": "denominator."}.get(kind)
        return None if prefix is None else self._scalars.get(prefix + rest)

    # -- one call each ---------------------------------------------------------

    def initialise(self, seed: int) -> None:
        """First values of all parameters, states cleared, EMA at the weights."""
        self._check(self._lib.tts_session_initialise(self._session, seed))

    def load(self, path: str | os.PathLike) -> None:
        """Weights from a safetensors file."""
        self._check(self._lib.tts_session_load(self._session, os.fsencode(path)))

    def save(self, path: str | os.PathLike) -> None:
        """Weights into a safetensors file."""
        self._check(self._lib.tts_session_save(self._session, os.fsencode(path)))

    def read(self, name: str, bucket: int = 0) -> np.ndarray:
        """A copy of a tensor; an output is valid until the next program runs."""
        dtype, shape = self.describe(name, bucket)
        array = np.empty(shape, dtype)
        self._check(self._lib.tts_session_read(self._session, name.encode(), bucket, array.ctypes.data, array.nbytes))
        return array

    def write(self, name: str, array, bucket: int = 0) -> None:
        """Overwrites a whole tensor; values are cast to its dtype, the shape must be its own."""
        data = self._as_tensor(name, array, bucket)
        self._check(self._lib.tts_session_write(self._session, name.encode(), bucket, data.ctypes.data, data.nbytes))

    def set_input(self, name: str, bucket: int, array) -> None:
        """Overwrites an input of a bucket."""
        self.write(f"input:{name}", array, bucket)

    def run(self, program: str, bucket: int = 0) -> None:
        """Runs zero, denominators, forward, backward, update, eval or infer."""
        self._check(self._lib.tts_session_run(self._session, program.encode(), bucket))

    def set_scalars(self, seed: int = 0, update: int = 1, lr: float = 0.0, weight_decay: float = 0.0) -> None:
        """What forward draws with and update steps with; updates count from 1."""
        self._check(self._lib.tts_session_set_scalars(self._session, seed, update, lr, weight_decay))

    def set_denominators(self, denominators: dict[str, float]) -> None:
        """The divisor of each loss over the whole update."""
        values = (ctypes.c_double * len(self.losses))(*[denominators[name] for name in self.losses])
        self._check(self._lib.tts_session_set_denominators(self._session, values, len(values)))

    # -- an update ---------------------------------------------------------------

    def step(self, batches, lr: float, update: int = 1, seed: int = 0, weight_decay: float = 0.0) -> dict:
        """One optimizer update on micro-batches [(bucket, {input: array}), …]: loss, losses, grad_norm."""
        keep, micro = [], (_MicroBatch * len(batches))()
        for slot, (bucket, inputs) in zip(micro, batches):
            named = (_NamedData * len(inputs))()
            for item, (name, array) in zip(named, inputs.items()):
                data = self._as_tensor(f"input:{name}", array, bucket)
                item.name, item.data, item.bytes = name.encode(), data.ctypes.data, data.nbytes
                keep.append(data)
            slot.bucket, slot.num_inputs = bucket, len(inputs)
            slot.inputs = ctypes.cast(named, ctypes.POINTER(_NamedData))
            keep.append(named)
        losses = (ctypes.c_double * max(len(self.losses), 1))()
        result = _StepResult(0.0, 0.0, losses)
        self._check(
            self._lib.tts_session_step(
                self._session, seed, update, lr, weight_decay, micro, len(batches), ctypes.byref(result)
            )
        )
        named_losses = dict(zip(self.losses, losses))
        return {"loss": result.loss, "losses": named_losses, "grad_norm": result.grad_norm}

    # -- looking inside -----------------------------------------------------------

    def non_finite(self) -> NonFinite | None:
        """Where the last step's first NaN or infinity appeared; None if the step was finite."""
        found = CNonFinite()
        self._check(self._lib.tts_session_non_finite(self._session, ctypes.byref(found)))
        return NonFinite.of(found)

    @property
    def entries(self) -> list[Entry]:
        """All entries of the step table."""
        if self._entries is None:
            view, self._entries = CEntry(), []
            for number in range(self._lib.tts_session_num_entries(self._session)):
                self._check(self._lib.tts_session_entry(self._session, number, ctypes.byref(view)))
                self._entries.append(Entry.of(view))
        return self._entries

    @contextmanager
    def tap(self, seen: Callable[[Entry], object]) -> Iterator[None]:
        """Calls `seen` after each entry, when what it wrote can be read from its operands.

        An exception in it ends the program there and is raised from the call that ran it.
        """
        entries, raised = self.entries, []

        def after(_, view):
            try:
                seen(entries[view.contents.number])
                return 0
            except BaseException as error:  # must not cross the C frames
                raised.append(error)
                return 1

        self._tap = TAP(after)
        self._check(self._lib.tts_session_tap(self._session, self._tap, None))
        try:
            yield
        except RuntimeFailure as failure:
            raise (raised[0] if raised else failure) from None
        finally:
            self._check(self._lib.tts_session_tap(self._session, TAP(), None))
            self._tap = TAP()

    @contextmanager
    def profile(self) -> Iterator[Profile]:
        """Measures every entry inside the block, in the runtime; the profile is filled at its end."""
        profile, count = Profile(), len(self.entries)
        seconds, processor, calls = (
            (ctypes.c_double * count)(),
            (ctypes.c_double * count)(),
            (ctypes.c_uint64 * count)(),
        )
        self._check(self._lib.tts_session_time(self._session, 1))
        try:
            yield profile
        finally:
            self._check(self._lib.tts_session_time(self._session, 0))
            self._check(self._lib.tts_session_times(self._session, seconds, processor, calls, count))
            measured = zip(self.entries, calls, seconds, processor)
            profile.timed = [Timed(entry, n, wall, cpu) for entry, n, wall, cpu in measured if n]

    # -- helpers -------------------------------------------------------------------

    def _as_tensor(self, name: str, array, bucket: int) -> np.ndarray:
        dtype, shape = self.describe(name, bucket)
        data = np.asarray(array, dtype, order="C")  # ascontiguousarray would turn a scalar into a vector
        if data.shape != shape:
            raise ValueError(f"tensor '{name}' has the shape {shape}, not {data.shape}")
        return data

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeFailure(code, self._lib.tts_last_error().decode())
