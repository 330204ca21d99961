//===- Rungs.h - what of forward a bucket keeps, computes again ----------===//

#ifndef TTS_LIB_PIPELINES_RUNGS_H
#define TTS_LIB_PIPELINES_RUNGS_H

#include "tts/Pipelines/RematGraph.h"
#include <memory>

namespace tts {

/// A bucket's plans from "everything kept as it is" (rung 0) to the smallest
/// peaks; where half storage is allowed, some keep values in half.
class Rungs {
public:
  /// Rung 0 alone.
  Rungs() : rungs(1) {}

  /// `remat` is the request's; `half` null where nothing may be kept in it.
  Rungs(mlir::func::FuncOp forward, mlir::func::FuncOp backward,
        const TimeModel &time, llvm::StringRef remat, mlir::FloatType half);

  unsigned size() const { return rungs.size(); }
  const plan::RematPlan &operator[](unsigned rung) const {
    return rungs[rung].plan;
  }
  const plan::RematPlan &front() const { return rungs.front().plan; }
  const plan::RematPlan &back() const { return rungs.back().plan; }
  /// What `remat` leaves to choose from; rung 0 is a sample in any case.
  bool mayChoose(unsigned rung) const { return rungs[rung].mayChoose; }

  /// As `#tts.plan` has them; empty lists for none.
  mlir::ArrayAttr getRecompute(unsigned rung, mlir::MLIRContext *context) const;
  mlir::ArrayAttr getStore(unsigned rung, mlir::MLIRContext *context) const;
  /// Floating-point operations done again, as a part of the step's without.
  double countRecomputedPart(unsigned rung) const;

private:
  struct Rung {
    plan::RematPlan plan;
    /// Null: nothing is computed again or kept in half.
    const RematGraph *graph = nullptr;
    bool mayChoose = true;
    /// The smallest of its graph.
    bool isLeast = false;
  };

  std::vector<std::unique_ptr<RematGraph>> graphs;
  std::vector<Rung> rungs;
};

} // namespace tts

#endif // TTS_LIB_PIPELINES_RUNGS_H
