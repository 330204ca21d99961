"""python -m tts.data prepare | synthetic | tokens | check."""

import os
import sys

# One thread per process: the jobs share the cores, and sums keep one order.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from pathlib import Path  # noqa: E402

from tts.data.errors import Parser, run_tool  # noqa: E402


def _whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


_whole.__name__ = "whole number above 0"


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 0.5:
        raise ValueError
    return value


_share.__name__ = "share between 0 and 0.5"


def parser() -> Parser:
    top = Parser(prog="tts.data", description="Prepares, makes and checks speech corpora.")
    commands = top.add_subparsers(dest="command", required=True, parser_class=Parser)
    prepare = commands.add_parser("prepare", help="from Debian's Asterisk prompts")
    prepare.add_argument("--out", type=Path, required=True, help="the corpus directory")
    prepare.add_argument("--source", choices=["asterisk"], default="asterisk")
    prepare.add_argument("--limit", type=_whole, help="use only this many prompts (a fixed choice)")
    prepare.add_argument("--jobs", type=_whole, default=2, help="processes (default 2)")
    prepare.add_argument("--max-seconds", type=float, default=10.0, help="cut longer prompts at a silence (default 10)")
    prepare.add_argument(
        "--validation-ids", type=Path, metavar="FILE", help="a hand-made validation split, one id a line"
    )
    prepare.add_argument(
        "--test", type=_share, default=0.0, metavar="P", help="share of a test split, never trained on (default: none)"
    )
    prepare.add_argument("--test-ids", type=Path, metavar="FILE", help="a hand-made test split, one id a line")
    synthetic = commands.add_parser("synthetic", help="a small random corpus for tests")
    synthetic.add_argument("--out", type=Path, required=True, help="the corpus directory")
    synthetic.add_argument("--utterances", type=_whole, default=64)
    synthetic.add_argument("--seed", type=int, default=0)
    synthetic.add_argument("--text", default="8-24", metavar="MIN-MAX", help="phones per utterance (default 8-24)")
    synthetic.add_argument("--frames", default="32-96", metavar="MIN-MAX", help="frames per utterance (default 32-96)")
    synthetic.add_argument("--mels", type=_whole, default=80)
    synthetic.add_argument(
        "--test", type=_share, default=0.0, metavar="P", help="share of a test split (default: none)"
    )
    tokens = commands.add_parser("tokens", help="a corpus of codec tokens from a corpus of mels")
    tokens.add_argument("corpus", type=Path, help="the corpus of mels")
    tokens.add_argument("--out", type=Path, required=True, help="the corpus of tokens")
    tokens.add_argument("--stack", type=_whole, default=2, help="mel frames per vector (default 2)")
    tokens.add_argument("--levels", type=_whole, default=2, help="tokens per vector (default 2)")
    tokens.add_argument("--codes", type=_whole, default=256, help="codes of each level (default 256)")
    tokens.add_argument("--seed", type=int, default=0, help="of k-means")
    tokens.add_argument("--pack", type=_whole, metavar="N", help="join utterances into rows of at most N steps")
    check = commands.add_parser("check", help="verify a corpus directory")
    check.add_argument("corpus", type=Path)
    return top


def main() -> int:
    arguments = parser().parse_args()
    # Each command imports what it needs: checking a corpus takes no audio library.
    if arguments.command == "prepare":
        from tts.data import asterisk
        from tts.data.prepare import Options, choose, prepare

        prompts, rejected = asterisk.find_prompts()
        options = Options(
            arguments.jobs,
            arguments.max_seconds,
            validation_ids=arguments.validation_ids,
            test=arguments.test,
            test_ids=arguments.test_ids,
        )
        prepare(arguments.out, choose(prompts, arguments.limit), rejected, options)
    elif arguments.command == "synthetic":
        from tts.data.synthetic import run

        run(arguments)
    elif arguments.command == "tokens":
        from tts.data.tokens import run

        run(arguments)
    else:
        from tts.data.check import check

        print(check(arguments.corpus))
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
