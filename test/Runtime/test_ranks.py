"""Several ranks on one machine, by mpirun: the same curve, each utterance once, and an end for everyone when one ends."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from toy_run import BUILT, Finished

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
RANKS = BUILT / "tts-toy-ranks"


def pid_of(program: Path, rank: int) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "exe") != str(program):
                continue
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
            return int(folder.name)
    raise AssertionError(f"rank {rank} does not run")


class Launched:
    """A run under mpirun, in the background."""

    def __init__(self, ranks, flags, folder, recovery=True, planned=None, env=None, built=RANKS):
        assert built.exists(), f"{built} is not built"
        assert shutil.which("mpirun"), "scripts/setup.sh installs openmpi-bin"
        # A copy under a name of its own, so that its ranks can be found among other tests' processes.
        self.program = folder / "train"
        shutil.copy(built, self.program)
        self.log = folder / "log"
        recover = ["--enable-recovery"] if recovery else []
        self.process = subprocess.Popen(
            [*MPIRUN, *recover, "-n", str(ranks), self.program, f"--log-dir={self.log}", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "TOY_RANKS": str(planned or ranks), "TTS_RANK_TIMEOUT": "4", **(env or {})},
        )

    def wait(self, timeout=60) -> Finished:
        out, err = self.process.communicate(timeout=timeout)
        return Finished(subprocess.CompletedProcess([], self.process.returncode, out, err), self.log)

    def pid(self, rank: int) -> int:
        return pid_of(self.program, rank)

    def wait_for_update(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            metrics = self.log / "metrics.jsonl"
            if metrics.exists() and "step" in metrics.read_text():
                return
            time.sleep(0.05)
        self.process.kill()
        raise AssertionError(f"no update in a minute: {self.process.communicate()}")


@pytest.fixture
def launch(corpus, tmp_path):
    """A function that starts ranks: launch(2, "--steps=3", …)."""
    running = []

    def start(ranks, *flags, data=None, name="ranks", **more):
        folder = tmp_path / name
        folder.mkdir()
        running.append(Launched(ranks, [f"--data={data or corpus.folder}", *flags], folder, **more))
        return running[-1]

    yield start
    for run in running:
        if run.process.poll() is None:
            run.process.kill()
        subprocess.run(["pkill", "-KILL", "-f", f"^{run.program} "])


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_train_as_one(train, launch, corpus, ranks):
    flags = ("--steps=20", "--eval-every=10")
    alone = train(*flags)
    together = launch(ranks, *flags).wait()
    assert alone.code == together.code == 0, together.err
    assert len(alone.updates) == len(together.updates) == 20
    for one, many in zip(alone.updates, together.updates, strict=True):
        assert one["loss"] == pytest.approx(many["loss"], rel=1e-6)
        assert one["grad_norm"] == pytest.approx(many["grad_norm"], rel=1e-5)
        assert many["utterances"] == one["utterances"] and many["frames"] == one["frames"]
    # Double validation (report 14): every utterance counts once, whatever the ranks.
    for one, many in zip(alone.validations, together.validations, strict=True):
        assert many["utterances"] == one["utterances"] == len(corpus.validation)
        assert one["val_loss"] == pytest.approx(many["val_loss"], rel=1e-6)

    final = together.lines[-1]
    # The same experiment, to the bit of its trace.
    assert final["experiment"] == alone.lines[-1]["experiment"] and final["experiment"]["trace"]["updates"] == 20
    assert len(final["ranks"]) == ranks
    for key in ("measured_peak_bytes", "arena_high_water_bytes", "bytes_sent", "corpus_bytes_read"):
        assert final[key] == max(rank[key] for rank in final["ranks"])
    # The gradients of w, b and c take 48 floats with the gaps between them: each sends 2 (N - 1)/N of them.
    assert [rank["bytes_sent"] for rank in final["ranks"]] == [20 * 2 * (ranks - 1) * 48 * 4 // ranks] * ranks
    read = [rank["corpus_bytes_read"] for rank in final["ranks"]]
    assert min(read) > 0 and max(read) < 0.75 * alone.lines[-1]["corpus_bytes_read"]
    assert all(rank["large_allocations_after_start"] == 0 for rank in final["ranks"])


def test_checkpoint_continues_on_another_number_of_ranks(train, launch, tensors, tmp_path):
    kept = tmp_path / "kept"
    whole = train("--steps=12", f"--checkpoint-dir={tmp_path / 'whole'}", "--checkpoint-every=6")
    first = launch(2, "--steps=6", f"--checkpoint-dir={kept}").wait()
    assert whole.code == first.code == 0, first.err
    assert sorted(path.name for path in kept.iterdir()) == ["step-00000006"]
    second = launch(3, "--steps=12", f"--checkpoint-dir={kept}", "--resume", name="three").wait()
    assert second.code == 0, second.err
    assert [line["step"] for line in second.updates] == list(range(7, 13))
    last = "step-00000012/model.safetensors"
    for name, values in tensors(tmp_path / "whole" / last).items():
        assert tensors(kept / last)[name] == pytest.approx(values, rel=1e-5, abs=1e-6)


def test_another_number_of_ranks_is_refused(train, launch):
    many = launch(2, "--steps=1", planned=1, recovery=False).wait()
    assert many.code == 2 and "2 ranks were started, the program is planned for 1" in many.err, many.err
    train("--steps=1", env={"TOY_RANKS": "2"}).refused(2, "1 rank was started", "mpirun -n 2")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_rank_ends_the_others(launch, how, victim):
    run = launch(2, "--steps=1000000000")
    run.wait_for_update()
    pid, other = run.pid(victim), run.pid(1 - victim)
    os.kill(pid, how)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and Path(f"/proc/{other}/exe").exists():
        time.sleep(0.1)
    assert not Path(f"/proc/{other}/exe").exists(), "the other rank goes on"
    if how == signal.SIGSTOP:
        os.kill(pid, signal.SIGKILL)
    done = run.wait()
    what = "is gone: killed" if how == signal.SIGKILL else "has not been heard of for 4 s"
    assert f"error: rank {1 - victim}: rank {victim} {what}" in done.err, done.err


def test_validation_counts_once(train, make_corpus, launch):
    """Report 14: 8 utterances, 2 ranks, a batch that does not divide them: 8 evaluations in total, the mean of one rank."""
    eight = make_corpus(name="eight", validation=8, shard_count=3)
    flags = ("--steps=2", "--eval-every=1")
    alone, together = train(*flags, data=eight.folder), launch(2, *flags, data=eight.folder).wait()
    assert [line["utterances"] for line in together.validations] == [8, 8], together.err
    for one, many in zip(alone.validations, together.validations, strict=True):
        assert many["val_loss"] == pytest.approx(one["val_loss"], rel=1e-6)


@pytest.mark.parametrize("shard_count", [4, 2])
def test_uneven_shares_neither_hang_nor_lose(train, make_corpus, launch, shard_count):
    """Report 11: 10 utterances on 4 ranks; with 2 shards half of the ranks have none at all."""
    few = make_corpus(list(range(3, 13)), name="few", shard_count=shard_count, validation=3)
    flags = ("--steps=5", "--eval-every=5")
    alone, together = train(*flags, data=few.folder), launch(4, *flags, data=few.folder).wait()
    assert alone.code == together.code == 0, together.err
    for one, many in zip(alone.lines[:-1], together.lines[:-1], strict=True):
        assert many["utterances"] == one["utterances"] and many.get("frames") == one.get("frames")
        for key in ("loss", "val_loss"):
            assert (key in many) == (key in one)
            if key in one:
                assert many[key] == pytest.approx(one[key], rel=1e-6)
    read = [rank["corpus_bytes_read"] for rank in together.lines[-1]["ranks"]]
    assert read.count(0) == max(0, 4 - shard_count), read


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_batch_of_frames_is_the_same_on_any_ranks(train, launch, tmp_path, ranks):
    """As many utterances as reach 40 frames, in the stream's order, across epochs, dropping none."""
    few = {"TOY_BATCH_FRAMES": "40", "TOY_BATCH": "5"}
    flags = ("--steps=20", "--eval-every=10")
    order = tmp_path / "order.jsonl"
    assert train("--steps=20", f"--dump-order={order}", env=few, log="order").code == 0
    updates = [json.loads(line) for line in order.read_text().splitlines()]
    alone = train(*flags, env=few)
    assert alone.code == 0 and len(alone.updates) == 20, alone.err
    counts = [sum(len(m["utterances"]) for m in update["micro_batches"]) for update in updates]
    assert [u["utterances"] for u in alone.updates] == counts and len(set(counts)) > 2
    assert all(40 <= u["frames"] < 40 + 16 for u in alone.updates)
    # Two epochs of 30 utterances hold each twice.
    seen = [u for update in updates for m in update["micro_batches"] for u in m["utterances"]]
    assert sum(counts) > 70 and all(seen.count(u) >= 2 for u in set(seen)) and len(set(seen)) == 30
    assert alone.lines[-1]["experiment"]["batch_frames"] == 40 and "batch" not in alone.lines[-1]["experiment"]
    if ranks == 1:
        return
    together = launch(ranks, *flags, env=few).wait()
    assert together.code == 0, together.err
    assert together.lines[-1]["experiment"] == alone.lines[-1]["experiment"]
    for one, many in zip(alone.lines[:-1], together.lines[:-1], strict=True):
        assert many["utterances"] == one["utterances"] and many.get("frames") == one.get("frames")
        for key in {"loss", "val_loss"} & set(one):
            assert many[key] == pytest.approx(one[key], rel=1e-6)
    assert all(rank["large_allocations_after_start"] == 0 for rank in together.lines[-1]["ranks"])


