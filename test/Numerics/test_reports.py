"""Faults of other trainers, each as a model of a few ops with the right number, and the wrong one planted.

The reports are those of people who train under a memory limit: means of means, EMA, decay and clipping per
micro-batch, padding in the mean, lengths taken from shapes, dropout drawn again in backward.
"""

import numpy as np
import pytest

import philox
from machine import RuntimeFailure

EVERY_SPLIT = pytest.mark.parametrize("micro_batch", [1, 2, 3, 4])
TEXT = "tensor<?x?xf32, #tts.dims<batch, text>>"
LENGTHS = "tensor<?xi32, #tts.dims<batch>>"

# One weight w predicts every frame; loss (w - y)², or |w - y| with `l1`, over the valid frames.
ONE_WEIGHT = """
module attributes {tts.batch = 4 : i64, tts.buckets = [#tts.bucket<text = 4>, #tts.bucket<text = 6>],
                   tts.hardware = "host", tts.optimizer = "OPTIMIZER" EXTRA} {
  func.func @train(
      %w: tensor<1xf32> {tts.param = "w", tts.init = #tts.init<zeros>},
      %y: TEXT {tts.input = "y"},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "l"})
      attributes {tts.program = "train"} {
    %s = tts.squeeze %w {dim = 0 : i64} : tensor<1xf32> to tensor<f32> loc("scalar")
    %p = tts.broadcast %s dims [] : tensor<f32> to TEXT loc("prediction")
    %l = tts.LOSS_loss %p, %y, %n : TEXT, LENGTHS to tensor<f32> loc("loss")
    %d = tts.count %n {per = 1.0 : f64} : LENGTHS to tensor<f32> loc("count")
    return %l, %d : tensor<f32>, tensor<f32>
  }
}
"""


def one_weight(loss="mse", optimizer="adamw", extra=""):
    text = ONE_WEIGHT.replace("LOSS", loss).replace("OPTIMIZER", optimizer).replace("EXTRA", extra)
    return text.replace("TEXT", TEXT).replace("LENGTHS", LENGTHS)


def frames(*targets):
    """Utterances by their valid frames' targets."""
    return {"y": [np.float32(t) for t in targets], "lengths": [np.int32(len(t)) for t in targets]}


def gradient_of_w(compiled, batches):
    losses = compiled.gradients(batches)
    return losses["l"], compiled.read("grad:")["w"].item()


# 1, 2: the mean is over the update.


@EVERY_SPLIT
@pytest.mark.parametrize("targets", [[[4], [2], [2], [2]], [[4], [2, 2, 2]]])
def test_mean_of_means(machine, micro_batch, targets):
    compiled = machine(one_weight(), micro_batch)
    assert gradient_of_w(compiled, compiled.cut(frames(*targets))) == pytest.approx((7.0, -5.0), rel=1e-14)


def test_mean_of_means_planted(machine):
    """Each micro-batch divided by its own count, then by their number: 10 and -6."""
    compiled = machine(one_weight(), 1)
    micro, session = compiled.cut(frames([4], [2, 2, 2])), compiled.session
    session.run("zero")
    for one in micro:
        session.set_denominators({"l": compiled.denominators([one])["l"] * len(micro)})
        session.run("forward", one[0])
        session.run("backward", one[0])
    assert compiled.read("grad:")["w"].item() == pytest.approx(-6.0)


@EVERY_SPLIT
def test_loss_does_not_grow_with_accumulation(machine, micro_batch):
    compiled = machine(one_weight(), micro_batch)
    assert gradient_of_w(compiled, compiled.cut(frames(*[[2, 2]] * 4)))[1] == pytest.approx(-4.0, rel=1e-14)


@pytest.mark.parametrize("divisor, wrong", [(2.0, -16.0), (32.0, -1.0)])
def test_loss_divided_wrongly_planted(machine, divisor, wrong):
    """Divided by a micro-batch's count only, or by the number of micro-batches once more."""
    compiled = machine(one_weight(), 1)
    session = compiled.session
    session.set_denominators({"l": divisor})
    session.run("zero")
    for micro in compiled.cut(frames(*[[2, 2]] * 4)):
        compiled.load(micro)
        session.run("forward", micro[0])
        session.run("backward", micro[0])
    assert compiled.read("grad:")["w"].item() == pytest.approx(wrong)


# 4, 7: once per update.


