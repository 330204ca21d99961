"""Mixed precision: gradients near those of f32, fusion and padding without a changed bit, range where fp16 has none."""

from dataclasses import replace

import numpy as np
import pytest

from machine import Machine, compile_model, global_error, relative_error, worst_error
from speech import utterances
from tts.models.fastspeech2 import SIZES, text

CONFIG = replace(SIZES["tiny"], batch=8, dropout=0.1, variance_dropout=0.5)
MODEL = text(CONFIG)
BATCH = utterances([(16, 64), (9, 40), (5, 23), (1, 6), (12, 64), (16, 33), (2, 11), (7, 50)], CONFIG.symbols, seed=3)
HALVES = pytest.mark.parametrize("precision", ["bf16", "fp16"])

# Two errors. About 60 roundings lie between the input and the first layer's gradient, each up to half a unit and
# independent: √(60 / 3) units, 0.9 % in bf16. And the L1 loss's gradient is a sign: where a prediction errs by e a share
# of about e of the signs flips, each an error of twice its gradient, so 2·√e: with e one part in 400, as large as that
# rounding error of a mel, 10 %. A wrong scale, mask or a dropped term is an error of the order of one.
UNIT = {"bf16": 2.0**-9, "fp16": 2.0**-12}


@pytest.fixture
def compiled_machine(compiled_models):
    """Machines of compiled models only: programs in half types are not interpreted."""
    made = []

    def make(model, micro_batch, precision):
        made.append(Machine(compile_model(model, compiled_models, micro_batch, precision), micro_batch))
        return made[-1]

    yield make
    for one in made:
        one.close()


def gradients(compiled, bucket=0, batch=BATCH, **options):
    compiled.session.initialise(2)
    losses = compiled.gradients(compiled.cut(batch, bucket, **options), seed=9, update=3)
    return losses, compiled.read("grad:")


@HALVES
def test_gradients_are_near_those_of_f32(compiled_machine, precision):
    losses, expected = gradients(compiled_machine(MODEL, 4, "fp32"))
    told, found = gradients(compiled_machine(MODEL, 4, precision))
    assert told == pytest.approx(losses, rel=4 * UNIT[precision])
    bound = 0.1 * np.sqrt(UNIT[precision] / UNIT["bf16"])
    assert global_error(found, expected) <= bound
    error, name = worst_error(found, expected, 0.02)
    assert error <= 3 * bound, name
    assert global_error(found, expected) > UNIT[precision] / 100, "nothing was rounded: this is f32"


@HALVES
def test_half_copies_are_the_rounded_weights(compiled_machine, precision):
    """At start, after writing one, and after an update."""
    session = compiled_machine(MODEL, 4, precision).session
    machine = Machine(session, 4)
    copied = [p["name"] for p in session.manifest["parameters"] if "half_copy" in p]
    assert any(name.endswith("weight") for name in copied) and not any("norm" in name for name in copied)

    def check():
        for name in copied:
            value = session.read(name)
            np.testing.assert_array_equal(session.read(f"half:{name}"), rounded(value, precision), err_msg=name)

    session.initialise(2)
    check()
    before = session.read(copied[0])
    session.write(copied[0], before * np.float32(1.001))
    check()
    machine.step(machine.cut(dict(BATCH)), lr=1e-2)
    assert not np.array_equal(session.read(copied[0]), before)
    check()


def rounded(values: np.ndarray, precision: str) -> np.ndarray:
    """To the nearest half number, ties to even, as the bits that the runtime hands out."""
    if precision == "fp16":
        return values.astype(np.float16)
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


@HALVES
def test_what_stands_in_the_padding(compiled_machine, precision):
    compiled = compiled_machine(MODEL, 3, precision)
    losses, expected = gradients(compiled)
    for padding in (7.5, float("nan")):
        told, found = gradients(compiled, padding=padding)
        assert told == losses
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_micro_batches_draw_the_same(compiled_machine):
    """Other masks would be an error of order one. Sums differ in their last bit, and where one lies by a tie of bf16 a
    number by one unit, in perhaps a thousandth of them: √(1/1000) · 2^-8, plus signs that flip."""
    losses, expected = gradients(compiled_machine(MODEL, 8, "bf16"))
    for micro_batch in (1, 2, 3):
        told, found = gradients(compiled_machine(MODEL, micro_batch, "bf16"))
        assert told == pytest.approx(losses, rel=1e-4), micro_batch
        assert global_error(found, expected) <= 5e-3, micro_batch


TEXT = "tensor<?x?xf32, #tts.dims<batch, text>>"
LENGTHS = "tensor<?xi32, #tts.dims<batch>>"
WIDE = "tensor<?x?x8xf32, #tts.dims<batch, text, _>>"

