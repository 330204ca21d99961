"""Compiles the functions of `module @collectives` on stdin and runs them, on a look-alike of NCCL or, with --link, on the real one.

    tts-opt … --tts-cuda-collectives-to-nccl | nccl.py FOLDER FUNCTION [--link LIBRARY]

The look-alike is a communicator of two ranks in one process: it writes down each call and doubles the array, as a sum with
an equal rank would. Printed are the calls and the arena afterwards. With --link nothing may be undefined, and NCCL says what
it thinks of a communicator that is none.
"""

import ctypes
import subprocess
import sys
from pathlib import Path

LOOK_ALIKE = r"""
#include <stddef.h>
#include <stdio.h>
int ncclGroupStart(void) { printf("group start\n"); return 0; }
int ncclGroupEnd(void) { printf("group end\n"); fflush(stdout); return 0; }
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *communicator, void *stream) {
  printf("all-reduce of %zu of type %d, op %d, stream %zu%s\n", count, type, op, (size_t)stream, from == to ? "" : ", not in place");
  if (!communicator) return 4;
  for (size_t i = 0; i < count; ++i)
    type == 7 ? (((float *)to)[i] *= 2) : (((double *)to)[i] *= 2);
  return 0;
}
"""


def find_module(text):
    """The text of `module @collectives { … }` without its braces."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if "module @collectives {" in line)
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = next(i for i in range(first + 1, len(lines)) if lines[i] == " " * indent + "}")
    return "\n".join(lines[first + 1 : last]) + "\n"


def main(folder, function, library=None):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nccl.mlir").write_text(find_module(sys.stdin.read()))
    subprocess.run(["mlir-translate", "--mlir-to-llvmir", folder / "nccl.mlir", "-o", folder / "nccl.ll"], check=True)
    subprocess.run(
        ["llc", "--relocation-model=pic", "--filetype=obj", folder / "nccl.ll", "-o", folder / "nccl.o"], check=True
    )
    if not library:
        (folder / "look_alike.c").write_text(LOOK_ALIKE)
        library = folder / "libnccl.so.2"
        subprocess.run(["cc", "-shared", "-fPIC", folder / "look_alike.c", "-o", library], check=True)
        link = [library]
    else:
        link = [library, "-Wl,-z,defs"]
    shared = folder / "collectives.so"
    rpath = f"-Wl,-rpath,{Path(library).resolve().parent}"
    subprocess.run(["cc", "-shared", folder / "nccl.o", "-o", shared, *link, rpath], check=True)
    call = getattr(ctypes.CDLL(str(shared)), function)
    arena = (ctypes.c_char * 1024)()
    for index, kind in ((16, ctypes.c_float), (32, ctypes.c_double)):  # offsets 64 and 256
        numbers = ctypes.cast(arena, ctypes.POINTER(kind))
        numbers[index], numbers[index + 1] = 1.5, 3.0
    communicator = None if "--none" in sys.argv or "--link" in sys.argv else 1
    status = call(ctypes.byref(arena), ctypes.c_void_p(communicator), ctypes.c_void_p(7))
    print("status", status, flush=True)
    floats, doubles = (
        ctypes.cast(arena, ctypes.POINTER(ctypes.c_float)),
        ctypes.cast(arena, ctypes.POINTER(ctypes.c_double)),
    )
    print("arena", floats[16], floats[17], doubles[32], doubles[33])


main(sys.argv[1], sys.argv[2], sys.argv[sys.argv.index("--link") + 1] if "--link" in sys.argv else None)
