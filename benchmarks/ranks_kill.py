"""Kills a rank of a training with SIGKILL at random moments; what --resume then makes of it must be the unbroken run, to the bit.

    .venv/bin/python benchmarks/ranks_kill.py [--moments 50] [--seed 0] [--ranks 2] [--shard-states parameters] [--deterministic]

The moments: any time at all, start included; inside a sum over the ranks (a call of MPI_Testall); while a checkpoint is
written (write, fsync); around its commit (before a rename, right after one). The last three strike exactly: a library loaded
before the others counts the calls of one rank and kills it in the drawn one. Every second run is started as mpirun does by
itself, where it kills the survivors, the others with --enable-recovery, where they must end by themselves.
All ranks must be gone 30 s after the kill, and mpirun too; where it was asked to recover and stays by itself, that is told apart. Then the run is started again, with --resume if there is a checkpoint; every
file of every checkpoint and every line of metrics.jsonl (but its times) is compared. Exit 1 if anything differs or hangs.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(os.environ.get("TTS_BIN", ROOT / "build" / "bin"))
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
LIMIT = 30.0
KILLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void passed(const char *call) {
  static int calls;
  char wanted[32] = "";
  int rank = -1, count = 0;
  const char *at = getenv("KILL_AT"), *self = getenv("OMPI_COMM_WORLD_RANK");
  if (!at || !self || sscanf(at, "%d:%31[^:]:%d", &rank, wanted, &count) != 3 || rank != atoi(self) || strcmp(wanted, call))
    return;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == count)
    kill(getpid(), SIGKILL);
}
#define CATCH(result, name, parameters, arguments)                       \
  result name parameters {                                               \
    static result(*real) parameters;                                     \
    if (!real)                                                           \
      real = (result(*) parameters)dlsym(RTLD_NEXT, #name);              \
    passed(#name);                                                       \
    result got = real arguments;                                         \
    passed("after-" #name);                                              \
    return got;                                                          \
  }
CATCH(ssize_t, write, (int file, const void *data, size_t bytes), (file, data, bytes))
CATCH(int, fsync, (int file), (file))
CATCH(int, rename, (const char *from, const char *to), (from, to))
CATCH(int, MPI_Testall, (int n, void *requests, int *done, void *statuses), (n, requests, done, statuses))
"""


@dataclass(frozen=True)
class Moment:
    kind: str  # what is told
    rank: int
    call: str = ""  # "CALL:COUNT", or killed from outside
    after: float = 0.0  # seconds after the start, if from outside

    def __str__(self):
        return f"rank {self.rank} " + (f"in {self.call}" if self.call else f"after {self.after:.3f} s")


class Launcher(Exception):
    """All ranks are gone, mpirun --enable-recovery is not."""


