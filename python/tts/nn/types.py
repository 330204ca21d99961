"""Tensor types of the `tts` dialect as text, and the literals MLIR reads."""

from dataclasses import dataclass

DTYPES = ("f32", "f64", "i32", "i64")


class GraphError(ValueError):
    """A model that cannot be written: `<place>: <what is wrong>; <what to do>`."""


@dataclass(frozen=True)
class TensorType:
    """Shape and element type; a string in the shape is a symbolic dimension's name."""

    shape: tuple[int | str, ...]
    dtype: str = "f32"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("f")

    def with_shape(self, shape) -> "TensorType":
        return TensorType(tuple(shape), self.dtype)

    def __str__(self) -> str:
        sizes = "".join("?x" if isinstance(s, str) else f"{s}x" for s in self.shape)
        if not any(isinstance(s, str) for s in self.shape):
            return f"tensor<{sizes}{self.dtype}>"
        names = ", ".join(s if isinstance(s, str) else "_" for s in self.shape)
        return f"tensor<{sizes}{self.dtype}, #tts.dims<{names}>>"


def float_text(value: float) -> str:
    """A float as MLIR reads it: it wants a point before the exponent."""
    text = repr(float(value))
    mantissa, exponent, power = text.partition("e")
    if "n" in mantissa:
        raise GraphError(f"attribute: {text} is not a number MLIR can read; give a finite one")
    return (mantissa if "." in mantissa else mantissa + ".0") + exponent + power


def string_text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def attribute_text(value) -> str:
    """A Python value as an MLIR attribute: bool → unit, int → i64, float → f64, str → string."""
    if value is True:
        return "unit"
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{float_text(value)} : f64"
    raise GraphError(f"attribute: no MLIR form for {type(value).__name__}; use int, float, str or Raw")


class Raw(str):
    """Attribute text written as it is."""


def dictionary_text(attributes: dict) -> str:
    """`{a = 1 : i64, unit}`, or nothing for an empty one."""
    items = [k if v is True else f"{k} = {attribute_text(v)}" for k, v in attributes.items()]
    return "{" + ", ".join(items) + "}" if items else ""


def bucket_text(bucket: dict[str, int]) -> str:
    return "#tts.bucket<" + ", ".join(f"{name} = {size}" for name, size in bucket.items()) + ">"
