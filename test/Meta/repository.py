"""The repository as the meta tests see it: its root and the files git knows (or would, if they were added)."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked_files():
    """Paths from the root, tracked or new, but not ignored ones; files deleted from the work tree are left out."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})