def test_a_share_of_the_buffer_is_enough_where_one_rank_gets_more(train, make_corpus, launch):
    """Two shards, four ranks: two of them have all of every update, twice their share, and read what does not fit late."""
    few = make_corpus([16] * 24, name="few", shard_count=2)
    flags = ("--steps=18", "--eval-every=9")
    alone = train(*flags, data=few.folder)
    # An utterance takes 64 bytes of phones and 128 of mel; the share is 1 of 4, of two updates, and one comes late.
    together = launch(4, *flags, data=few.folder, env={"TOY_HOST_BUFFER": str((2 * 1 + 1) * 192)}).wait()
    assert alone.code == together.code == 0, together.err
    for one, many in zip(alone.lines[:-1], together.lines[:-1], strict=True):
        for key in {"loss", "val_loss"} & set(one):
            assert many[key] == pytest.approx(one[key], rel=1e-6)
    less = launch(4, "--steps=1", data=few.folder, env={"TOY_HOST_BUFFER": "256"}, name="less", recovery=False).wait()
    assert less.code in (4, 7) and "host bytes, 256 are planned" in less.err, less.err


def test_ranks_of_one_machine_must_find_their_memory_together(train, launch):
    available = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    most = {"TOY_PEAK": str(0.7 * 1024 * int(available[1]))}
    assert train("--steps=1", env=most).code == 0
    done = launch(2, "--steps=1", env=most).wait()
    assert re.search(
        r"error: rank \d: memory: the plans of the 2 ranks in this (machine|control group) take \d+ bytes, \d+ are free; "
        "free memory there, start fewer ranks on it",
        done.err,
    ), done.err
    assert not done.updates


