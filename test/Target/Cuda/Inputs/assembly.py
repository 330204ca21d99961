"""Reads a module with gpu.binary ops from standard input; writes their PTX, or the one cubin of them, to a file."""

import re
import sys

OBJECT = re.compile(r'(assembly|bin) = "((?:[^"\\]|\\.)*)"')
ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")


def unescape(text):
    """The bytes of a string attribute as MLIR prints it."""
    return ESCAPE.sub(lambda m: bytes.fromhex(m[1].decode()) if len(m[1]) == 2 else m[1], text.encode())


def main():
    objects = OBJECT.findall(sys.stdin.read())
    if not objects:
        sys.exit("error: standard input: no gpu.binary with an object; run tts-cuda-kernels-to-binary first")
    with open(sys.argv[1], "wb") as output:
        for kind, text in objects:
            # PTX ends with the zero of a C string.
            output.write(unescape(text).rstrip(b"\0") if kind == "assembly" else unescape(text))


main()
