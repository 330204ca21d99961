"""Makes one self-contained HTML page of a run: plan, memory over a step, losses, samples, evaluation.

python -m tts.report demo-out -o demo-out/report.html
"""

import os
import sys
from pathlib import Path

from tts.data.errors import InputError, Parser, run_tool


def main() -> int:
    parser = Parser(prog="tts.report", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of a run: train.plan.json, and what else is there")
    parser.add_argument("-o", "--output", type=Path, help="the page (default: report.html in the folder)")
    parser.add_argument("--title", help="of the page (default: the folder's name)")
    parser.add_argument("--plan", type=Path, help="a certificate elsewhere")
    parser.add_argument("--metrics", type=Path, help="a metrics.jsonl elsewhere")
    parser.add_argument("--evaluation", type=Path, help="an evaluation.json elsewhere")
    parser.add_argument("--compare", type=Path, metavar="FOLDER", help="another run: was it the same experiment?")
    arguments = parser.parse_args()
    output = arguments.output or arguments.folder / "report.html"
    if output.suffix not in (".html", ".htm"):
        raise InputError(output, "not the name of a page", "end it in .html")
    from tts.report.page import document, experiment, run

    found = run.read(
        arguments.folder,
        title=arguments.title,
        plan=arguments.plan,
        metrics=arguments.metrics,
        evaluation=arguments.evaluation,
        other=arguments.compare,
    )
    page = document.html(found)
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    temporary.write_text(page, encoding="utf-8")
    temporary.replace(output)
    print(experiment.verdict(found))
    if found.other:
        print(experiment.compared(found))
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
