"""The sides of the benchmark: which worker, which interpreter, which environment, in which variants."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import environments

HERE = Path(__file__).resolve().parent


@dataclass
class SideOfBenchmark:
    """`variants` are ways to write the same model; the fastest one is the peer."""

    name: str
    worker: str
    python: Path
    variants: tuple[str, ...] = ("",)
    job: dict = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    note: str = ""
    absent: str | None = None

    def command(self, job_file: Path) -> list[Path]:
        return [self.python, HERE / self.worker, job_file]

    def environment(self, threads: int, venv_root: Path) -> dict[str, str]:
        counted = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": str(venv_root / "inductor"),
            "JAX_COMPILATION_CACHE_DIR": str(venv_root / "xla"),
        }
        return {**os.environ, **counted, **caches, "CUDA_VISIBLE_DEVICES": "", **self.variables}


def all_sides(venv_root: Path, wanted: list[str], precision: str = "fp32") -> list[SideOfBenchmark]:
    """Ours (in fp32 too, if that is not what is compared) and the peers asked for; those that cannot run say why."""
    blas, note = environments.openblas_environment(venv_root)
    here, torch, jax = (
        Path(sys.executable),
        environments.interpreter(venv_root, "torch"),
        environments.interpreter(venv_root, "jax"),
    )
    linear = ("matmul", "conv")
    sides = [
        SideOfBenchmark("ours", "ours_worker.py", here),
        SideOfBenchmark("torch113", "torch_worker.py", here, linear, {"compiled": False}, blas, note),
        SideOfBenchmark("torch", "torch_worker.py", torch, linear, {"compiled": False}),
        SideOfBenchmark("torch-compile", "torch_worker.py", torch, linear[:1], {"compiled": True}),
        SideOfBenchmark("jax", "jax_worker.py", jax, ("taps", "lax")),
    ]
    if precision != "fp32":
        sides.insert(1, SideOfBenchmark("ours-fp32", "ours_worker.py", here, job={"precision": "fp32"}))
    for side in sides:
        if side.python != here:
            side.absent = environments.ready(venv_root, side.python.parts[-3])
    return [side for side in sides if side.name.startswith("ours") or side.name in wanted]