@EVERY_SPLIT
def test_ema_once_per_update(machine, micro_batch):
    compiled = machine(one_weight(extra=", tts.ema_decay = 0.9 : f64"), micro_batch)
    compiled.write({"w": [1.0], "ema:w": [0.0]})
    for update in (1, 2):
        compiled.step(compiled.cut(frames([1], [1], [1], [1])), lr=0.0, update=update)
    assert compiled.read("ema:")["w"].item() == pytest.approx(0.19, rel=1e-14)


def test_ema_per_micro_batch_planted(machine):
    compiled = machine(one_weight(extra=", tts.ema_decay = 0.9 : f64"), 1)
    compiled.write({"w": [1.0], "ema:w": [0.0]})
    for update in (1, 2):
        for micro in compiled.cut(frames([1], [1], [1], [1])):
            compiled.step([micro], lr=0.0, update=update)
    assert compiled.read("ema:")["w"].item() == pytest.approx(0.5695, abs=1e-4)


@EVERY_SPLIT
def test_adam_counts_updates(machine, micro_batch):
    """Gradient 1 in the first update: the step is the rate."""
    compiled = machine(one_weight("l1"), micro_batch)
    compiled.write({"w": [0.0]})
    compiled.step(compiled.cut(frames([-1], [-1], [-1], [-1])), lr=1e-3)
    assert compiled.read()["w"].item() == pytest.approx(-1e-3, rel=1e-8)


def test_adam_counts_micro_batches_planted(machine):
    """The same update taken for the fourth one: 0.1/(1 - β1⁴) / √((1 - β2)/(1 - β2⁴)) of the rate."""
    compiled = machine(one_weight("l1"), 4)
    told = compiled.session.manifest["optimizer"]
    compiled.write({"w": [0.0]})
    compiled.step(compiled.cut(frames([-1], [-1], [-1], [-1])), lr=1e-3, update=4)
    first = (1 - told["beta1"]) / (1 - told["beta1"] ** 4)
    second = (1 - told["beta2"]) / (1 - told["beta2"] ** 4)
    assert compiled.read()["w"].item() == pytest.approx(-1e-3 * first / np.sqrt(second), rel=1e-6)
    assert abs(compiled.read()["w"].item() + 1e-3) > 3e-4


@EVERY_SPLIT
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_decay_once_per_update(machine, micro_batch, optimizer):
    """The gradient is 0, as every target is met."""
    compiled = machine(one_weight("l1", optimizer), micro_batch)
    compiled.write({"w": [1.0]})
    compiled.step(compiled.cut(frames([1], [1], [1], [1])), lr=0.1, weight_decay=0.1)
    assert compiled.read()["w"].item() == pytest.approx(0.99, rel=1e-14)


def test_decay_per_micro_batch_planted(machine):
    compiled = machine(one_weight("l1", "sgd"), 1)
    compiled.write({"w": [1.0]})
    for micro in compiled.cut(frames([], [], [], [])):
        compiled.step([micro], lr=0.1, weight_decay=0.1)
    assert compiled.read()["w"].item() == pytest.approx(0.9606, abs=1e-4)


# 10: clipping after accumulation.

# The gradient of the two weights is the mean of x over the utterances.
TWO_WEIGHTS = """
module attributes {tts.batch = 2 : i64, tts.buckets = [#tts.bucket<text = 1>], tts.hardware = "host",
                   tts.optimizer = "sgd", tts.grad_clip = 1.0 : f64} {
  func.func @train(
      %w: tensor<2xf32> {tts.param = "w", tts.init = #tts.init<zeros>},
      %x: tensor<?x?x2xf32, #tts.dims<batch, text, _>> {tts.input = "x"},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "l"})
      attributes {tts.program = "train"} {
    %b = tts.broadcast %w dims [2] : tensor<2xf32> to tensor<?x?x2xf32, #tts.dims<batch, text, _>> loc("weights")
    %p = tts.mul %b, %x : tensor<?x?x2xf32, #tts.dims<batch, text, _>> loc("product")
    %l = tts.sum_to %p dims [] : tensor<?x?x2xf32, #tts.dims<batch, text, _>> to tensor<f32> loc("loss")
    %d = tts.count %n {per = 1.0 : f64} : LENGTHS to tensor<f32> loc("count")
    return %l, %d : tensor<f32>, tensor<f32>
  }
}
""".replace("LENGTHS", LENGTHS)


