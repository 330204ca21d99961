"""Draws a run's pictures.

python -m tts.report.plots loss --metrics=metrics.jsonl -o loss.png
python -m tts.report.plots memory --plan=train.plan.json -o memory.png
python -m tts.report.plots timeline --plan=train.plan.json --model=model.mlir -o timeline.png
python -m tts.report.plots front --plan=train.plan.json -o front.png
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
    timeline = commands.add_parser("timeline", help="live bytes by class over a step, and the tensors at the peak")
    timeline.add_argument("--model", type=Path, help="model.mlir, for the lines that tensors come from")
    front = commands.add_parser("front", help="the planner's choices: time of an update against peak")
    for command in (memory, timeline, front):
        command.add_argument("--plan", type=Path, required=True, help="train.plan.json of a compiled model")
    for command in (loss, memory, timeline, front):
        command.add_argument("-o", "--output", type=Path, required=True, help="a .png, .svg or .pdf file")
    arguments = parser.parse_args()
    if arguments.output.suffix not in _FORMATS:
        raise InputError(arguments.output, "unknown kind of picture", f"end its name in {', '.join(_FORMATS)}")
    # matplotlib takes a second to load: after the command line is known to be right.
    if arguments.picture == "loss":
        from tts.report import loss as picture

        picture.plot(arguments.metrics, arguments.output)
    elif arguments.picture == "timeline":
        from tts.report import timeline as picture

        picture.plot(arguments.plan, arguments.output, arguments.model)
    else:
        from tts.report import front, memory

        {"memory": memory, "front": front}[arguments.picture].plot(arguments.plan, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
