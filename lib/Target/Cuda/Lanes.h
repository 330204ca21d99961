//===- Lanes.h - a kernel's code for one lane of a warp ---------*- C++ -*-===//
//
// A warp does what one CPU thread does with vectors of 32 lanes. A vector is a
// scalar in each lane (a shorter one in the first lanes, the others hold
// anything); a scalar is the same in all lanes, so all take the same branches.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TARGET_CUDA_LANES_H
#define TTS_TARGET_CUDA_LANES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tts::cuda {

class Lanes {
public:
  /// `task` is the one number of the range [lo, hi) that the copy computes.
  Lanes(mlir::ImplicitLocOpBuilder &builder, mlir::Value lane, mlir::Value lo,
        mlir::Value hi, mlir::Value task);

  /// What the kernel's memory is in the copy.
  void setMemory(mlir::Value from, mlir::Value to) { copies.map(from, to); }

  /// Copies the ops of a block but for its terminator. Fails with an error at
  /// an op that has no meaning for one lane.
  mlir::LogicalResult copy(mlir::Block &block);

private:
  mlir::LogicalResult copyOp(mlir::Operation &op);
  mlir::LogicalResult copyPlain(mlir::Operation &op);
  mlir::LogicalResult copyConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult copyLoop(mlir::scf::ForOp op);
  mlir::LogicalResult copyBranch(mlir::Operation &op);
  mlir::LogicalResult copyRegion(mlir::Block &from, mlir::Block *to);
  /// The loop over the range itself, of which one number is left.
  bool isRangeLoop(mlir::scf::ForOp op) const;
  mlir::LogicalResult copyRangeLoop(mlir::scf::ForOp op);
  mlir::LogicalResult copyVectorOp(mlir::Operation &op);

  void loadLane(mlir::Value result, mlir::Value memory, mlir::Value first,
                mlir::Value mask, mlir::Value otherwise);
  void storeLane(mlir::Value value, mlir::Value memory, mlir::Value index,
                 mlir::Value condition);
  /// The value of lane+`distance`, or of lane `distance` for all.
  mlir::Value shuffle(mlir::Value value, mlir::Value distance,
                      mlir::gpu::ShuffleMode mode);
  mlir::Value interleave(mlir::Value even, mlir::Value odd);
  /// Every other lane, in the first half of the lanes.
  std::pair<mlir::Value, mlir::Value> deinterleave(mlir::Value pairs);

  mlir::Value of(mlir::Value value) { return copies.lookup(value); }
  mlir::Value i32(int64_t value);
  mlir::Value isLaneBelow(int64_t end);

  //===-- order of memory -------------------------------------------------===//
  // Lanes run apart: what one lane stores another may load only after all have
  // met, and what one lane has to load another may overwrite only then.
  void meet();
  void beforeLoad();
  void beforeStore();
  /// What a branch or loop does with memory is not followed.
  void enterRegion();
  void leaveRegion();

  mlir::ImplicitLocOpBuilder &b;
  mlir::Value lane, laneIndex;
  mlir::Value lo, hi, task;
  mlir::IRMapping copies;
  bool loaded = false, stored = false;
};

} // namespace tts::cuda

#endif // TTS_TARGET_CUDA_LANES_H
