"""The comparison with the peers: turns, bars and table with made-up workers, and the peer's model against the reference."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import demo_speed
import pytest
import torch

import figures
import reference_fastspeech2 as reference
import speech
import torch_model
from figures import Figures
from pool import Worker, WorkerFailure, interleave
from tts.models.fastspeech2 import SIZES

ROOT = Path(__file__).resolve().parents[3]
FAKE = """
import sys
sys.path.insert(0, {folder!r})
from worker import serve

class Side:
    def __init__(self, job):
        self.job = job
    def step(self, update):
        if update == self.job.dies_at:
            raise SystemExit("no more of this")
        print("noise of a library")
        with open(self.job.diary, "a") as diary:
            diary.write(f"{{self.job.name}}{{update}} ")
        return 1.0 / update

serve(Side)
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts a made-up worker by name."""
    script, started = tmp_path / "fake.py", []
    script.write_text(FAKE.format(folder=str(ROOT / "benchmarks" / "peers")))

    def make(name, dies_at=None):
        job = tmp_path / f"{name}.json"
        job.write_text(json.dumps({"name": name, "diary": str(tmp_path / "diary"), "dies_at": dies_at, "config": {}}))
        started.append(Worker(name, [sys.executable, script, job], dict(os.environ), tmp_path / f"{name}.log"))
        return started[-1]

    yield make
    for worker in started:
        worker.close()


def test_steps_are_taken_in_turns_and_the_first_ones_do_not_count(start, tmp_path):
    times = interleave([start("a"), start("b")], rounds=2, warmup=1, pause=0.0)
    assert (tmp_path / "diary").read_text().split() == ["a1", "b1", "a2", "b2", "a3", "b3"]
    for wall, processor in times.values():
        assert len(wall) == len(processor) == 2 and min(wall) > 0


def test_memory_is_told_and_grows_from_the_baseline(start):
    worker = start("a")
    assert worker.ask("memory")["highest"] >= worker.baseline["highest"] > 1 << 20


def test_a_dying_worker_is_told_with_its_last_words(start):
    with pytest.raises(WorkerFailure, match="worker a: exit 1: no more of this"):
        interleave([start("a", dies_at=2)], rounds=2, pause=0.0)


def side(name, wall, cpu, memory=100, loss=7.0, **more):
    return Figures(name, "v", "i", seconds=wall, processor_seconds=cpu, loss=loss, memory_highest=memory, **more)


def held(sides, clock="wall"):
    return {gate.what: gate.holds for gate in figures.gates(sides, clock)}


def test_bars_take_the_minimum_of_the_clock_asked_for():
    sides = [side("ours", [9.0, 0.7], [0.8], 59), side("torch113", [1.0, 5.0], [1.0])]
    assert all(held(sides).values()) and len(held(sides)) == 3
    assert held(sides, "cpu")["step, ours / torch113 (cpu seconds)"] is False


def test_memory_and_losses_have_bars_of_their_own():
    sides = [side("ours", [0.1], [0.1], 61), side("torch113", [1.0], [1.0], loss=7.001)]
    told = held(sides)
    assert told == {
        "step, ours / torch113 (wall seconds)": True,
        "loss without dropout, ours and torch113 apart": False,
        "resident memory, ours / torch113": False,
    }


def test_an_absent_peer_has_no_bar_unless_it_is_the_measure():
    ours = side("ours", [0.1], [0.1])
    gone = Figures("jax", absent="no wheel")
    assert all(held([ours, side("torch113", [1.0], [1.0], 1000), gone]).values())
    assert held([ours, Figures("torch113", absent="no torch")]) == {"torch113 is absent: no measure": False}


def test_the_table_has_ratios_and_reasons():
    lines = figures.table(
        [
            side("ours", [1.0], [1.0], 50 << 20),
            side("torch", [2.0, 3.0], [4.0], 80 << 20),
            Figures("jax", absent="no wheel"),
        ]
    ).splitlines()
    assert lines[2].split() == [
        "torch",
        "2.000",
        "(2.500)",
        "4.000",
        "(4.000)",
        "0.500",
        "0.250",
        "80",
        "-",
        "7.000000",
    ]
    assert lines[3].split(maxsplit=1) == ["jax", "absent: no wheel"]


def test_demo_speed_takes_each_update_at_its_quickest_and_leaves_out_the_start():
    runs = [demo_speed.Run([1.0, 4.0], [10, 30], 7.0, 9.0), demo_speed.Run([2.0, 3.0], [10, 30], 6.0, 9.0)]
    starts = [demo_speed.Run([1.0], [10], 4.0, 9.0), demo_speed.Run([1.0], [10], 3.0, 9.0)]
    assert demo_speed.rates(runs, starts) == {"wall": 40 / 4.0, "cpu": 30 / 3.0}


@pytest.fixture
def doubles():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("convolution", [False, True])
@pytest.mark.parametrize("lengths", [[(16, 64)] * 3, [(16, 64), (9, 40), (5, 11)]])
def test_the_peer_computes_the_reference_loss_and_gradients(convolution, lengths, monkeypatch, doubles):
    monkeypatch.setattr(torch_model.Linear, "as_convolution", convolution)
    config = replace(SIZES["tiny"], dropout=0.0, variance_dropout=0.0)
    torch.manual_seed(1)
    known = reference.FastSpeech2(config)
    with torch.no_grad():
        for name, p in known.named_parameters():
            p.copy_(torch.linspace(-4, 4, len(p)) if name.endswith("boundaries") else 0.2 * torch.randn(p.shape))
    peer = torch_model.FastSpeech2(config, 16, 64)
    peer.load_state_dict({n: torch_model.in_own_layout(n, p.detach()) for n, p in known.named_parameters()})
    batch = speech.padded(speech.utterances(lengths, config.symbols), {"text": 16, "frames": 64}, torch.float64)
    counts = reference.denominators(batch)
    expected = sum(part / counts[name] for name, part in reference.losses(known(batch), batch).items())
    tensors = {name: getattr(batch, name) for name in ("phones", "durations", "pitch", "energy", "mel")}
    told = peer(tensors | {"phone_lengths": batch.phone_lengths, "mel_lengths": batch.mel_lengths})
    assert told.item() == pytest.approx(expected.item(), rel=1e-10)
    expected.backward()
    told.backward()
    gradients = dict(peer.named_parameters())
    largest = max(float(p.grad.abs().max()) for p in known.parameters() if p.requires_grad)
    for name, p in known.named_parameters():
        if p.requires_grad:
            own = torch_model.in_own_layout(name, p.grad)
            assert float((gradients[name].grad - own).abs().max()) <= 1e-9 * largest, name
