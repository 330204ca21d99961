"""The builder: a function in the making, @train or @infer, its arguments, ops, losses and outputs, written as MLIR text."""

from contextlib import contextmanager

from tts.nn.types import (
    DTYPES,
    GraphError,
    Raw,
    TensorType,
    attribute_text,
    bucket_text,
    dictionary_text,
    float_text,
)


class Value:
    """An SSA value: its name in the text, its type, and the graph it belongs to."""

    def __init__(self, graph: "Graph", name: str, kind: TensorType):
        self.graph, self.name, self.type = graph, name, kind

    @property
    def shape(self):
        return self.type.shape

    def __repr__(self):
        return f"{self.name}: {self.type}"

    def __add__(self, other):
        return self.graph.ops.add(self, other)

    def __sub__(self, other):
        return self.graph.ops.sub(self, other)

    def __mul__(self, other):
        return self.graph.ops.mul(self, other)

    def __neg__(self):
        return self.graph.ops.neg(self)


class Graph:
    """One program of a model file. Arguments come in the order they are declared, ops in the order they are made."""

    def __init__(self, program: str = "train"):
        from tts.nn import ops

        if program not in ("train", "infer"):
            raise GraphError(f"graph: no program {program!r}; it is train or infer")
        self.ops, self.program = ops, program
        self._arguments: dict[str, tuple[Value, dict]] = {}
        self._lines: list[str] = []
        self._results: list[tuple[Value, dict]] = []
        self._result_names: set[tuple[str, str]] = set()
        self._scope = ""
        self._names: dict[str, int] = {}
        self._next = 0

    @property
    def training(self) -> bool:
        """Whether what acts in training only (dropout) belongs here."""
        return self.program == "train"

    # Arguments

    @property
    def arguments(self) -> dict[str, Value]:
        """Parameters, inputs and scalars by name, in order."""
        return {name: value for name, (value, _) in self._arguments.items()}

    def _argument(self, name: str, shape, dtype: str, attributes: dict) -> Value:
        if dtype not in DTYPES:
            raise GraphError(f"{name}: no element type {dtype!r}; use one of {', '.join(DTYPES)}")
        if name in self._arguments:
            raise GraphError(f"{name}: declared twice; keep the first value and use it again")
        value = Value(self, "%" + name, TensorType(tuple(shape), dtype))
        self._arguments[name] = (value, attributes)
        return value

    def parameter(self, name: str, shape, init: str, frozen: bool = False, state: bool = False) -> Value:
        """A weight; `init` is the text inside `#tts.init<>`: `zeros`, `normal, 0.02`, …

        A state (running statistics) is saved like a weight; an op advances it once per update.
        """
        attributes = {"tts.param": name, "tts.init": Raw(f"#tts.init<{init}>")}
        if frozen:
            attributes["tts.frozen"] = True
        if state:
            attributes["tts.state"] = True
        return self._argument(name, shape, "f32", attributes)

    def input(self, name: str, shape, dtype: str = "f32", lengths: str | None = None) -> Value:
        """A tensor of the batch; with `lengths`, each utterance's extent along that dimension."""
        attributes = {"tts.input": name}
        if lengths:
            attributes["tts.lengths"] = lengths
        return self._argument(name, shape, dtype, attributes)

    def utterances(self) -> Value:
        """Global utterance ids, which random draws are keyed by."""
        if "utterance" not in self._arguments:
            self.input("utterance", ("batch",), "i64")
        return self._arguments["utterance"][0]

    def draw(self) -> Value:
        """{seed, number of the update}, written by the runtime."""
        if "draw" not in self._arguments:
            self._argument("draw", (2,), "i64", {"tts.scalar": "draw"})
        return self._arguments["draw"][0]

    # Names

    @contextmanager
    def scope(self, name: str):
        """Ops made inside are named `name.…`; modules open one per call."""
        before, self._scope = self._scope, name
        try:
            yield
        finally:
            self._scope = before

    def op_name(self, name: str) -> str:
        """The stable name of the next op called `name` in this scope."""
        full = f"{self._scope}.{name}" if self._scope else name
        count = self._names[full] = self._names.get(full, 0) + 1
        return full if count == 1 else f"{full}_{count}"

    # Ops and results

    def emit(self, name: str, operation: str, types: str, results: list[TensorType], attributes: dict | None = None):
        """Writes `operation attributes : types` at location `name`; returns the result, or a list of several."""
        values = [Value(self, f"%{self._next + i}", kind) for i, kind in enumerate(results)]
        self._next += len(results)
        attribute = dictionary_text(attributes or {})
        text = f"tts.{operation}{' ' if attribute else ''}{attribute} : {types}"
        self._lines.append(f'{", ".join(v.name for v in values)} = {text} loc("{name}")')
        return values[0] if len(values) == 1 else values

    def _result(self, kind: str, name: str, value: Value, attributes: dict):
        if (kind, name) in self._result_names:
            raise GraphError(f"{kind} {name}: given twice; choose another name")
        self._result_names.add((kind, name))
        self._results.append((value, {f"tts.{kind}": name, **attributes}))

    def loss(self, name: str, total: Value, denominator: Value, coefficient: float = 1.0):
        """A loss: coefficient · (sum over the update of `total`) / (sum over the update of `denominator`)."""
        for part in (total, denominator):
            if part.shape != ():
                raise GraphError(f"loss {name}: {part.type} is not one number; reduce it, e.g. with ops.sum_to(x, [])")
        self._result("loss", name, total, {"tts.coefficient": float(coefficient)})
        self._result("denominator", name, denominator, {})

    def output(self, name: str, value: Value, lengths: str | None = None):
        """A tensor that evaluation, or infer, returns; with `lengths`, the extents that infer gives that dimension."""
        self._result("output", name, value, {"tts.lengths": lengths} if lengths else {})

    def text(self, *, batch: int, buckets: list[dict[str, int]], infer: "Graph | None" = None, **attributes) -> str:
        """The module, with the program `infer` beside it; keyword attributes get the prefix `tts.`: `lr=1e-3` is `tts.lr`."""
        if not any("tts.loss" in a for _, a in self._results):
            raise GraphError("model: it has no loss; call graph.loss(name, sum, denominator)")
        self._check_buckets(buckets, [self, infer] if infer else [self])
        for name in infer._parameters() - self._parameters() if infer else ():
            raise GraphError(f"infer: {name} is no parameter of train; bind the same model to both graphs")
        head = {"tts.batch": batch, "tts.buckets": Raw("[" + ", ".join(map(bucket_text, buckets)) + "]")}
        head |= {f"tts.{key}": value for key, value in attributes.items() if value is not None}
        lines = [
            "module attributes {" + ", ".join(f"{k} = {attribute_text(v)}" for k, v in head.items()) + "} {",
            *self._function(),
            *(infer._function() if infer else ()),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _function(self) -> list[str]:
        arguments = ",\n      ".join(f"{v.name}: {v.type} {dictionary_text(a)}" for v, a in self._arguments.values())
        results = ",\n      ".join(f"{v.type} {dictionary_text(a)}" for v, a in self._results)
        values = ", ".join(v.name for v, _ in self._results)
        types = ", ".join(str(v.type) for v, _ in self._results)
        return [
            f"  func.func @{self.program}(\n      {arguments})\n    -> (\n      {results})",
            f'      attributes {{tts.program = "{self.program}"}} {{',
            *(f"    {line}" for line in self._lines),
            f"    return {values} : {types}",
            "  }",
        ]

    def _parameters(self) -> set[str]:
        return {name for name, (_, a) in self._arguments.items() if "tts.param" in a}

    @staticmethod
    def _check_buckets(buckets, graphs: "list[Graph]"):
        arguments = [argument for graph in graphs for argument in graph._arguments.values()]
        used = {s for v, _ in arguments for s in v.shape if isinstance(s, str)} - {"batch"}
        used |= {a["tts.lengths"] for _, a in arguments if "tts.lengths" in a}
        for bucket in buckets:
            if set(bucket) != used:
                raise GraphError(
                    f"bucket {bucket_text(bucket)}: it must give a size to exactly {', '.join(sorted(used))}; "
                    "add or remove names"
                )


__all__ = ["Graph", "Value", "float_text"]
