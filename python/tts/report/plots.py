"""Draws a run's pictures.

python -m tts.report.plots loss --metrics=metrics.jsonl -o loss.png
python -m tts.report.plots memory --plan=train.plan.json -o memory.png
"""

import sys
from pathlib import Path

from tts.data.errors import InputError, Parser, run_tool

_FORMATS = (".png", ".svg", ".pdf")


def main() -> int:
    parser = Parser(prog="tts.report.plots", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="picture", required=True, parser_class=Parser)
    loss = commands.add_parser("loss", help="losses and learning rate over updates")
    loss.add_argument("--metrics", type=Path, required=True, help="metrics.jsonl of a run")
    memory = commands.add_parser("memory", help="bytes per class, and the arena's map")
    memory.add_argument("--plan", type=Path, required=True, help="train.plan.json of a compiled model")
    for command in (loss, memory):
        command.add_argument("-o", "--output", type=Path, required=True, help="a .png, .svg or .pdf file")
    arguments = parser.parse_args()
    if arguments.output.suffix not in _FORMATS:
        raise InputError(arguments.output, "unknown kind of picture", f"end its name in {', '.join(_FORMATS)}")
    # matplotlib takes a second to load: after the command line is known to be right.
    if arguments.picture == "loss":
        from tts.report import loss as picture

        picture.plot(arguments.metrics, arguments.output)
    else:
        from tts.report import memory as picture

        picture.plot(arguments.plan, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