class Trial:
    """A training of several ranks that can be run whole, broken and continued."""

    def __init__(self, folder: Path, program: Path, data: Path, ranks: int, flags: list[str], env=None):
        self.folder, self.data, self.ranks, self.flags = folder, data, ranks, flags
        folder.mkdir(parents=True, exist_ok=True)
        self.program = folder / "victim"  # under a name of its own, so that its processes can be found
        shutil.copy(program, self.program)
        (folder / "killer.c").write_text(KILLER)
        self.killer = folder / "killer.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.killer, folder / "killer.c", "-ldl"], check=True)
        self.env = {**os.environ, "OMP_NUM_THREADS": "1", "TTS_RANK_TIMEOUT": "12", **(env or {})}

    def launch(self, name: str, *more: str, recovery=False, env=None) -> subprocess.Popen:
        place = [f"--data={self.data}", f"--checkpoint-dir={self.folder / name}", f"--log-dir={self.folder / name}-log"]
        start = [*MPIRUN, *(["--enable-recovery"] if recovery else []), "-n", str(self.ranks)]
        return subprocess.Popen(
            [*start, self.program, *place, *self.flags, *more],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.env, **(env or {})},
        )

    def whole(self) -> float:
        """The unbroken run; its seconds."""
        start = time.monotonic()
        self.finish(self.launch("whole"), "the unbroken run")
        return time.monotonic() - start

    def finish(self, process: subprocess.Popen, what: str) -> None:
        error = process.communicate(timeout=300)[1]
        if process.returncode:
            raise RuntimeError(f"{what} ended with {process.returncode}: {error[-2000:]}")

    def pids(self) -> dict[int, int]:
        """The processes of this training that run, by rank."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(entry / "exe") == str(self.program):
                    variables = (entry / "environ").read_bytes().split(b"\0")
                    own = [v for v in variables if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
                    found[int(own[0].split(b"=")[1])] = int(entry.name)
            except (OSError, IndexError):
                continue
        return found

    def strike(self, moment: Moment, recovery: bool) -> float | None:
        """Runs until the moment and kills there; the seconds until all are gone, or None if the run ended before."""
        env = {"LD_PRELOAD": str(self.killer), "KILL_AT": f"{moment.rank}:{moment.call}"} if moment.call else {}
        start = time.monotonic()
        process = self.launch("broken", recovery=recovery, env=env)
        if not moment.call:
            while len(pids := self.pids()) < self.ranks and process.poll() is None:
                time.sleep(0.001)
            time.sleep(max(0.0, start + moment.after - time.monotonic()))
            try:
                os.kill(pids[moment.rank], signal.SIGKILL)
            except (ProcessLookupError, KeyError):
                self.finish(process, "the run before its kill")
                return None
            struck = time.monotonic()
        else:
            struck = self._wait_for_first_death(process)
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline and (process.poll() is None or self.pids()):
            time.sleep(0.01)
        left = self.pids()
        if recovery and not left and process.poll() is None:
            process.kill()
            process.communicate()
            raise Launcher(str(moment))
        if left or process.poll() is None:
            for pid in left.values():
                os.kill(pid, signal.SIGKILL)
            process.kill()
            raise RuntimeError(f"{moment}: ranks {sorted(left)} still run after {LIMIT:.0f} s")
        gone = time.monotonic() - struck
        process.communicate()
        metrics = self.folder / "broken-log" / "metrics.jsonl"
        return None if metrics.exists() and '"final"' in metrics.read_text() else gone

    def _wait_for_first_death(self, process: subprocess.Popen) -> float:
        seen = 0
        while process.poll() is None:
            alive = len(self.pids())
            if alive < seen:
                break
            seen = max(seen, alive)
            time.sleep(0.005)
        return time.monotonic()

    def continue_it(self) -> int:
        """Starts the broken run again as the loop of docs/ranks.md does; the update it went on from."""
        steps = [int(path.name[5:]) for path in (self.folder / "broken").glob("step-*")]
        self.finish(self.launch("broken", *(["--resume"] if steps else [])), "the run started again")
        return max(steps, default=0)

    def differences(self) -> list[str]:
        """What the continued run has otherwise than the unbroken one."""
        one, other = self.folder / "whole", self.folder / "broken"
        files = [{p.relative_to(top) for p in top.rglob("*") if p.is_file()} for top in (one, other)]
        found = [f"only in one: {path}" for path in sorted(files[0] ^ files[1])]
        for path in sorted(files[0] & files[1]):
            if (one / path).read_bytes() != (other / path).read_bytes():
                found.append(f"another content: {path}")
        lines = [self._lines(name) for name in ("whole", "broken")]
        return found + (["another metrics.jsonl"] if lines[0] != lines[1] else [])

    def _lines(self, name: str) -> list[dict]:
        rows = map(json.loads, (self.folder / f"{name}-log" / "metrics.jsonl").read_text().splitlines())
        return [{k: v for k, v in row.items() if k != "seconds"} for row in rows if "step" in row]

    def forget(self) -> None:
        for name in ("broken", "broken-log"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


def draw(random_: random.Random, ranks: int, seconds: float, checkpoints: int) -> Moment:
    """Files are the first rank's alone; between two checkpoints are about six fsyncs, twelve writes and a rename."""
    kind = random_.choice(("any time", "any time", "sum over ranks", "checkpoint write", "commit"))
    rank = random_.randrange(ranks)
    if kind == "any time":
        return Moment(kind, rank, after=random_.uniform(0, seconds))
    if kind == "sum over ranks":
        return Moment(kind, rank, f"MPI_Testall:{random_.randint(1, 150 * checkpoints)}")
    if kind == "commit":
        return Moment(kind, 0, f"{random_.choice(('', 'after-'))}rename:{random_.randint(1, checkpoints)}")
    call, of_each = random_.choice((("write", 12), ("fsync", 6)))
    return Moment(kind, 0, f"{call}:{random_.randint(1, of_each * checkpoints)}")


