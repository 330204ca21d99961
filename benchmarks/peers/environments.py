"""The peers' interpreters and libraries, outside the repository: what is there, and how it is made.

Nothing here is needed by the project itself. PyPI's PyTorch for Linux has no CPU-only wheel: its CUDA libraries come
along (7 GB) and stay unused.
"""

import os
import subprocess
import sys
from pathlib import Path

PACKAGES = {"torch": ("torch", "numpy", "safetensors", "setuptools"), "jax": ("jax", "safetensors")}
OPENBLAS = ("libopenblas0-pthread", "libgfortran5", "libquadmath0")
LIBRARIES = Path("usr/lib/x86_64-linux-gnu")


def run(command, **more):
    """None, or the last line of what a failing command said."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    except OSError as error:
        return str(error)
    said = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()
    return None if done.returncode == 0 else f"{command[0]}: {said[-1][:300]}"


def newest_python() -> Path:
    """The newest interpreter of this machine, for the newest packages: pyenv's, or the one that runs this."""
    found = {sys.version_info[:2]: Path(sys.executable)}
    for path in Path.home().glob(".pyenv/versions/3.*/bin/python3"):
        version = tuple(int(n) for n in path.parts[-3].split(".")[:2])
        found.setdefault(version, path)
    return found[max(found)]


def interpreter(root: Path, name: str) -> Path:
    return root / name / "bin" / "python"


def install(root: Path, wanted=(*PACKAGES, "openblas")) -> dict[str, str]:
    """Makes what is missing of `wanted`; by name, why something could not be made."""
    failures = {}
    for name, packages in PACKAGES.items():
        if name not in wanted or ready(root, name) is None:
            continue
        # Debian's python3 has no headers of pyenv's and the other way round; torch.compile builds with its own.
        fault = run([newest_python(), "-m", "venv", root / name])
        fault = fault or run([root / name / "bin" / "pip", "install", "-q", "--only-binary", ":all:", *packages])
        if fault:
            failures[name] = fault
    folder = root / "openblas"
    if "openblas" in wanted and not (folder / LIBRARIES / "openblas-pthread").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        fault = run(["apt-get", "download", *OPENBLAS], cwd=folder)
        for package in folder.glob("*.deb"):
            fault = fault or run(["dpkg", "-x", package, folder])
        if fault:
            failures["openblas"] = fault
    return failures


def ready(root: Path, name: str) -> str | None:
    """None if the environment imports its framework, else why not."""
    python = interpreter(root, name)
    if not python.exists():
        return f"no {python}; run benchmarks/peers/run.py --install"
    return run([python, "-c", f"import {name}"])


def processor_flags() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


def openblas_environment(root: Path) -> tuple[dict[str, str], str]:
    """Variables that put OpenBLAS under Debian's PyTorch, and a line that says so.

    OpenBLAS older than the processor takes it for a Prescott (SSE3); it is told the best kernels the processor has.
    """
    folder = root / "openblas" / LIBRARIES
    if not (folder / "openblas-pthread").is_dir():
        return {}, f"the system's libblas: no {folder / 'openblas-pthread'}"
    variables = {"LD_LIBRARY_PATH": f"{folder / 'openblas-pthread'}:{folder}"}
    asks = (
        "import ctypes; l = ctypes.CDLL('libblas.so.3'); f = l.openblas_get_corename; f.restype = ctypes.c_char_p;"
        "c = l.openblas_get_config; c.restype = ctypes.c_char_p; print(f().decode(), '|', c().decode())"
    )

    def told(more):
        environment = {**os.environ, **variables, **more}
        return subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, env=environment).stdout

    detected, flags = told({}).split(" ")[0], processor_flags()
    wanted = "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else None
    if detected == "Prescott" and wanted and "OPENBLAS_CORETYPE" not in os.environ:
        variables["OPENBLAS_CORETYPE"] = wanted
    return variables, f"OpenBLAS kernels {told(variables).strip()} (it detects {detected})"
