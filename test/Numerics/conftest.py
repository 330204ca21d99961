"""Fixtures of the numerics tests: a folder of compiled models for the session, and machines that close themselves."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from machine import Machine, compile_model, interpret


@pytest.fixture(scope="session")
def compiled_models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(params=["interpreted", "compiled"])
def machine(request, compiled_models):
    """A function that makes machines: machine(text, micro_batch, precision=…). Interpreted ones are always f64."""
    made = []

    def make(text, micro_batch, precision="fp64"):
        if request.param == "compiled":
            session = compile_model(text, compiled_models, micro_batch, precision)
        elif precision == "fp64":
            session = interpret(text, compiled_models, micro_batch)
        else:
            pytest.skip("programs are interpreted in f64 only")
        made.append(Machine(session, micro_batch))
        return made[-1]

    yield make
    for one in made:
        one.close()
