"""Every differentiable op's gradient against differences of its forward, to 1e-7 relative in f64."""

import re
from pathlib import Path

import numpy as np
import pytest

import gradcheck

DIALECT = Path(__file__).resolve().parents[2] / "include" / "tts" / "Dialect" / "Tts" / "IR"


@pytest.mark.parametrize("case", gradcheck.CASES, ids=lambda c: c.name)
def test_gradient(machine, case):
    model = gradcheck.model(case)
    errors = gradcheck.check(machine(model.text, gradcheck.BATCH), model)
    assert max(errors.values()) <= 1e-7, errors


def test_no_number_stands_at_a_kink():
    """Differences across the kink of relu, abs or the L1 loss would be wrong: their step is 2e-3."""
    for name in ("relu", "abs", "l1_loss_btc", "l1_loss_bt"):
        model = gradcheck.model(next(c for c in gradcheck.CASES if c.name == name))

        name = "x" if "x" in model.parameters else "prediction"
        x = model.parameters[name] * model.inputs[f"{name}_data"] + model.inputs[f"{name}_offset"]
        x = x - model.inputs.get("target", 0.0)
        assert np.abs(x).min() > 2 * 2e-3


def test_a_wrong_gradient_is_seen(machine):
    """Planted fault: the differences are taken at other numbers than the gradient."""
    model = gradcheck.model(next(c for c in gradcheck.CASES if c.name == "gelu"))
    compiled = machine(model.text, gradcheck.BATCH)
    true_read = compiled.read
    compiled.read = lambda *a: {n: g * (1 + 1e-6) for n, g in true_read(*a).items()}
    assert max(gradcheck.check(compiled, model).values()) > 1e-7


def test_every_differentiable_op_has_a_case():
    text = "".join(path.read_text() for path in sorted(DIALECT.glob("*Ops.td")))
    definition = re.compile(r'def \w+ : Tts_\w+<"(\w+)"((?:[^{;]|\n)*?)[{;]')
    classes = {"l1_loss", "mse_loss"}  # their base class has the trait
    found = {name for name, traits in definition.findall(text) if "Tts_Differentiable" in traits} | classes
    assert len(found) > 25
    covered = {re.search(r"tts\.(\w+) ", line).group(1) for c in gradcheck.CASES for line in _ops(c)}
    assert found - covered == {"cast"}, "an op lacks a case; cast is the identity or has an integer operand"


def _ops(case):
    return [line for line in gradcheck.model(case).text.splitlines() if re.search(r"= tts\.\w+ .* loc\(", line)]