def step_of_two(compiled, *gradients):
    """SGD at rate 1 from zero: minus the clipped gradient."""
    batch = {"x": [np.float32([g]) for g in gradients], "lengths": [np.int32(1)] * len(gradients)}
    compiled.write({"w": [0.0, 0.0]})
    norm = compiled.step(compiled.cut(batch), lr=1.0)["grad_norm"]
    return norm, -compiled.read()["w"]


@pytest.mark.parametrize("micro_batch", [1, 2])
@pytest.mark.parametrize(
    "gradients, norm, right",
    [
        ([(0.75, 0.0), (0.25, 0.0)], 0.5, (0.5, 0.0)),  # below the limit: unchanged
        ([(6.0, 0.0), (-6.0, 0.0)], 0.0, (0.0, 0.0)),
        ([(6.0, 0.0), (0.0, 0.0)], 3.0, (1.0, 0.0)),
        ([(6.0, 0.0), (0.0, 8.0)], 5.0, (0.6, 0.8)),  # per micro-batch it would be (1, 1)
    ],
)
def test_clipping_of_the_whole_gradient(machine, micro_batch, gradients, norm, right):
    found_norm, found = step_of_two(machine(TWO_WEIGHTS, micro_batch), *gradients)
    assert found_norm == pytest.approx(norm, abs=1e-14)
    assert found == pytest.approx(right, rel=2e-6, abs=1e-14)


def test_clipping_per_micro_batch_planted(machine):
    compiled = machine(TWO_WEIGHTS, 1)
    steps = [step_of_two(compiled, g)[1] for g in ((6.0, 0.0), (0.0, 8.0))]
    assert sum(steps) == pytest.approx((1.0, 1.0), rel=2e-6)


# 19: a gradient that is not finite.


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_non_finite_gradient_changes_nothing(machine, value):
    compiled = machine(one_weight(extra=", tts.ema_decay = 0.9 : f64, tts.grad_clip = 1.0 : f64"), 2)
    good = compiled.cut(frames([1], [2], [3], [4]))
    compiled.step(good, lr=0.1)
    states = [compiled.read(prefix) for prefix in ("", "moment1:", "moment2:", "ema:")]
    with pytest.raises(RuntimeFailure) as failure:
        compiled.step(compiled.cut(frames([1], [2], [value], [4])), lr=0.1, update=2)
    assert failure.value.code == 5
    assert [compiled.read(prefix) for prefix in ("", "moment1:", "moment2:", "ema:")] == states
    compiled.step(good, lr=0.1, update=2)
    assert compiled.read() != states[0]


# 25: padding stays out of the mean.


@pytest.mark.parametrize("bucket", [0, 1])
@pytest.mark.parametrize("padding", [0.0, 9.0, float("nan")])
def test_padded_frames_stay_out_of_the_mean(machine, bucket, padding):
    compiled = machine(one_weight("l1"), 2)
    assert gradient_of_w(compiled, compiled.cut(frames([2, 4]), bucket, padding)) == pytest.approx((3.0, -1.0))


def test_padded_frames_in_the_mean_planted(machine):
    compiled = machine(one_weight("l1"), 1)
    batch = {"y": [np.float32([2, 4, 0, 0])], "lengths": [np.int32(4)]}
    assert gradient_of_w(compiled, compiled.cut(batch))[0] == pytest.approx(1.5)


# Two losses share a parameter.

TWO_LOSSES = """
module attributes {tts.batch = 4 : i64, tts.buckets = [#tts.bucket<frames = 6, text = 4>], tts.hardware = "host",
                   tts.optimizer = "sgd"} {
  func.func @train(
      %w: tensor<f32> {tts.param = "w", tts.init = #tts.init<zeros>},
      %y: TEXT {tts.input = "y"},
      %z: FRAMES {tts.input = "z"},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"},
      %m: LENGTHS {tts.input = "frame_lengths", tts.lengths = "frames"})
    -> (tensor<f32> {tts.loss = "a", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "a"},
        tensor<f32> {tts.loss = "b", tts.coefficient = 0.5 : f64}, tensor<f32> {tts.denominator = "b"})
      attributes {tts.program = "train"} {
    %p = tts.broadcast %w dims [] : tensor<f32> to TEXT loc("prediction_a")
    %q = tts.broadcast %w dims [] : tensor<f32> to FRAMES loc("prediction_b")
    %a = tts.mse_loss %p, %y, %n : TEXT, LENGTHS to tensor<f32> loc("a")
    %b = tts.mse_loss %q, %z, %m : FRAMES, LENGTHS to tensor<f32> loc("b")
    %c = tts.count %n {per = 1.0 : f64} : LENGTHS to tensor<f32> loc("count_a")
    %d = tts.count %m {per = 2.0 : f64} : LENGTHS to tensor<f32> loc("count_b")
    return %a, %c, %b, %d : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}
"""


