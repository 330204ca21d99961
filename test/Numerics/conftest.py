"""Fixtures of the numerics tests: a folder of compiled models for the session, and machines that close themselves."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from machine import Machine


@pytest.fixture(scope="session")
def compiled_models(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def machine(compiled_models):
    """A function that makes machines: machine(text, micro_batch, precision=…, flags=…)."""
    made = []

    def make(text, micro_batch, precision="fp64", flags=()):
        made.append(Machine(text, compiled_models, micro_batch, precision, flags))
        return made[-1]

    yield make
    for one in made:
        one.close()
