"""The C API through tts.runtime.Session, on the toy model as a library."""

import numpy as np
import pytest

from tts.runtime import RuntimeFailure, Session


@pytest.fixture
def session(model_library):
    with Session(model_library) as opened:
        opened.initialise(1)
        yield opened


def batch(session, bucket, phones, mel=None):
    """A micro-batch of `bucket` from lists of phones; mel frames default to none."""
    size, extent = session.describe("input:phones", bucket)[1]
    text, frames = np.zeros((size, extent), np.int32), np.zeros((size, extent, 2), np.float32)
    lengths, frame_lengths = np.zeros(size, np.int32), np.zeros(size, np.int32)
    for i, own in enumerate(phones):
        text[i, : len(own)], lengths[i] = own, len(own)
    for i, own in enumerate(mel or []):
        frames[i, : len(own)], frame_lengths[i] = own, len(own)
    ids = np.arange(size)
    return {
        "phones": text,
        "mel": frames,
        "phone_lengths": lengths,
        "frame_lengths": frame_lengths,
        "utterance": ids,
    }


def test_programs_one_by_one_make_a_step(session):
    """An update by hand equals step(), to the bit."""
    draw = np.random.default_rng(0)
    mel = [draw.normal(size=(n, 2)) for n in (4, 2)]
    micro = [(0, batch(session, 0, [[4], [2, 2, 2]], mel)), (1, batch(session, 1, [[7] * 8]))]
    start = {name: session.read(name) for name in session.parameters}
    stepped = session.step(micro, lr=0.1)
    after = {name: session.read(name) for name in session.parameters}
    gradients = {name: session.read(f"grad:{name}") for name in session.trainable}

    session.initialise(1)
    for name, value in start.items():
        np.testing.assert_array_equal(session.read(name), value)
    session.run("zero")
    session.set_scalars(seed=0, update=1, lr=0.1)
    totals = dict.fromkeys(session.losses, 0.0)
    sums = dict(totals)
    for bucket, inputs in micro:
        for name, array in inputs.items():
            session.set_input(name, bucket, array)
        session.run("denominators", bucket)
        for loss in totals:
            totals[loss] += float(session.read(f"denominator:{loss}")[0])
    session.set_denominators(totals)
    for bucket, inputs in micro:
        for name, array in inputs.items():
            session.set_input(name, bucket, array)
        session.run("forward", bucket)
        for loss in sums:
            sums[loss] += float(session.read(f"loss:{loss}")[0])
        session.run("backward", bucket)
    session.run("update")
    assert stepped["losses"] == {loss: sums[loss] / totals[loss] for loss in sums}
    for name in session.trainable:
        np.testing.assert_array_equal(session.read(f"grad:{name}"), gradients[name])
        np.testing.assert_array_equal(session.read(name), after[name])


