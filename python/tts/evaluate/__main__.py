"""python -m tts.evaluate --executable=train --weights=run/best --corpus=corpus -o evaluation.json"""

import os
import sys

# One thread per process: the jobs share the cores, and sums keep one order.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from pathlib import Path  # noqa: E402

from tts.data.errors import InputError, Parser, run_tool  # noqa: E402


def _count(least: int):
    def count(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError
        return value

    count.__name__ = f"whole number of at least {least}"
    return count


def parser() -> Parser:
    told = Parser(
        prog="tts.evaluate", description="Judges a trained voice on the validation split (docs/evaluating.md)."
    )
    told.add_argument("--executable", type=Path, required=True, help="what tts-compile made")
    told.add_argument("--weights", type=Path, required=True, help="a checkpoint's directory or a safetensors file")
    told.add_argument("--ema", action="store_true", help="the checkpoint's moving average instead of its weights")
    told.add_argument("--corpus", type=Path, required=True, help="the corpus trained on")
    told.add_argument("--split", choices=["validation", "test"], default="validation", help="(default validation)")
    told.add_argument("-o", "--output", type=Path, required=True, help="the JSON file to write")
    told.add_argument("--utterances", type=_count(0), default=16, help="how many are made audible (default 16)")
    told.add_argument("--rated", type=_count(0), default=6, help="how many of these get a predicted MOS (default 6)")
    told.add_argument("--jobs", type=_count(1), default=2, help="processes (default 2)")
    told.add_argument("--samples", type=Path, help="a directory that keeps the sounds")
    return told


def main() -> int:
    arguments = parser().parse_args()
    if not arguments.output.absolute().parent.is_dir():
        raise InputError(arguments.output, "its directory does not exist", "make it first")
    from tts.evaluate import evaluation, table
    from tts.evaluate.program import Refused

    try:
        told = evaluation.evaluate(evaluation.Options(**vars(arguments)))
    except Refused as refused:
        print(refused, file=sys.stderr)
        return refused.code
    evaluation.write(arguments.output, told)
    print("\n".join(table.lines(told)))
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
