"""The compiled tiny FastSpeech 2 speaks: @infer against PyTorch with predicted durations, whatever bucket and slot."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interpreted import InterpretedSession
from machine import relative_error
from reference_fastspeech2 import FastSpeech2
from test_fastspeech2 import first_value, values, weights
from tts.models.fastspeech2 import SIZES, text

CONFIG = replace(SIZES["tiny"], batch=8)
MICRO_BATCH = 3
TOLERANCE = {"fp64": 1e-11, "fp32": 1e-5}
EXACT = ("durations", "mel_lengths", "wanted_frames")


@pytest.fixture(params=["fp64", "fp32"])
def pair(request, machine):
    """The compiled model and, in f64, the reference with the same weights; durations of a few frames."""
    compiled = machine(text(CONFIG), MICRO_BATCH, request.param)
    for name in compiled.session.parameters:
        value = first_value(name, compiled.session.read(name).shape)
        compiled.session.write(name, value + 0.8 if name == "variance.duration.linear.bias" else value)
    reference = FastSpeech2(CONFIG).double()
    reference.load_state_dict({n: torch.from_numpy(v.copy()) for n, v in weights(compiled).items()})
    return compiled, reference, request.param


def requests(lengths, seed: int = 3, scale=(0.8, 1.3), shift: float = 0.5) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {
        "phones": [rng.integers(1, CONFIG.symbols, n) for n in lengths],
        "phone_lengths": [np.int32(n) for n in lengths],
        "duration_scale": [rng.uniform(*scale, n).astype(np.float32) for n in lengths],
        "pitch_shift": [rng.uniform(-shift, shift, n).astype(np.float32) for n in lengths],
        "energy_shift": [rng.uniform(-shift, shift, n).astype(np.float32) for n in lengths],
    }


def spoken(compiled, asked: dict, bucket: int) -> list[dict[str, np.ndarray]]:
    """Each request's outputs without padding."""
    found, count = [], len(asked["phones"])
    for first, micro in enumerate(compiled.cut(asked, bucket, inputs_of="infer_inputs")):
        whole = compiled.infer(micro)
        for slot in range(min(MICRO_BATCH, count - first * MICRO_BATCH)):
            found.append(cut({n: v[slot] for n, v in whole.items()}, asked["phone_lengths"][len(found)]))
    return found


def cut(told: dict, phones: int) -> dict:
    extents = {"mel": int(told["mel_lengths"])} | dict.fromkeys(("durations", "pitch", "energy"), phones)
    return {n: v[: extents[n]] if n in extents else v for n, v in told.items()}


def expected(reference, asked: dict, bucket: int) -> list[dict[str, np.ndarray]]:
    """The reference, one request at a time: no padding at all but the bucket's frames."""
    found, frames = [], CONFIG.buckets[bucket]["frames"]
    for i, n in enumerate(asked["phone_lengths"]):
        phones, *controls = (torch.from_numpy(np.asarray(asked[k][i]))[None] for k in asked if k != "phone_lengths")
        with torch.no_grad():
            whole = reference.speak(phones, torch.tensor([int(n)]), *(c.double() for c in controls), frames)
        told = {name: value[0] for name, value in values(whole).items()}
        assert np.abs(told["unrounded"] % 1 - 0.5).min() > 1e-4, "choose other requests: one duration is at a half"
        found.append(cut({k: v for k, v in told.items() if k != "unrounded"}, int(n)))
    return found


def assert_same(found: list[dict], wanted: list[dict], tolerance: float):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert set(one) == set(other)
        for name, value in one.items():
            if name in EXACT:
                np.testing.assert_array_equal(value, other[name], err_msg=name)
            else:
                assert relative_error(value, other[name]) <= tolerance, name


@pytest.mark.parametrize(("bucket", "lengths"), [(0, (16, 9, 5, 1)), (1, (24, 17, 3, 20))])
def test_speech(pair, bucket, lengths):
    compiled, reference, precision = pair
    asked = requests(lengths, seed=3 + bucket)
    wanted = expected(reference, asked, bucket)
    assert any(told["mel_lengths"] > 20 for told in wanted), "the test speaks too little"
    assert all(told["wanted_frames"] <= CONFIG.buckets[bucket]["frames"] for told in wanted)
    assert_same(spoken(compiled, asked, bucket), wanted, TOLERANCE[precision])


def test_what_the_bucket_cannot_hold_is_cut_and_told(pair):
    compiled, reference, precision = pair
    asked = requests((16, 2), scale=(5.0, 6.0))
    wanted = expected(reference, asked, 0)
    assert wanted[0]["wanted_frames"] > 64 and wanted[0]["mel_lengths"] == 64 and len(wanted[0]["mel"]) == 64
    assert_same(spoken(compiled, asked, 0), wanted, TOLERANCE[precision])


def test_bucket_and_slot_change_no_bit(pair):
    compiled, _, _ = pair
    asked = requests((16, 9, 5, 7))
    told = spoken(compiled, asked, 0)
    order = [2, 0, 3, 1]
    others = spoken(compiled, {n: [v[i] for i in order] for n, v in asked.items()}, 1)
    for index, other in zip(order, others):
        for name, value in told[index].items():
            if isinstance(compiled.session, InterpretedSession):  # NumPy's sums follow the shape
                np.testing.assert_allclose(value, other[name], rtol=1e-9, atol=1e-12, err_msg=name)
            else:
                np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_slots_without_an_utterance_say_nothing(pair):
    compiled, _, _ = pair
    (micro,) = compiled.cut(requests((4,)), 0, inputs_of="infer_inputs")
    told = compiled.infer(micro)
    assert list(told["wanted_frames"][1:]) == [0, 0] and not told["durations"][1:].any()
    assert np.isfinite(told["mel"]).all()


@pytest.mark.parametrize("bias", [400.0, np.nan])
def test_a_duration_without_bound_is_told(pair, bias):
    """An untrained model may predict anything: nothing is read or written out of place."""
    compiled, _, _ = pair
    name = "variance.duration.linear.bias"
    compiled.session.write(name, np.full(compiled.session.read(name).shape, bias))
    told = spoken(compiled, requests((5, 1)), 0)
    for one in told:
        assert int(one["wanted_frames"]) == (2**31 - 128 if bias > 0 else 0)
        assert int(one["mel_lengths"]) == (64 if bias > 0 else 0)


def test_training_is_the_same_beside_it(pair):
    """The parameters of infer are those of eval: one storage."""
    compiled, _, _ = pair
    frozen = set(compiled.session.parameters) - set(compiled.session.trainable)
    assert len(compiled.session.parameters) == len(set(compiled.session.parameters)) and len(frozen) == 2
    asked = requests((9,))
    before = spoken(compiled, asked, 0)[0]
    compiled.session.write("mel.bias", compiled.session.read("mel.bias") + 1)
    after = spoken(compiled, asked, 0)[0]
    np.testing.assert_allclose(after["mel"], before["mel"] + 1, rtol=1e-5, atol=1e-5)