def test_names_and_shapes(session):
    assert session.parameters == ["proj.weight", "proj.bias", "phone.mean"]
    assert session.outputs(1) == ["mel"] and session.describe("output:mel", 1)[1] == (2, 8, 2)
    session.write("proj.weight", [[1, 2], [3, 4]])
    np.testing.assert_array_equal(session.read("proj.weight"), [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="shape"):
        session.write("proj.weight", [1, 2])
    with pytest.raises(KeyError):
        session.read("grad:nobody")
    with pytest.raises(RuntimeFailure, match="does not exist") as failure:
        session.run("eval", 9)
    assert failure.value.code == 1


def test_non_finite_is_an_error_and_changes_nothing(session):
    before = session.read("phone.mean")
    bad = batch(session, 0, [[1]], [np.full((1, 2), np.nan)])
    assert session.non_finite() is None
    with pytest.raises(RuntimeFailure, match="not finite") as failure:
        session.step([(0, bad)], lr=0.1)
    assert failure.value.code == 5
    np.testing.assert_array_equal(session.read("phone.mean"), before)
    assert session.step([(0, batch(session, 0, [[1]]))], lr=0.1)["loss"] == 1.0
    assert session.non_finite() is None


def spoilt(session, micro, **more):
    """The text and the finding of a step that must fail."""
    with pytest.raises(RuntimeFailure) as failure:
        session.step(micro, lr=0.1, **more)
    assert failure.value.code == 5
    return str(failure.value), session.non_finite()


def test_a_spoilt_input_is_named(session):
    """The second micro-batch's mel, at the element, though the first product is where it shows."""
    mel = [np.ones((3, 2)), np.ones((2, 2))]
    mel[1][1, 0] = -np.inf
    good, bad = batch(session, 1, [[1]]), batch(session, 0, [[1, 2, 3], [2, 2]], mel)
    text, found = spoilt(session, [(1, good), (0, bad)], update=9)
    size, extent, width = session.describe("input:mel", 0)[1]
    where = np.ravel_multi_index((1, 1, 0), (size, extent, width))
    assert (found.tensor, found.was_read, found.function) == ("mel", True, "rt.gemm")
    assert (found.element, found.elements, found.value) == (where, size * extent * width, -np.inf)
    expected = f"the loss is not finite; first non-finite tensor: 'mel' read by rt.gemm, element {where} of "
    assert text.startswith("update 9: ") and expected in text and "is -inf; lower" in text


def test_a_spoilt_weight_is_named(session):
    session.write("proj.weight", [[1, 2], [np.nan, 4]])
    text, found = spoilt(session, [(0, batch(session, 0, [[1]], [np.ones((1, 2))]))])
    assert (found.tensor, found.was_read, found.element) == ("weights", True, 2) and np.isnan(found.value)
    assert "element 2 of" in text and "is nan" in text


def test_an_overflow_is_named_where_it_happens(session):
    """Finite inputs and weights whose product is not: the product, not what it was made of."""
    session.write("proj.weight", np.full((2, 2), 3e38))
    before = session.read("moment1:proj.weight")
    _, found = spoilt(session, [(0, batch(session, 0, [[1]], [np.full((1, 2), 9.0)]))])
    assert (found.function, found.was_read, found.element, found.value) == ("rt.gemm", False, 0, np.inf)
    assert found.tensor == "pred"
    np.testing.assert_array_equal(session.read("moment1:proj.weight"), before)


def test_a_gradient_is_named_when_the_loss_is_finite(session):
    """A product of finite factors in backward; weights stay, and a user's tap sees one run only."""
    for name in ("proj.weight", "proj.bias"):
        session.write(name, np.zeros_like(session.read(name)))
    seen = []
    with session.tap(lambda entry: seen.append(entry.kind)):
        text, found = spoilt(session, [(0, batch(session, 0, [[1]], [np.array([[3.5e19, 0]])]))])
    assert "the gradient norm is not finite" in text
    assert seen.count("update") == 2 and seen.count("zero") == 1
    assert (found.tensor, found.function, found.was_read, found.value) == ("gradients", "rt.gemm", False, -np.inf)
    assert not session.read("proj.weight").any()


def test_weights_as_safetensors(session, tmp_path):
    session.save(tmp_path / "w.safetensors")
    kept = session.read("proj.weight")
    session.initialise(2)
    assert (session.read("proj.weight") != kept).any()
    session.load(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(session.read("proj.weight"), kept)
    np.testing.assert_array_equal(session.read("ema:proj.weight"), kept)
    with pytest.raises(RuntimeFailure, match="cannot be opened"):
        session.load(tmp_path / "none")


def test_a_tap_sees_each_entry_right_after_it_ran(session):
    """Tensors that a later entry overwrites are seen as they were in between."""
    micro = [(0, batch(session, 0, [[4], [2, 2, 2]], [np.ones((4, 2)), np.ones((2, 2))]))]
    seen, between = [], []

    def look(entry):
        seen.append(entry)
        if entry.function.startswith("rt.gemm") and entry.kind == "forward":
            between.append(next(o for o in entry.operands if o.writes).array().copy())

    plain = session.step(micro, lr=0.1)
    session.initialise(1)
    with session.tap(look):
        assert session.step(micro, lr=0.1) == plain
    assert [e.kind for e in seen] == sorted((e.kind for e in seen), key=ORDER.index)
    assert [e.index for e in seen if e.kind == "forward"] == [0, 1, 2]
    gemm = next(e for e in seen if e.is_gemm)
    assert gemm.bucket == 0 and gemm.scalars[2:4] == (2, 2) and [o.access for o in gemm.operands[:3]] == [1, 1, 2]
    assert [o.buffer for o in gemm.operands] == ["mel", "weights", "pred", "scratch"]
    product = session.read("input:mel", 0).reshape(-1, 2) @ session_weights(session)
    np.testing.assert_allclose(between[0].reshape(-1, 2), product, rtol=1e-6)
    count = len(seen)
    session.step(micro, lr=0.1)
    assert len(seen) == count  # removed


ORDER = ["zero", "denominators", "forward", "backward", "update"]


def session_weights(session):
    session.initialise(1)
    return session.read("proj.weight")


def test_a_tap_can_end_a_program(session):
    class Enough(Exception):
        pass

    def look(entry):
        if entry.kind == "backward":
            raise Enough

    kept = session.read("proj.weight")
    with pytest.raises(Enough), session.tap(look):
        session.step([(0, batch(session, 0, [[1]]))], lr=0.1)
    np.testing.assert_array_equal(session.read("proj.weight"), kept)
    assert session.step([(0, batch(session, 0, [[1]]))], lr=0.1)["loss"] == 1.0


def test_times_per_entry(session):
    micro = [(0, batch(session, 0, [[4]])), (0, batch(session, 0, [[2]]))]
    with session.profile() as profile:
        for update in (1, 2, 3):
            session.step(micro, lr=0.1, update=update)
    calls = profile.by(lambda entry: entry.kind)
    assert calls["forward"][0] == 3 * 2 * 3 and calls["update"][0] == 3 * 2
    assert 0 < profile.seconds < 1 and all(t.seconds >= 0 for t in profile.timed)
    assert {t.entry.bucket for t in profile.timed} == {0, None}
    with session.profile() as again:
        session.run("zero")
    assert [(t.entry.function, t.calls) for t in again.timed] == [("zero", 1)]
