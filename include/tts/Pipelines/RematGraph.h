//===- RematGraph.h - a bucket's programs as the solver sees them --------===//

#ifndef TTS_PIPELINES_REMATGRAPH_H
#define TTS_PIPELINES_REMATGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Pipelines/StepMeasure.h"
#include "tts/Transforms/Plan/Remat.h"

namespace tts {

/// How a problem shows f32 activations that may be kept in half.
struct HalfStorage {
  /// Null: none may be.
  mlir::FloatType type;
  /// Each that is kept is, and readers find it as they would a view; else each
  /// may be kept in half or as it is, and being cast back is what it costs.
  bool everything = false;
  /// What is not kept may be computed again.
  bool recompute = true;
};

/// The forward and backward program of one bucket, static and in their final
/// element types, as a rematerialization problem: its operations are values of
/// forward, its steps ops of backward.
class RematGraph {
public:
  RematGraph(mlir::func::FuncOp forward, mlir::func::FuncOp backward,
             const TimeModel &time, const HalfStorage &storage = {});

  const plan::RematProblem &getProblem() const { return problem; }
  /// Plans with the seconds that they really add.
  std::vector<plan::RematPlan> solve() const;
  /// What a plan computes again and what it keeps in half, as `#tts.plan` has
  /// them.
  mlir::ArrayAttr getRecompute(const plan::RematPlan &plan) const;
  mlir::ArrayAttr getStore(const plan::RematPlan &plan) const;
  /// Floating-point operations of the plan's clones, and of both programs.
  double countFlops(const plan::RematPlan &plan) const;
  double countFlops() const { return stepFlops; }

private:
  /// A value that may be kept in half is three of the problem's: itself, which
  /// is not kept; rounded; and turned back, which later operations and backward
  /// read. To keep the last is to keep the value as it is.
  struct Storable {
    unsigned value, rounded, full;
    StoreAttr item;
    /// Of rounding it in forward and of turning it back in backward.
    double seconds = 0;
    unsigned readers = 0;
  };

  unsigned add(plan::RematOp op, mlir::StringAttr name, double work);
  void findStorable(mlir::func::FuncOp forward, mlir::func::FuncOp backward);
  void define(mlir::OpResult value, unsigned index, mlir::StringAttr name);
  void addForward(mlir::func::FuncOp forward);
  void addBackward(mlir::func::FuncOp forward, mlir::func::FuncOp backward);
  void addLiveBytes(mlir::Block &body, llvm::ArrayRef<mlir::Operation *> steps);

  void priceStorage();
  bool isStored(const Storable &value, const plan::RematPlan &plan) const;
  double countSeconds(const plan::RematPlan &plan) const;

  mlir::MLIRContext *context;
  const TimeModel time;
  const HalfStorage storage;
  plan::RematProblem problem;
  llvm::DenseSet<mlir::Value> mayStore;
  std::vector<Storable> storables;
  /// Bytes of the values turned back.
  llvm::DenseMap<unsigned, int64_t> turnedBack;
  /// Forward's value to the problem's operation.
  llvm::DenseMap<mlir::Value, unsigned> indexOf;
  /// Of the problem's operations and steps, by the names that `#tts.recompute`
  /// uses; null for arguments, for single results of an op and for casts.
  std::vector<mlir::StringAttr> opNames, stepNames;
  /// Of the problem's operations.
  std::vector<double> flops;
  double stepFlops = 0;
};

} // namespace tts

#endif // TTS_PIPELINES_REMATGRAPH_H
