// The planner as a pass, also through the plugin; its errors.
// RUN: tts-opt --tts-differentiate-pipeline --tts-plan='memory-budget=1G threads=1' %S/../../Driver/Inputs/pitch.mlir | FileCheck %s
// RUN: %mlir-opt-tts --pass-pipeline='builtin.module(tts-differentiate-pipeline,tts-plan{memory-budget=80G hardware=a100-80g ranks=1 micro-batch=2})' %S/../../Driver/Inputs/pitch.mlir | FileCheck %s --check-prefix=PINNED
// RUN: tts-opt --tts-differentiate-pipeline --tts-plan='hardware=a100-80g ranks=2' %S/../../Driver/Inputs/pitch.mlir | FileCheck %s --check-prefix=TWO
// RUN: tts-opt --tts-differentiate-pipeline --tts-plan='hardware=a100-80g ranks=2 shard-states=gradients' %S/../../Driver/Inputs/pitch.mlir | FileCheck %s --check-prefix=SHARDS
// RUN: tts-opt --tts-differentiate-pipeline --tts-plan='hardware=a100-80g ranks=2 shard-states=none' %S/../../Driver/Inputs/pitch.mlir | FileCheck %s --check-prefix=WHOLE
// RUN: not tts-opt --tts-plan %S/../../Driver/Inputs/pitch.mlir 2>&1 | FileCheck %s --check-prefix=SOURCE
// RUN: not tts-opt --tts-differentiate-pipeline --tts-plan=memory-budget=1K %S/../../Driver/Inputs/pitch.mlir 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not tts-opt --tts-plan=memory-budget=much %s 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not tts-opt --tts-plan=hardware=cray %s 2>&1 | FileCheck %s --check-prefix=HARDWARE
// RUN: not tts-opt --tts-plan=precision=int8 %s 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not tts-opt --tts-plan='precision=fp16 half-storage=auto' %s 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not tts-opt --tts-plan=ranks=0 %s 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not tts-opt --tts-plan='ranks=2 hardware=a100-80g shard-states=much' %s 2>&1 | FileCheck %s --check-prefix=MUCH
// RUN: not tts-opt --tts-plan='ranks=2 hardware=a100-80g deterministic shard-states=optimizer' %s 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: not tts-opt --tts-plan %s 2>&1 | FileCheck %s --check-prefix=BATCH

// CHECK: tts.plan = #tts.plan<precision = "fp32", threads = 1, micro_batches = [{{[124], [124]}}]>
// PINNED: micro_batches = [2, 2]
// TWO: micro_batches = [{{[12]}}, {{[12]}}]
// TWO-SAME: tts.ranks = 2 : i64
// SHARDS: tts.ranks = 2 : i64
// SHARDS-SAME: tts.state_sharding = "gradients"
// WHOLE: tts.ranks = 2 : i64
// WHOLE-NOT: tts.state_sharding
// SOURCE: is not differentiated yet; run tts-differentiate first
// SMALL: no plan fits 1024 bytes (0.000 GiB): smallest feasible budget: {{[0-9]+}} bytes
// SIZE: memory-budget 'much' is no size
// HARDWARE: hardware cray: is no known hardware
// PRECISION: precision 'int8' is not supported; auto, fp64, fp32, bf16 or fp16 is
// HALF: half-storage 'auto' is for programs that compute in fp32, not in fp16; leave it out, or use --precision=fp32
// RANKS: ranks and threads must be at least 1
// MUCH: shard-states 'much' is not known; auto, none, optimizer, gradients or parameters is
// NORM: the norm of sharded gradients is rounded as the ranks are, which deterministic forbids
// BATCH: has no tts.batch; give --batch=B
module {
}