SLOW_DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int fsync(int file) {
  static int calls;
  if (calls++ == 2)
    sleep(6);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
"""


def test_a_slow_save_is_no_lost_rank(launch, tmp_path):
    """Report 12: the others wait for the rank that saves, however long that takes."""
    (tmp_path / "slow.c").write_text(SLOW_DISK)
    library = tmp_path / "slow.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "slow.c", "-ldl"], check=True)
    slow = {"LD_PRELOAD": str(library), "TTS_RANK_TIMEOUT": "3"}
    start = time.monotonic()
    done = launch(2, "--steps=2", f"--checkpoint-dir={tmp_path / 'kept'}", "--checkpoint-every=1", env=slow).wait()
    assert time.monotonic() - start > 6, "the disk was not slow"
    assert done.code == 0 and len(done.updates) == 2, done.err
    assert "error:" not in done.err, done.err


def test_a_failing_rank_names_itself_and_ends_the_others(make_corpus, launch):
    poisoned = make_corpus(name="poisoned", poison="t0007")
    done = launch(2, "--steps=100", data=poisoned.folder, recovery=False).wait()
    # The loss is everyone's, so whoever comes to it first ends with 5, and the other with 5 or 4.
    assert "is not finite" in done.err and done.code in (4, 5), (done.code, done.err)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_flipped_bit_of_one_replica_ends_all(launch, tmp_path, ranks):
    """Report 8: parameters are the same on all ranks after every update, or the run ends and saves none of it."""
    flags = ("--steps=9", f"--checkpoint-dir={tmp_path / 'kept'}", "--checkpoint-every=1", "--keep=99")
    done = launch(ranks, *flags, recovery=False, env={"TOY_FLIP": f"{ranks - 1}:6"}).wait()
    assert len(done.updates) == 6
    assert max((tmp_path / "kept").iterdir()).name == "step-00000005"
    others = "rank 0 has" if ranks == 2 else "ranks 0, 1 have"
    found = re.search(
        rf"error: rank \d: update 6: the ranks' parameters are not the same after it: {others} (\w{{16}}), "
        rf"rank {ranks - 1} has (\w{{16}}); ",
        done.err,
    )
    assert found and found[1] != found[2], done.err
    assert done.code in (4, 5), done.code  # 4: of one that heard of the other's end before it had compared
    # Continued without the fault it is the unbroken run.
    again = launch(ranks, *flags, "--resume", name="again").wait()
    whole = launch(ranks, *flags[:1], f"--checkpoint-dir={tmp_path / 'whole'}", name="whole").wait()
    assert again.code == whole.code == 0, again.err
    for file in (tmp_path / "whole" / "step-00000009").iterdir():
        assert file.read_bytes() == (tmp_path / "kept" / "step-00000009" / file.name).read_bytes(), file.name


def test_a_corrupt_shard_ends_every_rank(make_corpus, launch):
    """Whoever reads it names it and ends with 1, the others hear of that and end with 4."""
    spoilt = make_corpus(name="spoilt")
    for shard in spoilt.folder.glob("train-00002-*"):
        shard.write_bytes(shard.read_bytes()[:-5] + b"?????")
    run = launch(2, "--steps=1000", data=spoilt.folder)
    done = run.wait()
    found = re.search(
        r"error: rank (\d): \S+/train-00002-of-00004.safetensors: '.*' is not what was prepared", done.err
    )
    assert found, done.err
    assert f"rank {1 - int(found[1])}: rank {found[1]} ended with exit code 1, see its message" in done.err
    assert len(done.updates) < 1000


def test_an_interrupt_of_one_rank_is_everyones(launch, tmp_path):
    run = launch(2, "--steps=1000000000", f"--checkpoint-dir={tmp_path / 'kept'}")
    run.wait_for_update()
    os.kill(run.pid(1), signal.SIGINT)
    done = run.wait()
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2 and all("interrupted after update" in line for line in errors), done.err
    state = json.loads(next((tmp_path / "kept").glob("step-*/state.json")).read_text())
    assert f"interrupted after update {state['step']};" in errors[0]