@EVERY_SPLIT
def test_two_losses_share_a_parameter(machine, micro_batch):
    """w = 0: a = (16 + 4)/2, b = ½ · (4 + 4 + 36)/(2 · 3); gradient -2·(4+2)/2 - ½ · 2·(2+2+6)/6."""
    text = TWO_LOSSES.replace("FRAMES", TEXT.replace("text", "frames")).replace("TEXT", TEXT)
    compiled = machine(text.replace("LENGTHS", LENGTHS), micro_batch)
    batch = {
        "y": [np.float32([4]), np.float32([2]), np.float32([]), np.float32([])],
        "z": [np.float32([2]), np.float32([]), np.float32([2, 6]), np.float32([])],
    }
    batch["lengths"] = [np.int32(len(y)) for y in batch["y"]]
    batch["frame_lengths"] = [np.int32(len(z)) for z in batch["z"]]
    losses = compiled.gradients(compiled.cut(batch))
    assert losses == pytest.approx({"a": 10.0, "b": 44 / 6}, rel=1e-14)
    assert compiled.read("grad:")["w"].item() == pytest.approx(-6 - 10 / 6, rel=1e-14)


# 20 and lengths from shapes: attention.

# y = attention of x, w·x, x; loss Σ y. With x's first channels as scores and one-hot rows, y shows the probabilities.
ATTENTION = """
module attributes {tts.batch = 2 : i64, tts.buckets = [#tts.bucket<text = 3>, #tts.bucket<text = 5>],
                   tts.hardware = "host", tts.optimizer = "sgd"} {
  func.func @train(
      %w: tensor<4xf32> {tts.param = "w", tts.init = #tts.init<ones>},
      %q: TEXT {tts.input = "q"}, %k: TEXT {tts.input = "k"}, %v: TEXT {tts.input = "v"},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"})
    -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "l"},
        TEXT {tts.output = "y"})
      attributes {tts.program = "train"} {
    %b = tts.broadcast %w dims [2] : tensor<4xf32> to TEXT loc("weights")
    %wk = tts.mul %b, %k : TEXT loc("keys")
    %y = tts.attention %q, %wk, %v, %n {heads = 1 : i64} : TEXT, LENGTHS loc("attention")
    %t = tts.full 0.0 : TEXT loc("zero")
    %l = tts.mse_loss %y, %t, %n : TEXT, LENGTHS to tensor<f32> loc("loss")
    %d = tts.count %n {per = 1.0 : f64} : LENGTHS to tensor<f32> loc("count")
    return %l, %d, %y : tensor<f32>, tensor<f32>, TEXT
  }
}
""".replace("TEXT", "tensor<?x?x4xf32, #tts.dims<batch, text, _>>").replace("LENGTHS", LENGTHS)
SOFTMAX = np.exp([1.0, 2, 3, -np.inf]) / np.exp([1.0, 2, 3]).sum()


def attention_batch(*lengths):
    """Scores 1, 2, 3 over the first keys; the scale of four channels is a half."""
    scores = np.zeros((3, 4), np.float32)
    scores[:, 0] = [1, 2, 3]
    query = np.zeros((3, 4), np.float32)
    query[:, 0] = 2
    rows = {"q": query, "k": scores, "v": np.eye(3, 4, dtype=np.float32)}
    batch = {name: [row[:n] for n in lengths] for name, row in rows.items()}
    return batch | {"lengths": [np.int32(n) for n in lengths]}


@pytest.mark.parametrize("padding", [0.0, 5.0])
def test_a_row_without_keys(machine, padding):
    compiled = machine(ATTENTION, 2)
    compiled.session.initialise(0)
    (micro,) = compiled.cut(attention_batch(3, 0), 1, padding)
    y = compiled.evaluate(micro)["y"]
    assert y[0, :3] == pytest.approx(np.tile(SOFTMAX, (3, 1)), rel=1e-14)
    assert (y[1] == 0).all()
    losses = compiled.gradients([micro])
    found = compiled.read("grad:")["w"]
    (alone,) = compiled.cut(attention_batch(3), 1)
    assert compiled.gradients([alone]) == losses and np.isfinite(found).all() and found[0] != 0
    np.testing.assert_array_equal(compiled.read("grad:")["w"], found)


