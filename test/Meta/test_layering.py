"""The layering holds for every source, and each kind of bad include is really caught."""

import pytest

import layering
from repository import ROOT, tracked_files


def test_every_include_goes_the_right_way():
    lines = layering.violations_in(ROOT, tracked_files())
    assert not lines, "\n".join(lines)


BAD = {
    "analysis reads a transform": ("lib/Analysis/A.cpp", "tts/Transforms/Plan/Passes.h"),
    "dialect reads analysis": ("include/tts/Dialect/Tts/IR/Tts.h", "tts/Analysis/Liveness.h"),
    "dialect .td reads a pass list": (
        "include/tts/Dialect/Tts/IR/TtsOps.td",
        "tts/Transforms/Plan/Passes.td",
    ),
    "stage reads another stage": ("lib/Transforms/Memory/Pack.cpp", "tts/Transforms/Plan/Candidate.h"),
    "stage reads another by a relative path": ("lib/Transforms/Memory/Pack.cpp", "../Plan/Candidate.h"),
    "driver's header in a pipeline": ("lib/Pipelines/P.cpp", "tts/Driver/Driver.h"),
    "library reads a tool": ("lib/Driver/D.cpp", "tools/tts-opt/Main.h"),
    "compiler reads the runtime": ("lib/Driver/D.cpp", "tts-runtime/Runtime.h"),
    "compiler reads runtime sources": ("lib/Target/Cpu/T.cpp", "lib/Runtime/Memory/Arena.h"),
    "compiler reads CUDA": ("lib/Target/Cuda/T.cpp", "cuda_runtime.h"),
    "a target reads another": ("lib/Target/Cuda/T.cpp", "tts/Target/Cpu/Passes.h"),
    "compiler reads NCCL": ("lib/Target/Cuda/T.cpp", "nccl.h"),
    "analysis reads oneDNN": ("lib/Analysis/Cost.cpp", "oneapi/dnnl/dnnl.hpp"),
    "compiler reads MPI": ("lib/Driver/D.cpp", "mpi.h"),
    "the driver reads the shared file": ("lib/Driver/D.cpp", "Runtime/Device/Cpu/GemmScratch.h"),
    "the shared file reads the runtime": ("lib/Runtime/Device/Cpu/GemmScratch.cpp", "Runtime/Abi/Error.h"),
    "target reads another runtime file": ("lib/Target/Cpu/T.cpp", "Runtime/Device/Cpu/Gemm.h"),
    "runtime reads MLIR": ("lib/Runtime/Train/Loop.cpp", "mlir/IR/Builders.h"),
    "runtime reads LLVM": ("include/tts-runtime/Abi.h", "llvm/ADT/ArrayRef.h"),
    "runtime reads the compiler": ("lib/Runtime/Train/Loop.cpp", "tts/Analysis/Liveness.h"),
    "runtime reads compiler sources": ("lib/Runtime/Loop.cpp", "../Analysis/Liveness.h"),
    "public runtime header names CUDA": ("include/tts-runtime/Runtime.h", "cuda.h"),
    "checker reads LLVM": ("tools/tts-check/Elf.cpp", "llvm/Object/ELF.h"),
    "checker reads the planner": ("tools/tts-check/Main.cpp", "tts/Transforms/Memory/Packing.h"),
    "checker's library reads the planner": ("lib/Check/Simulate.cpp", "tts/Transforms/Memory/Packing.h"),
    "checker's library reads runtime sources": ("lib/Check/Table.cpp", "Runtime/Abi/Table.h"),
    "compiler reads the checker": ("lib/Driver/D.cpp", "lib/Check/Check.h"),
    "runtime reads the checker": ("lib/Runtime/Abi/Table.cpp", "../../Check/Table.h"),
    "stage reads another by lib's folder": ("lib/Transforms/Memory/Pack.cpp", "Transforms/Plan/Candidate.h"),
    "checker reads the runtime": ("tools/tts-check/Main.cpp", "tts-runtime/Runtime.h"),
    "a room that is not on the map": ("lib/Utility/Strings.cpp", "llvm/ADT/StringRef.h"),
}


@pytest.mark.parametrize("path, included", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("form", ['#include "{}"', "#include <{}>", '  # include "{}"'])
def test_planted_bad_include_is_caught(path, included, form):
    text = f"// A planted fault.\n{form.format(included)}\n"
    assert [(line, name) for line, name, _ in layering.violations(path, text)] == [(2, included)]


GOOD = {
    "transform reads analysis": ("lib/Transforms/Plan/Candidate.cpp", "tts/Analysis/FusionGroups.h"),
    "stage reads itself": ("lib/Transforms/Memory/Pack.cpp", "tts/Transforms/Memory/Packing.h"),
    "driver reads pipelines": ("lib/Driver/D.cpp", "tts/Pipelines/Pipelines.h"),
    "compiler reads the border": ("lib/Conversion/RtToLLVM/Table.cpp", "tts-runtime/Format.h"),
    "a target reads what kernels are made by": ("lib/Target/Cuda/T.cpp", "tts/Conversion/TtsToKernels/Passes.h"),
    "target asks oneDNN for scratch": ("lib/Target/Cpu/Scratch.cpp", "oneapi/dnnl/dnnl.hpp"),
    "target builds the shared file": ("lib/Target/Cpu/Scratch.cpp", "Runtime/Device/Cpu/GemmScratch.h"),
    "runtime reads MPI": ("lib/Runtime/Collectives/Mpi.cpp", "mpi.h"),
    "checker reads the border": ("tools/tts-check/Table.cpp", "tts-runtime/Format.h"),
    "checker's tool reads its library": ("tools/tts-check/main.cpp", "lib/Check/Check.h"),
    "runtime reads itself": ("lib/Runtime/Train/Loop.cpp", "Runtime/Memory/Arena.h"),
    "a unit test reads what it tests": ("test/Unit/Transforms/T.cpp", "tts/Transforms/Plan/Candidate.h"),
}


@pytest.mark.parametrize("path, included", GOOD.values(), ids=GOOD.keys())
def test_good_include_passes(path, included):
    assert layering.violations(path, f'#include "{included}"\n') == []


def test_planted_file_in_a_tree_is_caught(tmp_path):
    source = tmp_path / "lib/Analysis/A.cpp"
    source.parent.mkdir(parents=True)
    source.write_text('// Purpose.\n#include "tts/Driver/Driver.h"\n')
    (line,) = layering.violations_in(tmp_path, ["lib/Analysis/A.cpp"])
    assert line.startswith("error: lib/Analysis/A.cpp:2: includes tts/Driver/Driver.h: ")
