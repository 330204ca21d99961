//===- RematGraph.h - a bucket's programs as the solver sees them --------===//

#ifndef TTS_PIPELINES_REMATGRAPH_H
#define TTS_PIPELINES_REMATGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Pipelines/StepMeasure.h"
#include "tts/Transforms/Plan/Remat.h"

namespace tts {

/// The forward and backward program of one bucket, static and in their final
/// element types, as a rematerialization problem: its operations are values of
/// forward, its steps ops of backward.
class RematGraph {
public:
  RematGraph(mlir::func::FuncOp forward, mlir::func::FuncOp backward,
             const TimeModel &time);

  const plan::RematProblem &getProblem() const { return problem; }
  /// What a plan computes again, as `#tts.plan` has it.
  mlir::ArrayAttr getRecompute(const plan::RematPlan &plan) const;
  /// Floating-point operations of the plan's clones, and of both programs.
  double countFlops(const plan::RematPlan &plan) const;
  double countFlops() const { return stepFlops; }

private:
  void addForward(mlir::func::FuncOp forward, const TimeModel &time);
  void addBackward(mlir::func::FuncOp forward, mlir::func::FuncOp backward);
  void addLiveBytes(mlir::Block &body, llvm::ArrayRef<mlir::Operation *> steps);

  mlir::MLIRContext *context;
  plan::RematProblem problem;
  /// Forward's value to the problem's operation.
  llvm::DenseMap<mlir::Value, unsigned> indexOf;
  /// Of the problem's operations and steps, by the names that `#tts.recompute`
  /// uses; null for arguments and for single results of an op.
  std::vector<mlir::StringAttr> opNames, stepNames;
  /// Of the problem's operations.
  std::vector<double> flops;
  double stepFlops = 0;
};

} // namespace tts

#endif // TTS_PIPELINES_REMATGRAPH_H
