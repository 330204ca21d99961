"""tts.nn: names, texts of types and numbers, and errors that say where, what and what to do."""

import re
from pathlib import Path

import pytest

from tts import nn
from tts.nn import ops
from tts.nn.types import TensorType, float_text


def graph_with_x(shape=("batch", "text", 8)):
    graph = nn.Graph()
    return graph, graph.input("x", shape), graph.input("n", ("batch",), "i32", lengths="text")


def test_types():
    assert str(TensorType((9, 4))) == "tensor<9x4xf32>"
    assert str(TensorType(())) == "tensor<f32>"
    assert str(TensorType(("batch", "text", 8))) == "tensor<?x?x8xf32, #tts.dims<batch, text, _>>"
    assert str(TensorType(("batch",), "i64")) == "tensor<?xi64, #tts.dims<batch>>"


@pytest.mark.parametrize("value", [0.0, 1.0, -4.0, 1e-5, 1e-9, 2.5e20, 0.1, 1 / 3, 123456.789])
def test_numbers_are_exact_and_readable(value):
    """MLIR's float literal has a point before the exponent."""
    assert re.fullmatch(r"-?\d+\.\d+(e[-+]?\d+)?", float_text(value)) and float(float_text(value)) == value


def test_modules_name_parameters_and_ops():
    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
            self.norm = nn.LayerNorm(8)

        def forward(self, x):
            for layer in self.layers:
                x = ops.relu(layer(x))
            return self.norm(x)

    graph, x, n = graph_with_x()
    tower = Tower().bind(graph)
    names = ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "norm.weight", "norm.bias"]
    assert [name for name, _ in tower.named_parameters()] == names
    assert tower.parameter_count() == 2 * (64 + 8) + 16
    y = tower(x)
    graph.loss("l", ops.mse_loss(y, y, n), ops.count(n))
    text = graph.text(batch=2, buckets=[{"text": 4}])
    locations = re.findall(r'loc\("([^"]+)"\)', text)
    assert locations[:4] == ["layers.0.linear", "layers.0.bias", "layers.0.add_bias", "relu"]
    assert "relu_2" in locations and "norm.layer_norm" in locations
    assert '%layers.0.weight: tensor<8x8xf32> {tts.param = "layers.0.weight"' in text


def test_one_module_used_twice_shares_its_weights():
    graph, x, n = graph_with_x()
    layer = nn.Linear(8, 8).bind(graph, "shared")
    y = layer(layer(x))
    graph.loss("l", ops.mse_loss(y, x, n), ops.count(n))
    text = graph.text(batch=2, buckets=[{"text": 4}])
    assert text.count('tts.param = "shared.weight"') == 1 and text.count("%shared.weight :") == 2
    assert 'loc("shared.linear_2")' in text


def wrong_cases():
    graph, x, n = graph_with_x()
    y = graph.input("y", ("batch", "text"))
    ids = graph.input("ids", ("batch", "text"), "i32")
    w = graph.parameter("w", (7, 3), "zeros")
    k = graph.parameter("k", (3, 7, 3), "zeros")
    return [
        ("add", lambda: x + y, "broadcast"),
        ("relu", lambda: ops.relu(ids), "cast"),
        ("linear", lambda: ops.linear(x, w), "8 channels, the weight takes 7"),
        ("conv1d", lambda: ops.conv1d(x, k), "8 channels, the weight takes 7"),
        ("conv1d", lambda: ops.conv1d(x, graph.parameter("g", (3, 4, 3), "zeros"), groups=2), "in 2 equal groups"),
        ("depthwise_conv1d", lambda: ops.depthwise_conv1d(x, w), "[taps, channel]"),
        ("concat", lambda: ops.concat(x, y), "last dimension only"),
        ("split", lambda: ops.split(x, [3, 4]), "[3, 4] of 8 channels"),
        ("time_norm", lambda: ops.time_norm(y), "[batch, time, channel]"),
        ("sinusoid_at", lambda: ops.sinusoid_at(ids, 8), "cast"),
        ("normal", lambda: nn.draws.normal(graph, ("batch",)), "per utterance"),
        ("span_mask", lambda: nn.draws.span_mask(n, "text", 0.7, 0.5), "low ≤ high"),
        ("coin", lambda: nn.draws.coin(graph, 1.0), "[0, 1)"),
        ("attention", lambda: ops.attention(x, x, x, n, 3), "divisor"),
        ("attention", lambda: ops.attention(x, x, y, n, 2), "equal types"),
        ("attention", lambda: ops.attention(x, x, x, n, 2, dropout=1.0), "[0, 1)"),
        ("mask", lambda: ops.mask(x, ids), "i32 [batch]"),
        ("squeeze", lambda: ops.squeeze(x, 2), "is not 1"),
        ("broadcast", lambda: ops.broadcast(y, x.shape, [1, 2]), "size batch meets text"),
        ("broadcast", lambda: ops.broadcast(y, x.shape, [0]), "ascending"),
        ("sum_to", lambda: ops.sum_to(x, [1]), "prefix"),
        ("dropout", lambda: ops.dropout(x, 1.0), "[0, 1)"),
        ("embedding", lambda: ops.embedding(y, w), "i32"),
        ("bucketize", lambda: ops.bucketize(y, w), "vector"),
        ("length_regulate", lambda: ops.length_regulate(x, n, "frames"), "durations"),
        ("layer_norm", lambda: ops.layer_norm(x, w, w), "per channel"),
        ("batch_norm", lambda: ops.batch_norm(x, *[w] * 4, n), "per channel"),
        ("batch_normalize", lambda: ops.batch_normalize(x, *[w] * 4), "per channel"),
        ("mse_loss", lambda: ops.mse_loss(x, y, n), "equal types"),
        ("sinusoid", lambda: ops.sinusoid(graph, "text", 7), "even"),
        ("w", lambda: graph.parameter("w", (1,), "zeros"), "twice"),
        ("loss l", lambda: graph.loss("l", y, y), "sum_to"),
        ("Linear", lambda: nn.Linear(8, 3)(x), "bind"),
        ("model", lambda: graph.text(batch=1, buckets=[]), "loss"),
        ("round_to_int", lambda: ops.round_to_int(ids), "no float tensor"),
        ("graph", lambda: nn.Graph("eval"), "train or infer"),
    ]


