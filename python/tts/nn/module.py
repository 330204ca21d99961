"""Modules: trees of parameters with dotted names, as in PyTorch, that write their ops when called."""

from dataclasses import dataclass

from tts.nn.graph import Graph, Value
from tts.nn.types import GraphError


@dataclass
class Parameter:
    """A weight to declare; after `bind` it stands for the graph's value."""

    shape: tuple[int, ...]
    init: str
    frozen: bool = False
    state: bool = False  # an op advances it, not the optimizer
    value: Value | None = None

    @property
    def count(self) -> int:
        n = 1
        for size in self.shape:
            n *= size
        return n


class Module:
    """Assign parameters and modules as attributes, write the ops in `forward`."""

    def __init__(self):
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_children", {})
        object.__setattr__(self, "_name", None)

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._children[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        own = self.__dict__
        if name in own.get("_children", {}):
            return own["_children"][name]
        if name in own.get("_parameters", {}):
            value = own["_parameters"][name].value
            if value is None:
                raise GraphError(
                    f"{type(self).__name__}.{name}: not in a graph yet; call bind(graph) on the whole model first"
                )
            return value
        raise AttributeError(
            f"{type(self).__name__} has no {name!r}; was super().__init__() called and the attribute set?"
        )

    def named_parameters(self, prefix: str = ""):
        """(dotted name, parameter), in the order of registration."""
        for name, parameter in self._parameters.items():
            yield prefix + name, parameter
        for name, child in self._children.items():
            yield from child.named_parameters(f"{prefix}{name}.")

    def parameter_count(self, trainable_only: bool = False) -> int:
        return sum(p.count for _, p in self.named_parameters() if not (trainable_only and (p.frozen or p.state)))

    def bind(self, graph: Graph, name: str = "") -> "Module":
        """Declares the parameters in `graph` and gives every module its name."""
        self._set_name(name)
        for full, parameter in self.named_parameters(f"{name}." if name else ""):
            parameter.value = graph.parameter(full, parameter.shape, parameter.init, parameter.frozen, parameter.state)
        return self

    def _set_name(self, name: str):
        object.__setattr__(self, "_name", name)
        for child_name, child in self._children.items():
            child._set_name(f"{name}.{child_name}" if name else child_name)

    def __call__(self, *values, **options):
        if self._name is None:
            raise GraphError(
                f"{type(self).__name__}: called before it is in a graph; call bind(graph) on the whole model first"
            )
        graph = next((v.graph for v in values if isinstance(v, Value)), None) or next(
            (v for v in values if isinstance(v, Graph)), None
        )
        if graph is None:
            raise GraphError(
                f"{self._name or type(self).__name__}: no value among the arguments; pass a tensor or the graph"
            )
        with graph.scope(self._name):
            return self.forward(*values, **options)

    def forward(self, *values):
        raise GraphError(f"{type(self).__name__}: no forward method; write one")


class ModuleList(Module):
    """Modules named 0, 1, …"""

    def __init__(self, modules):
        super().__init__()
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def __iter__(self):
        return iter(self._children.values())

    def __len__(self):
        return len(self._children)
