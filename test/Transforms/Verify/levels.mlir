// An unknown level lists the known ones.
// RUN: not tts-opt %s --tts-verify-contract=level=nothing 2>&1 | FileCheck %s
// CHECK: error: no contract level 'nothing'; it is one of source, differentiate
module {}