# The prior term of VITS: exp(-2·logs) · z², under a mask, with logs and z out of products in the half type.
PRIOR = """
module attributes {tts.batch = 2 : i64, tts.buckets = [#tts.bucket<text = 4>], tts.hardware = "host"} {
  func.func @train(
      %w: tensor<8x8xf32> {tts.param = "w", tts.init = #tts.init<zeros>},
      %x: WIDE {tts.input = "x"}, %y: WIDE {tts.input = "y"},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "l"})
      attributes {tts.program = "train"} {
    %p = tts.linear %x, %w : WIDE, tensor<8x8xf32> to WIDE loc("logs")
    %c = tts.full -2.0 : WIDE loc("minus_two")
    %s = tts.mul %p, %c : WIDE loc("scaled")
    %e = tts.exp %s : WIDE loc("exp")
    %m = tts.mask %e, %n : WIDE, LENGTHS loc("masked")
    %l = tts.l1_loss %m, %y, %n : WIDE, LENGTHS to tensor<f32> loc("loss")
    %d = tts.count %n {per = 8.0 : f64} : LENGTHS to tensor<f32> loc("count")
    return %l, %d : tensor<f32>, tensor<f32>
  }
}
"""


def prior_model() -> str:
    return PRIOR.replace("WIDE", WIDE).replace("LENGTHS", LENGTHS)


def prior_losses(compiled_machine, model: str):
    compiled = compiled_machine(model, 2, "fp16")
    compiled.session.write("w", np.eye(8, dtype=np.float32))
    x = [np.full((3, 8), -6, np.float32), np.full((1, 8), -6, np.float32)]
    batch = {"x": x, "y": [np.zeros_like(a) for a in x], "lengths": np.array([3, 1], np.int32)}
    return compiled, compiled.gradients(compiled.cut(batch))


def test_report_17_exp_of_twelve_in_fp16(compiled_machine):
    """exp(-2 · -6) = 162754.79 is no fp16 number; kept in f32 it is right and its mask is 0, not infinity times 0."""
    compiled, losses = prior_losses(compiled_machine, prior_model())
    assert losses["l"] == pytest.approx(162754.79, rel=1e-6)
    gradient = compiled.read("grad:")["w"]
    # d/dp of exp(-2 p) is -2 · 162754.79 / 32, rounded to fp16 once; four frames of -6 add up in f32.
    np.testing.assert_allclose(gradient, 4 * -6 * -2 * 162754.79 / 32, rtol=2.0**-11)
    # Undivided it is no fp16 number: that is what the loss scale is for.
    compiled.session.set_denominators({"l": 1.0})
    compiled.session.run("zero")
    compiled.session.run("forward", 0)
    compiled.session.run("backward", 0)
    assert not np.isfinite(compiled.read("grad:")["w"]).any()


def test_report_17_planted(compiled_machine):
    """The fault itself, in the model: with the exponential in fp16 the loss is infinite."""
    half = WIDE.replace("f32", "f16")
    casts = f"""    %h = tts.cast %e : {WIDE} to {half} loc("in_half")
    %b = tts.cast %h : {half} to {WIDE} loc("and_back")
    %m = tts.mask %b"""
    model = prior_model()
    assert "    %m = tts.mask %e" in model
    _, losses = prior_losses(compiled_machine, model.replace("    %m = tts.mask %e", casts))
    assert np.isinf(losses["l"])


ATTENTION = """
module attributes {tts.batch = 2 : i64, tts.buckets = [#tts.bucket<text = 4>], tts.hardware = "host"} {
  func.func @train(
      %w: tensor<8x8xf32> {tts.param = "w", tts.init = #tts.init<zeros>},
      %x: WIDE {tts.input = "x"}, %y: WIDE {tts.input = "y"},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "l"},
        WIDE {tts.output = "attended"})
      attributes {tts.program = "train"} {
    %q = tts.linear %x, %w : WIDE, tensor<8x8xf32> to WIDE loc("q")
    %a = tts.attention %q, %q, %x, %n {heads = 2 : i64} : WIDE, LENGTHS loc("attention")
    %l = tts.mse_loss %a, %y, %n : WIDE, LENGTHS to tensor<f32> loc("loss")
    %d = tts.count %n {per = 8.0 : f64} : LENGTHS to tensor<f32> loc("count")
    return %l, %d, %a : tensor<f32>, tensor<f32>, WIDE
  }
}
"""


@HALVES
@pytest.mark.parametrize("padding", [0.0, 7.5])
def test_report_20_masked_and_empty_rows(compiled_machine, precision, padding):
    """No -inf is cast to a half type, and a row without a valid key is 0 with gradient 0, never NaN."""
    compiled = compiled_machine(ATTENTION.replace("WIDE", WIDE).replace("LENGTHS", LENGTHS), 2, precision)
    compiled.session.write("w", np.eye(8, dtype=np.float32))
    rng = np.random.default_rng(1)
    batch = {"x": [rng.normal(size=(3, 8)).astype(np.float32), np.zeros((0, 8), np.float32)]}
    batch |= {"y": [np.zeros_like(a) for a in batch["x"]], "lengths": np.array([3, 0], np.int32)}
    micro = compiled.cut(batch, padding=padding)
    losses = compiled.gradients(micro)
    assert np.isfinite(losses["l"]) and np.isfinite(compiled.read("grad:")["w"]).all()
    found = compiled.evaluate(micro[0])["attended"]
    np.testing.assert_array_equal(found[1], 0)
    x = batch["x"][0].astype(np.float64)
    for head in (slice(0, 4), slice(4, 8)):
        scores = x[:, head] @ x[:, head].T / 2
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True) @ x[:, head]
        assert relative_error(found[0][:3, head], expected) <= 8 * UNIT[precision]
