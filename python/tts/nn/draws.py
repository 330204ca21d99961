"""Numbers drawn by counters: the op's name, or `stream`, the update, the utterance and the place, and nothing else, decide.

In training they depend on the update; evaluation, and @infer, draw an utterance's numbers the same every time.
"""

from tts.nn.graph import Graph, Value
from tts.nn.types import GraphError, TensorType


def _require_named(place: str, shape, ranks):
    if len(shape) not in ranks or shape[0] != "batch":
        raise GraphError(
            f"{place}: a draw of shape {tuple(shape)}; give one number per utterance of the batch, or more"
        )


def _emit(graph: Graph, place: str, mnemonic: str, operands: list[Value], to: TensorType, attributes: dict) -> Value:
    operands = [*operands, graph.utterances(), *([graph.draw()] if graph.training else [])]
    names, types = (", ".join(str(part(x)) for x in operands) for part in (lambda x: x.name, lambda x: x.type))
    return graph.emit(place, f"{mnemonic} {names}", f"{types} to {to}", [to], attributes | {"stream": place})


def normal(graph: Graph, shape, name: str = "normal") -> Value:
    """Standard normal noise of shape [batch, time] or [batch, time, channel]."""
    place = graph.op_name(name)
    _require_named(place, shape, (2, 3))
    return _emit(graph, place, "normal", [], TensorType(tuple(shape)), {})


def uniform(graph: Graph, name: str = "uniform") -> Value:
    """A number of [0, 1) per utterance."""
    return _emit(graph, graph.op_name(name), "uniform", [], TensorType(("batch",)), {})


def span_mask(lengths: Value, time: int | str, low: float, high: float, name: str = "span_mask") -> Value:
    """[batch, time]: 1 in a random span of a share of [low, high] of each utterance, else 0."""
    graph, place = lengths.graph, lengths.graph.op_name(name)
    if not 0.0 <= low <= high <= 1.0:
        raise GraphError(f"{place}: a share of [{low}, {high}]; give 0 ≤ low ≤ high ≤ 1")
    to = TensorType((*lengths.shape, time))
    return _emit(graph, place, "span_mask", [lengths], to, {"low": float(low), "high": float(high)})


def coin(graph: Graph, rate: float, stream: str = "", name: str = "coin") -> Value:
    """0 with probability `rate`, else 1: one flip per update, outside training always 1.

    Coins of one `stream` are one flip with several thresholds: where that of the lowest rate is 0, so are the others.
    """
    place = graph.op_name(name)
    if not 0.0 <= rate < 1.0:
        raise GraphError(f"{place}: rate {rate}; give a rate in [0, 1)")
    to = TensorType(())
    if not graph.training:
        return graph.ops.full(graph, 1.0, name=name)
    draw, attributes = graph.draw(), {"rate": float(rate), "stream": stream or place}
    return graph.emit(place, f"coin {draw.name}", f"{draw.type} to {to}", [to], attributes)
