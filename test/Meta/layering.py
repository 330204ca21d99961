"""Who may include whom: the directions of docs/architecture.md, read off the include lines of every source."""

import re
from pathlib import Path, PurePosixPath

# In order of dependence: a room includes itself and what stands before it.
ROOMS = ["Dialect", "Analysis", "Transforms", "Conversion", "Target", "Pipelines", "Driver", "tools"]
# The one border: what the compiler may read of the runtime.
BORDER = {"tts-runtime/Abi.h", "tts-runtime/Format.h"}
# The files that both sides build, so that the scratch planned is the scratch wanted: they ask oneDNN and include
# nothing of the project (docs/rationale/2026-11-30-shared-scratch.md).
SHARED = ("lib/Runtime/Device/Cpu/GemmScratch", "lib/Runtime/Device/Cpu/ConvScratch")
SHARED_HEADERS = {f"{name}.h" for name in SHARED}
# Headers that only the runtime may include (a call into a driver, a network or a library of another vendor).
FOREIGN = re.compile(
    r"^(cuda|cublas|cudnn|cufft|curand|nvrtc|nccl|nvml)[\w.-]*(/|\.h|\.hpp|$)|^mpi(-ext)?\.h$|^(oneapi/)?dnnl"
)
ONEDNN = re.compile(r"^(oneapi/)?dnnl")
LLVM = re.compile(r"^(mlir|mlir-c|llvm|llvm-c|clang|lld)/")

INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*[<"]([^>"]+)[>"]')
SOURCES = {".h", ".hpp", ".c", ".cpp", ".cc", ".td", ".inc", ".def"}


def room_of(path):
    """(room, stage) of a source on the compiler's side; (None, None) elsewhere."""
    parts = PurePosixPath(path).parts
    if parts[:2] == ("include", "tts"):
        parts = parts[2:]
    elif parts[0] == "lib":
        parts = parts[1:]
    elif parts[0] == "tools":
        return ("tools", parts[1])
    else:
        return (None, None)
    return (parts[0], parts[1] if len(parts) > 2 else None)


def side_of(path):
    """'runtime', 'checker' (shares nothing but the border with either half), 'compiler' or None (tests, benchmarks)."""
    if path.startswith(("lib/Runtime/", "include/tts-runtime/")):
        return "runtime"
    if path.startswith(("lib/Check/", "tools/tts-check/")):
        return "checker"
    if path.startswith(("lib/", "include/tts/", "tools/")):
        return "compiler"
    return None


def resolve(path, included):
    """An include written relative to its own file or to lib/, as a path from the root; others unchanged."""
    if included.split("/")[0] in [*ROOMS, "Runtime", "Check"] and "/" in included:
        return "lib/" + included
    if not included.startswith("."):
        return included
    parts = list(PurePosixPath(path).parent.parts)
    for part in PurePosixPath(included).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def header_room(included):
    """(room, stage) that an include names, or (None, None) for one outside the project."""
    if included.startswith("tts/"):
        return room_of("include/" + included)
    if included.startswith(("lib/", "include/tts/", "tools/")):
        return room_of(included)
    return (None, None)


def check_compiler(path, included):
    room, stage = room_of(path)
    if room not in ROOMS:
        return f"{room} is no room of DESIGN's layout"
    if "tts-runtime/" in included and included.removeprefix("include/") not in BORDER:
        return "the compiler reads only Abi.h and Format.h of the runtime"
    if included in SHARED_HEADERS and path.startswith("lib/Target/Cpu/"):
        return None
    if included.startswith(("lib/Runtime/", "lib/Check/")):
        return "the compiler includes neither the runtime nor the checker"
    if FOREIGN.match(included) and not (ONEDNN.match(included) and path.startswith("lib/Target/Cpu/")):
        return "headers of CUDA, MPI, NCCL and oneDNN belong to runtime sources (Target/Cpu may ask oneDNN)"
    other, other_stage = header_room(included)
    if other is None:
        return None
    if other not in ROOMS:
        return f"{other} is no room of DESIGN's layout"
    if ROOMS.index(other) > ROOMS.index(room):
        return f"{room} may not depend on {other}"
    if room == other and room in ("Transforms", "Target") and stage != other_stage:
        return f"{'stage' if room == 'Transforms' else 'target'} {stage} includes {other_stage}"
    return None


def check_runtime(path, included):
    inside = included.startswith(("lib/", "include/", "tts-runtime/"))
    if path.startswith(SHARED) and inside and included not in {*SHARED_HEADERS, "tts-runtime/Format.h"}:
        return "the file that both sides build stands alone"
    if LLVM.match(included):
        return "no LLVM or MLIR below the runtime's border"
    if header_room(included)[0] in ROOMS or included.startswith("lib/Check/"):
        return "the runtime includes neither the compiler nor the checker"
    if path.startswith("include/tts-runtime/") and FOREIGN.match(included):
        return "public runtime headers name no foreign library"
    return None


def check_checker(path, included):
    own = included.startswith(("lib/Check/", "tools/tts-check/"))
    if LLVM.match(included) or FOREIGN.match(included) or (included.startswith(("tts/", "lib/", "tools/")) and not own):
        return "tts-check shares no code with compiler or runtime"
    if "tts-runtime/" in included and included not in BORDER:
        return "tts-check reads only Abi.h and Format.h"
    return None


def violations(path, text):
    """(line, include, why) of each include of one file that goes against the directions."""
    check = {"compiler": check_compiler, "runtime": check_runtime, "checker": check_checker}.get(side_of(path))
    if check is None:
        return []
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            included = resolve(path, match.group(1))
            why = check(path, included)
            if why:
                found.append((number, match.group(1), why))
    return found


def violations_in(root, paths):
    """All violations of a list of files, one line each."""
    lines = []
    for path in paths:
        if PurePosixPath(path).suffix in SOURCES:
            for number, included, why in violations(path, (Path(root) / path).read_text(errors="replace")):
                lines.append(f"error: {path}:{number}: includes {included}: {why}; see docs/architecture.md")
    return lines
