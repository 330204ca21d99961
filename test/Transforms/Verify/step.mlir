// RUN: tts-opt --tts-verify-contract=level=specialize --split-input-file --verify-diagnostics %s -o /dev/null
// RUN: not tts-opt --tts-verify-contract=level=precision %S/Inputs/step.mlir 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not tts-opt --tts-verify-contract=level=select %S/Inputs/step.mlir 2>&1 | FileCheck %s --check-prefix=SELECT
// RUN: not tts-opt --tts-verify-contract=level=memory %S/Inputs/step.mlir 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not tts-opt --tts-verify-contract=level=memory %S/Inputs/entries.mlir 2>&1 | FileCheck %s --check-prefix=ENTRIES
// RUN: not tts-opt --tts-verify-contract=level=lower %S/Inputs/step.mlir 2>&1 | FileCheck %s --check-prefix=LOWER
// RUN: not tts-opt --tts-verify-contract=level=lower %S/Inputs/symbols.mlir 2>&1 | FileCheck %s --check-prefix=SYMBOLS

// PRECISION: 'f32' in a program planned as fp64
// SELECT: 'tts.relu' is neither a launch nor a library call
// MEMORY: a program on tensors after tts-memory
// ENTRIES: an operand of 'k' lies outside its buffer
// LOWER: 'func.func' is left beside the LLVM dialect
// SYMBOLS: 'malloc' is outside the ABI list

func.func @eval(
    // expected-error @+1 {{is no tensor of static shape without an encoding; tts-specialize makes them}}
    %x: tensor<?xf32, #tts.dims<batch>> {tts.input = "x"}) attributes {tts.program = "eval"} {
  return
}
