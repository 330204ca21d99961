"""The one-line errors that every Python tool of this package prints."""

import argparse
import sys
from collections.abc import Callable


class InputError(Exception):
    """Bad input (exit 1): the place, what is wrong there, and what to do about it."""

    def __init__(self, place: object, wrong: str, remedy: str):
        super().__init__(f"error: {place}: {wrong}; {remedy}")


class Parser(argparse.ArgumentParser):
    """A command line whose usage errors (exit 2) are one line too."""

    def error(self, message: str):
        print(f"error: {self.prog}: {message}; see --help", file=sys.stderr)
        raise SystemExit(2)


def run_tool(main: Callable[[], int | None]) -> int:
    """Runs a tool's main; what the user can mend becomes one line and exit 1, Ctrl-C exit 130."""
    try:
        return main() or 0
    except InputError as error:
        line = str(error).replace("\n", " ")
    except OSError as error:
        place, wrong = error.filename or "system", error.strerror or error
        line = f"error: {place}: {wrong}; check the path, its rights and the disk's free space"
    except ModuleNotFoundError as error:
        line = f"error: Python module {error.name}: not installed; run scripts/setup.sh and use .venv/bin/python"
    except KeyboardInterrupt:
        print("error: interrupted: nothing was written; run it again", file=sys.stderr)
        return 130
    print(line, file=sys.stderr)
    return 1
