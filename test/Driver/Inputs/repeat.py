"""Runs a command N times; fails when one run does. Usage: repeat.py N COMMAND…"""

import subprocess
import sys

for i in range(int(sys.argv[1])):
    code = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    if code:
        sys.exit(f"run {i} of {sys.argv[1]} ended with {code}")