def test_an_update_of_empty_slots_only(machine):
    """0/0 counts as 0: no NaN, no step."""
    compiled = machine(ATTENTION, 2)
    compiled.session.initialise(0)
    before = compiled.read()["w"]
    assert compiled.step(compiled.cut(attention_batch(0, 0), 1), lr=1.0)["grad_norm"] == 0
    np.testing.assert_array_equal(compiled.read()["w"], before)


def test_lengths_are_no_shapes(machine):
    """Length 3 in a bucket of 5 is length 3 in a bucket of 3."""
    compiled = machine(ATTENTION, 2)
    compiled.session.initialise(0)
    found = []
    for bucket in (0, 1):
        micro = compiled.cut(attention_batch(3, 2), bucket, padding=3.0)
        y = compiled.evaluate(micro[0])["y"]
        compiled.gradients(micro)
        found.append(np.concatenate([y[0, :3], y[1, :2], compiled.read("grad:")["w"][None]]))
    assert found[1] == pytest.approx(found[0], rel=1e-13)


def test_length_from_the_shape_planted(machine):
    compiled = machine(ATTENTION, 2)
    compiled.session.initialise(0)
    batch = attention_batch(3)
    for name in ("q", "k", "v"):
        batch[name] = [np.pad(batch[name][0], ((0, 2), (0, 0)))]
    (micro,) = compiled.cut(batch | {"lengths": [np.int32(5)]}, 1)
    assert np.abs(compiled.evaluate(micro)["y"][0, 0] - SOFTMAX).max() > 0.01


# 23: dropout.

DROPOUT = """
module attributes {tts.batch = 4 : i64, tts.buckets = [#tts.bucket<text = 1>, #tts.bucket<text = 3>],
                   tts.hardware = "host", tts.optimizer = "sgd"} {
  func.func @train(
      %w: tensor<1002xf32> {tts.param = "w", tts.init = #tts.init<ones>},
      %n: LENGTHS {tts.input = "lengths", tts.lengths = "text"},
      %u: tensor<?xi64, #tts.dims<batch>> {tts.input = "utterance"},
      %draw: tensor<2xi64> {tts.scalar = "draw"})
    -> (tensor<f32> {tts.loss = "l", tts.coefficient = 1.0 : f64}, tensor<f32> {tts.denominator = "l"})
      attributes {tts.program = "train"} {
    %x = tts.broadcast %w dims [2] : tensor<1002xf32> to X loc("x")
    %y = tts.dropout %x, %u, %draw {rate = 0.5 : f64, stream = "drop"} : X, tensor<?xi64, #tts.dims<batch>>,
      tensor<2xi64> loc("drop")
    %t = tts.full 0.0 : X loc("zero")
    %l = tts.mse_loss %y, %t, %n : X, LENGTHS to tensor<f32> loc("loss")
    %d = tts.count %n {per = 1.0 : f64} : LENGTHS to tensor<f32> loc("count")
    return %l, %d : tensor<f32>, tensor<f32>
  }
}
""".replace("X", "tensor<?x?x1002xf32, #tts.dims<batch, text, _>>").replace("LENGTHS", LENGTHS)


@EVERY_SPLIT
@pytest.mark.parametrize("bucket", [0, 1])
def test_dropout_draws_the_same_in_backward(machine, micro_batch, bucket):
    """x = 1, dropped with rate ½, squared: the gradient of each element is 8 where it is kept, over 4 utterances."""
    compiled = machine(DROPOUT, micro_batch)
    compiled.session.initialise(0)
    ids = [5, 2**33 + 1, 0, 77]
    batch = {"lengths": [np.int32(1)] * 4, "utterance": ids}
    losses = compiled.gradients(compiled.cut(batch, bucket), seed=21, update=13)
    kept = philox.kept((4, 1, 1002), 0.5, "drop", 21, 12, ids)
    np.testing.assert_array_equal(compiled.read("grad:")["w"], 8 * kept.sum((0, 1)) / 4)
    assert losses["l"] == 4 * kept.sum() / 4
    other = philox.kept((4, 1, 1002), 0.5, "drop", 21, 13, ids)
    assert (other.sum((0, 1)) != kept.sum((0, 1))).any(), "the check must tell updates apart"
