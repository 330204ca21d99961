"""Runs a command and fails unless it ends with the exit code given first."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command).returncode
if code != expected:
    sys.exit(f"exit code {code}, expected {expected}: {' '.join(command)}")
