"""Axes: round ticks, linear or logarithmic, and numbers as people write them."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] to [0, 1]."""

    low: float
    high: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, count: int) -> list[float]:
        return _log_ticks(self.low, self.high, count) if self.log else _linear_ticks(self.low, self.high, count)


def fit(values: list[float], *, zero: bool = True) -> Scale:
    """A scale that holds all values: logarithmic where a first value far above the rest would flatten them."""
    values = [v for v in values if math.isfinite(v)] or [0.0, 1.0]
    low, high = min(values), max(values)
    median = sorted(values)[len(values) // 2]
    if low > 0 and high > 6 * median and len(values) > 4:
        return Scale(low * 0.94, high * 1.06, log=True)
    if zero and 0 <= low:
        return Scale(0.0, high * 1.06 or 1.0)
    pad = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low - pad, high + pad)


def _step(span: float, count: int) -> float:
    rough = span / max(1, count)
    base = 10.0 ** math.floor(math.log10(rough))
    return next(base * m for m in (1, 2, 2.5, 5, 10) if base * m >= rough * 0.999)


def _linear_ticks(low: float, high: float, count: int) -> list[float]:
    step = _step(high - low, count)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    for multiples in ((1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [m * 10.0**d for d in decades for m in multiples if low <= m * 10.0**d <= high]
        if len(found) <= count + 2:
            break
    return found if len(found) > 1 else _linear_ticks(low, high, count)


def number(value: float, digits: int = 4) -> str:
    """Thousands apart, small ones with as many digits as they need."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) >= 10**digits or float(value).is_integer():
        return f"{value:,.0f}".replace(",", "\u202f")
    if abs(value) < 1e-4:
        mantissa, exponent = f"{value:.{digits - 2}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.{digits}g}"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
