"""House rules a machine can see: sizes, a purpose at the top, short mains, no leftovers, no rooms for anything."""

import re
from pathlib import PurePosixPath

MAX_LINES = 800
MAX_MAIN_LINES = 50
COMMENT = {
    **dict.fromkeys([".h", ".hpp", ".c", ".cpp", ".td"], ("//", "/*")),
    **dict.fromkeys([".cmake", ".sh", ".toml", ".txt", ".yml"], ("#",)),
    ".py": ('"""', "#", 'r"""'),
}
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# grep -q leaves at the first match; what still writes dies of the closed pipe, which pipefail reports as no match.
DEAF_PIPE = re.compile(r"^[^#\n]*\|\s*grep (?:-\w+ )*-\w*q", re.MULTILINE)
CATCH_ALL = re.compile(r"^(misc|util|utils|utility|utilities|helper|helpers|common)$", re.IGNORECASE)


def kind_of(path):
    """The suffix that tells a file's comment signs; None for files that carry no purpose line."""
    name = PurePosixPath(path).name
    if name == "requirements.txt":
        return ".txt"
    suffix = PurePosixPath(path).suffix
    if suffix == ".txt" or "/Inputs/" in path:
        return None
    return suffix if suffix in COMMENT else None


def has_purpose(path, text):
    """Whether the first line (after #!) is a comment of at least four words."""
    kind = kind_of(path)
    if kind is None or not text.strip():
        return True
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines[0].startswith("#!"):
        lines = lines[1:]
    if not lines or not lines[0].startswith(COMMENT[kind]):
        return False
    return any(len(re.findall(r"[A-Za-z]{2,}", line)) >= 4 for line in lines[:3])


def main_lines(text):
    """Lines of a file that defines main, without blank lines, comments and includes; 0 when it defines none."""
    if not re.search(r"^int main\(", text, re.MULTILINE):
        return 0
    code = [line.strip() for line in text.splitlines()]
    return sum(1 for line in code if line and not line.startswith(("//", "#include")))


def faults(path, text):
    """What is wrong with one file, in words."""
    found = []
    kind = PurePosixPath(path).suffix
    if kind in (".h", ".c", ".cpp", ".td", ".py", ".sh", ".cmake", ".mlir") and text.count("\n") > MAX_LINES:
        found.append(f"has {text.count(chr(10))} lines, more than {MAX_LINES}; it is two rooms in one, split it")
    if not has_purpose(path, text):
        found.append("does not open with a sentence of purpose; say what the file is for")
    if path.startswith("tools/") and main_lines(text) > MAX_MAIN_LINES:
        found.append(f"its main takes {main_lines(text)} lines; move the work into a library")
    if kind_of(path) and not path.startswith("test/Meta/") and LEFTOVER.search(text):
        found.append(f"holds {LEFTOVER.search(text).group()}; finish it or file an issue")
    if "pipefail" in text and not path.endswith(".py") and DEAF_PIPE.search(text):
        found.append("pipes into grep -q under pipefail; a match is lost when the writer is slow, write >/dev/null")
    for part in PurePosixPath(path).with_suffix("").parts:
        if CATCH_ALL.match(part):
            found.append(f"{part} is a name for anything; name the subject")
    return found
