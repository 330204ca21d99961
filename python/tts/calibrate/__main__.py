"""Measures training steps on this machine and writes its description for `--hardware=FILE.json`."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from tts.calibrate.fit import Fit, fit
from tts.calibrate.measure import Compiled, Run
from tts.data.errors import InputError, Parser, run_tool
from tts.models.command_line import positive

PRECISIONS = ("fp32", "bf16", "fp16", "fp64")
LARGE = {"fastspeech2": "text=48,frames=240", "dit": "text=48,frames=240", "codec_lm": "frames=240"}
SMALL = {"fastspeech2": "text=20,frames=80", "dit": "text=20,frames=80", "codec_lm": "frames=80"}
SECONDS = 1.5  # of steps for each run
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def runs(precisions) -> list[Run]:
    """Models of two sizes at two micro-batches; fp64, for checking gradients, in small ones only."""
    chosen = []
    for precision in precisions:
        for model in LARGE:
            if precision == "fp64":
                chosen.append(Run(model, "tiny", precision, 4, SMALL[model]))
                continue
            chosen.append(Run(model, "small", precision, 6, LARGE[model]))
            chosen.append(Run(model, "small", precision, 2, SMALL[model]))
            chosen.append(Run(model, "tiny", precision, 8, SMALL[model]))
    return chosen


def cache_sizes() -> list[int]:
    """Bytes after which data have left a cache: half of the second level, an eighth of the third, which others share."""
    sizes = {}
    for index in CACHES.glob("index*"):
        if (index / "type").read_text().strip() == "Instruction":
            continue
        number, unit = (index / "size").read_text().strip()[:-1], (index / "size").read_text().strip()[-1]
        sizes[int((index / "level").read_text())] = int(number) * {"K": 1 << 10, "M": 1 << 20}[unit]
    parts = {2: 2, 3: 8}
    return sorted({sizes[level] // part for level, part in parts.items() if level in sizes})


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def describe(found: Fit, caches: list[int], threads: int, precisions) -> dict:
    """The description's JSON; what it leaves out is as on any host."""
    text = f"tts.calibrate, {time.strftime('%Y-%m-%d')}, {processor()}, {threads} thread{'s' * (threads > 1)}"
    out = {
        "name": "calibrated host",
        "device": "cpu",
        "source": text,
        "sources": {"rates": text + ": products of training steps", "bandwidth": text + ": kernels of training steps"},
        "entry_seconds": found.entry_seconds,
        "call_seconds": 0.0,
        "bandwidth": found.bandwidths[-1],
        "caches": [{"bytes": size, "bandwidth": rate} for size, rate in zip(caches, found.bandwidths)],
        "operation_seconds": found.operation_seconds,
        "products": [vars(shape) | {"flops": rate} for shape, rate in found.products.items()],
    }
    for precision in precisions:
        if flops := found.flops(precision):
            out[f"{precision}_flops"] = flops
    return out


def write_whole(path: Path, text: str) -> None:
    """Beside it first, so that a file is there whole or not at all."""
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text)
    os.replace(beside, path)


def main(arguments=None) -> int:
    parser = Parser(prog="tts.calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--threads", type=positive, default=1, help="CPU threads of a step; figures are per thread")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="only this one (repeatable)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of steps for each run")
    o = parser.parse_args(arguments)
    if o.output.suffix != ".json":
        raise InputError(o.output, "does not end in .json", "give --hardware's FILE.json")
    if not o.output.resolve().parent.is_dir():
        raise InputError(o.output.parent, "is no folder", "make it first")
    precisions = o.precision or PRECISIONS
    chosen, observed, caches, start = runs(precisions), [], cache_sizes(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number, run in enumerate(chosen, 1):
            compiled = Compiled(run, Path(folder), o.threads)
            found = compiled.observe(o.seconds)
            compiled.close()
            observed += found
            step, seconds = 1e3 * found[0].step_seconds, time.monotonic() - start
            print(f"{number} of {len(chosen)}: {run}: {step:.1f} ms a step ({seconds:.0f} s)", file=sys.stderr)
    found = fit(observed, caches, o.threads)
    write_whole(o.output, json.dumps(describe(found, caches, o.threads, precisions), indent=1) + "\n")
    rates = ", ".join(f"{p} {rate / 1e9:.0f}" for p in precisions if (rate := found.flops(p)))
    bandwidths = ", ".join(f"{b / 1e9:.0f}" for b in found.bandwidths)
    print(f"{o.output}: products {rates} Gflop/s, caches and memory {bandwidths} GB/s, {len(found.products)} shapes")
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