@pytest.mark.parametrize("case", range(len(wrong_cases())))
def test_errors(case):
    place, make, part = wrong_cases()[case]
    with pytest.raises(nn.GraphError) as error:
        make()
    assert re.fullmatch(r"[^:;]+: [^;]+; [^;]+", str(error.value))
    assert str(error.value).startswith(f"{place}") and part in str(error.value)


def speaking_graph(name: str):
    graph = nn.Graph("infer")
    x = graph.input("x", ("batch", "text", 8))
    layer = nn.Linear(8, 8).bind(graph, name)
    y = nn.Dropout(0.5).bind(graph, "dropout")(layer(x))
    graph.output("n", ops.round_to_int(ops.sum_to(y, [0]), lengths="text"), lengths="text")
    return graph


def test_a_program_that_speaks_stands_beside_train():
    graph, x, n = graph_with_x()
    layer = nn.Linear(8, 8).bind(graph, "shared")
    graph.loss("l", ops.mse_loss(layer(x), x, n), ops.count(n))
    text = graph.text(batch=2, buckets=[{"text": 4}], infer=speaking_graph("shared"))
    infer = text.partition("func.func @infer(")[2]
    assert 'tts.param = "shared.weight"' in infer and 'attributes {tts.program = "infer"}' in infer
    assert 'tts.output = "n", tts.lengths = "text"' in infer and '{tts.lengths = "text"} :' in infer
    assert "tts.dropout" not in infer and "tts.loss" not in infer and "func.func @train(" in text
    with pytest.raises(nn.GraphError, match=r"infer: own\.\w+ is no parameter of train; bind the same model"):
        graph.text(batch=2, buckets=[{"text": 4}], infer=speaking_graph("own"))


def test_buckets_name_every_dimension():
    graph, x, n = graph_with_x()
    graph.loss("l", ops.mse_loss(x, x, n), ops.count(n))
    for bucket in ({"frames": 3}, {"text": 3, "frames": 4}, {}):
        with pytest.raises(nn.GraphError, match="exactly text"):
            graph.text(batch=2, buckets=[bucket])


def test_the_readmes_example():
    """The code of python/tts/nn/README.md writes a model."""
    readme = Path(nn.__file__).with_name("README.md").read_text()
    told = {}
    exec(re.search(r"```python\n(.*?)```", readme, re.S).group(1), told)
    module = told["module"]
    assert 'tts.param = "conv.weight"' in module and 'stream = "dropout.dropout"' in module
    assert "tts.buckets = [#tts.bucket<text = 32>, #tts.bucket<text = 64>]" in module


def test_attention_drops_in_training_only():
    for program, dropped in (("train", True), ("infer", False)):
        graph = nn.Graph(program)
        x = graph.input("x", ("batch", "text", 8))
        n = graph.input("n", ("batch",), "i32", lengths="text")
        layer = nn.SelfAttention(8, 2, causal=True, dropout=0.1)
        layer.bind(graph, "layer")
        layer(x, n)
        (line,) = (line for line in graph._lines if "tts.attention" in line)
        assert ('rate = 0.1 : f64, stream = "layer.attention"' in line) == dropped
        assert ("draw" in graph.arguments) == dropped and "causal" in line
