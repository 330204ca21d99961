"""Every op that has a kernel is lowered to PTX, and to a cubin where the toolkit is, by a test of test/Target/Cuda."""

import re

from repository import ROOT, tracked_files

RULE = re.compile(r"<(\w+Op)\b[^<>()]*>\(")
DEFINITION = re.compile(r'^def Tts_(\w+Op)\s*:\s*\w+<"(\w+)"', re.MULTILINE)


def read(paths):
    return "\n".join((ROOT / path).read_text() for path in paths)


def files_of(folder, suffix):
    return [path for path in tracked_files() if path.startswith(folder) and path.endswith(suffix)]


def ops_with_kernels(rules, definitions):
    """Mnemonics of the ops that a rule file names as a rule's."""
    mnemonics = dict(DEFINITION.findall(definitions))
    return {mnemonics[name] for name in RULE.findall(rules) if name in mnemonics}


def missing(ops, tests):
    return sorted(op for op in ops if not re.search(rf"\btts\.{op}\b", tests))


def test_every_op_with_a_kernel_is_lowered_for_a_gpu():
    ops = ops_with_kernels(
        read(files_of("lib/Conversion/TtsToKernels/", ".cpp")), read(files_of("include/tts/Dialect/Tts/IR/", ".td"))
    )
    assert len(ops) > 40
    tests = read(files_of("test/Target/Cuda/", ".mlir"))
    assert not missing(ops, tests), "add them to the file of their family in test/Target/Cuda"


def test_an_op_without_a_test_is_found():
    definitions = 'def Tts_SiluOp : Tts_Unary<"silu", []> {\ndef Tts_SumToOp : Tts_Op<"sum_to", []> {\n'
    ops = ops_with_kernels(
        "rules.whole<SumToOp>(sumTo);\n pointwise<SiluOp>(rules, x);\n isa<Unknown>(op)", definitions
    )
    assert ops == {"silu", "sum_to"}
    assert missing(ops, "%y = tts.sum_to %x") == ["silu"]
    assert missing(ops, "%y = tts.sum_to_all %x") == ["silu", "sum_to"]
