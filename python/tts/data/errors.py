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
    """Runs a tool's main and turns its InputError, or an operating system's refusal, into a line and exit 1."""
    try:
        return main() or 0
    except InputError as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
    except OSError as error:
        place = error.filename or "system"
        print(
            f"error: {place}: {error.strerror or error}; check the path, its rights and the disk's free space",
            file=sys.stderr,
        )
    return 1
