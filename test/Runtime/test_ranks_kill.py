"""A rank killed in a sum, while it writes a checkpoint and around its commit, or before all have started; and the loop of docs/ranks.md."""

import os
import random
import re
import signal
import subprocess
import time

import pytest
import ranks_kill
from test_ranks import RANKS
from toy_run import ROOT

FLAGS = ["--steps=24", "--checkpoint-every=3", "--keep=99", "--eval-every=4", "--seed=3"]


@pytest.fixture
def trial(corpus, tmp_path):
    assert RANKS.exists(), f"{RANKS} is not built"
    return ranks_kill.Trial(tmp_path / "trial", RANKS, corpus.folder, 2, FLAGS, env={"TOY_RANKS": "2"})


def test_a_rank_killed_at_any_call_is_continued_to_the_bit(trial):
    trial.whole()
    draw = random.Random(os.getpid())
    moments = [
        ranks_kill.Moment("sum over ranks", draw.randrange(2), f"MPI_Testall:{draw.randint(20, 200)}"),
        ranks_kill.Moment("checkpoint write", 0, f"{draw.choice(('write', 'fsync'))}:{draw.randint(10, 30)}"),
        ranks_kill.Moment("commit", 0, f"{draw.choice(('', 'after-'))}rename:{draw.randint(2, 8)}"),
    ]
    for moment in moments:
        gone = trial.strike(moment, recovery=False)
        assert gone is not None, f"{moment}: it was not reached"
        trial.continue_it()
        assert trial.differences() == [], moment
        trial.forget()


def test_a_rank_killed_while_the_others_start(trial):
    """MPI_Init of the others waits for ever by itself."""
    process = trial.launch("broken", recovery=True, env={"TTS_RANK_TIMEOUT": "0.1"})
    while process.poll() is None and 1 not in (pids := trial.pids()):
        time.sleep(0.001)
    os.kill(pids[1], signal.SIGKILL)
    start = time.monotonic()
    try:
        error = process.communicate(timeout=ranks_kill.LIMIT)[1]
    except subprocess.TimeoutExpired:
        left = trial.pids()
        process.kill()
        for pid in left.values():
            os.kill(pid, signal.SIGKILL)
        said = process.communicate()[1]
        pytest.fail(f"ranks {sorted(left)} still run" if left else f"mpirun stays though its ranks are gone: {said}")
    assert time.monotonic() - start < ranks_kill.LIMIT and not trial.pids()
    assert re.search(
        r"error: rank 0: (not all ranks have come together within 10.1 s|rank 1 (has not been heard|is gone))", error
    )


def test_the_loop_of_the_docs_starts_again_by_itself(trial):
    """As written there, but for its flags; a library kills the first rank in the first start."""
    trial.whole()
    text = (ROOT / "docs" / "ranks.md").read_text()
    loop = re.search(r"^    until mpirun.*?^    done$", text, re.DOTALL | re.MULTILINE)[0]
    flags = " ".join([*ranks_kill.MPIRUN[1:], "-n", "2"])
    loop, count = re.subn(r"mpirun -n 4 \./train .*? \$again", f"mpirun {flags} $TRAIN $again", loop)
    assert count == 1
    loop = loop.replace("run/step-*", "$RUN/step-*").replace(
        "    code=$?", "    code=$?; echo $code; unset LD_PRELOAD KILL_AT"
    )
    place = [
        f"--data={trial.data}",
        f"--checkpoint-dir={trial.folder / 'broken'}",
        f"--log-dir={trial.folder}/broken-log",
    ]
    variables = {
        "TRAIN": " ".join(str(part) for part in [trial.program, *place, *FLAGS]),
        "RUN": str(trial.folder / "broken"),
        "LD_PRELOAD": str(trial.killer),
        "KILL_AT": "0:rename:6",
    }
    done = subprocess.run(
        ["bash", "-c", loop], env={**trial.env, **variables}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert [line for line in done.stdout.splitlines() if line.isdigit()] == ["137"], done.stdout
    assert done.stdout.count("step 1/24 ") == 1, "it did not resume"
    assert trial.differences() == []
