"""Running the package's tools as a user does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python"


@pytest.fixture
def tool():
    """Runs `python -m module arguments…`, wherever the test stands."""

    def run(module: str, *arguments: object) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", module, *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    return run
