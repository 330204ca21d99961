"""The command line that every model writer shares, and how the file is written: whole or not at all."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tts.data.corpus import read_manifest
from tts.data.errors import InputError, Parser
from tts.nn.types import GraphError


def bucket(text: str) -> dict[str, int]:
    """`text=64,frames=300` as a dictionary."""
    sizes = {}
    for item in text.split(","):
        name, equals, size = item.partition("=")
        if not (equals and name.isidentifier() and size.isdecimal() and int(size) > 0):
            raise argparse.ArgumentTypeError(f"{text!r} is not like text=64,frames=300")
        sizes[name] = int(size)
    return sizes


def rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate in [0, 1)")
    return value


def positive(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


RATES = {"dropout": "dropout in the blocks"}


def parse_arguments(
    name: str,
    sizes,
    arguments=None,
    rates: dict[str, str] = RATES,
    counts: dict[str, str] | None = None,
    switches: dict[str, str] | None = None,
) -> argparse.Namespace:
    """Flags of `python -m tts.models.<name>`; what is not given stays None and keeps the size's own default.

    `rates`, `counts` and `switches` are flags of the model's own, with what each says of itself.
    """
    parser = Parser(
        prog=f"tts.models.{name}", description=f"Writes the {name} model as an MLIR file of the tts dialect."
    )
    parser.add_argument("--size", choices=list(sizes), required=True, help="how big")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--batch", type=positive, help="utterances per optimizer update")
    parser.add_argument(
        "--corpus", type=Path, metavar="DIR", help="take symbols, features and buckets from this corpus"
    )
    parser.add_argument(
        "--bucket", type=bucket, action="append", metavar="text=N,frames=N", help="a length bucket (repeatable)"
    )
    for flag, told in rates.items():
        parser.add_argument(f"--{flag}", type=rate, metavar="P", help=told)
    for flag, told in (counts or {}).items():
        parser.add_argument(f"--{flag}", type=positive, metavar="N", help=told)
    for flag, told in (switches or {}).items():
        parser.add_argument(f"--{flag}", action="store_true", help=told)
    return parser.parse_args(arguments)


def of_corpus(told: argparse.Namespace, config, fitted: Callable):
    """The size's config fitted to `--corpus`, if there is one, and the hash of its features."""
    if not told.corpus:
        return config, None
    manifest = read_manifest(told.corpus)
    return fitted(config, manifest, f"{told.corpus}/manifest.json"), manifest.get("features_hash")


def with_flags(told: argparse.Namespace, config, *names: str):
    """The config with the buckets, the batch and what else of `names` the flags say."""
    given = {name: getattr(told, name) for name in ("batch", *names)}
    changes = {name: value for name, value in given.items() if value is not None}
    if told.bucket:
        changes["buckets"] = tuple(told.bucket)
    return replace(config, **changes)


def tell(told: argparse.Namespace, title: str, parameters: int, config):
    """One line about the file that was written."""
    sizes = json.dumps(list(config.buckets)).replace('"', "")
    what = f"{title}, {parameters:,} parameters, batch {config.batch}, buckets {sizes}"
    print(f"{told.output}: {what}", file=sys.stderr)


@contextmanager
def graph_errors():
    """A model that cannot be written is an error of what the user asked for."""
    try:
        yield
    except GraphError as error:
        place, _, rest = str(error).partition(": ")
        wrong, _, remedy = rest.partition("; ")
        raise InputError(place, wrong, remedy) from error


def write_text(path: Path, text: str):
    """Writes beside the file and renames, so that no half-written model is left."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        new.write_text(text)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