def compiled_model(folder: Path, ranks: int, more: list[str]) -> tuple[Path, Path]:
    """FastSpeech 2 tiny for so many ranks, with more flags of tts-compile, and its corpus."""

    def run(*command):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        subprocess.run([str(c) for c in command], check=True, env=environment, stdout=subprocess.DEVNULL)

    corpus, model, program = folder / "corpus", folder / "model.mlir", folder / "train"
    run(sys.executable, "-m", "tts.data", "synthetic", f"--out={corpus}", "--utterances=60", "--seed=3")
    run(sys.executable, "-m", "tts.models.fastspeech2", "--size=tiny", "--batch=8", f"--corpus={corpus}", "-o", model)
    flags = ["--memory-budget=256M", "--threads=1", f"--ranks={ranks}", "--micro-batch=2", "--plan-table=none", *more]
    run(TOOLS / "tts-compile", *flags, model, "-o", program)
    return program, corpus


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--shard-states", default="none")
    parser.add_argument("--deterministic", action="store_true")
    options = parser.parse_args()
    random_, faults, slowest, stayed = random.Random(options.seed), [], 0.0, 0
    more = [f"--shard-states={options.shard_states}", *["--deterministic"] * options.deterministic]
    told: dict[str, list[int]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        program, corpus = compiled_model(Path(name), options.ranks, more)
        flags = [f"--steps={options.steps}", "--checkpoint-every=2", "--keep=1000", "--eval-every=5", "--seed=3"]
        trial = Trial(Path(name) / "trial", program, corpus, options.ranks, flags)
        seconds = trial.whole()
        while sum(map(len, told.values())) + len(faults) < options.moments:
            moment = draw(random_, options.ranks, seconds, options.steps // 2)
            try:
                try:
                    gone = trial.strike(moment, recovery=random_.random() < 0.5)
                except Launcher as own:
                    print(f"{own}: mpirun stays though all ranks are gone", flush=True)
                    stayed, gone = stayed + 1, 0.0
                if gone is None:
                    print(f"{moment}: over before", flush=True)
                    trial.forget()
                    continue
                resumed, wrong = trial.continue_it(), trial.differences()
                slowest = max(slowest, gone)
                told[moment.kind].append(resumed)
                faults += [f"{moment}: {text}" for text in wrong]
                print(f"{moment.kind}: {moment}: all gone in {gone:.1f} s, went on from {resumed}", *wrong, flush=True)
            except (RuntimeError, subprocess.TimeoutExpired) as fault:
                faults.append(str(fault))
                print(fault, flush=True)
            trial.forget()
    for kind, resumed in sorted(told.items()):
        print(f"{kind}: {len(resumed)} moments, went on from updates {min(resumed)} to {max(resumed)}")
    print(
        f"{sum(map(len, told.values()))} moments, all gone in at most {slowest:.1f} s, mpirun stayed {stayed} times, {len(faults)} faults"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
