"""Docs say what the code says: generated pages are fresh, every op is in the table, links lead somewhere."""

import re
import subprocess

import pytest

from repository import ROOT, tracked_files

DOCS = [path for path in tracked_files() if path.endswith(".md")]


def test_generated_pages_are_fresh():
    done = subprocess.run([ROOT / "scripts/generate-docs.sh", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def missing_ops(table, dialect_page):
    """Ops of the dialect's page that have no row in the table, and rows of ops that do not exist."""
    ops = set(re.findall(r"^### `(tts\.\w+)` \(", dialect_page, re.MULTILINE))
    rows = set(re.findall(r"^\| `(tts\.\w+)` \|", table, re.MULTILINE))
    return ops ^ rows


def test_every_op_is_in_the_table():
    table = (ROOT / "docs/operations.md").read_text()
    assert missing_ops(table, (ROOT / "docs/generated/tts-dialect.md").read_text()) == set()


def test_a_missing_op_is_noticed():
    page = "### `tts.abs` (::tts::AbsOp)\n### `tts.add` (::tts::AddOp)\n"
    assert missing_ops("| `tts.abs` | … |\n| `tts.gone` | … |\n", page) == {"tts.add", "tts.gone"}


def dead_links(path, text):
    """Relative links of one page that lead to no file."""
    targets = [target.split("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    relative = [target for target in targets if target and "://" not in target]
    return [target for target in relative if not (ROOT / path).parent.joinpath(target).exists()]


@pytest.mark.parametrize("path", DOCS)
def test_links_lead_somewhere(path):
    assert dead_links(path, (ROOT / path).read_text()) == []


def test_a_dead_link_is_noticed():
    assert dead_links("README.md", "[a](docs/nowhere.md) [b](LICENSE#x)") == ["docs/nowhere.md"]


# Places of the repository that docs name in backticks: rooms, sources, scripts.
PLACE = re.compile(r"`((?:lib|include|tools|test|scripts|cmake|python|docs|benchmarks)/[\w./-]*\w)/?`")


@pytest.mark.parametrize("path", [path for path in DOCS if not path.startswith("docs/generated/")])
def test_places_exist(path):
    places = PLACE.findall((ROOT / path).read_text())
    assert [place for place in places if not (ROOT / place).exists()] == []
