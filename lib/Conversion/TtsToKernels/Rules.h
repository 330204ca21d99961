//===- Rules.h - how each op becomes vector code ----------------*- C++ -*-===//

#ifndef TTS_CONVERSION_TTSTOKERNELS_RULES_H
#define TTS_CONVERSION_TTSTOKERNELS_RULES_H

#include "Emitter.h"
#include <functional>

namespace tts::kernels {

/// The rules of all ops, by op type. An op has one rule:
/// a map rule computes its results at one position from its operands there (or
/// at positions it works out), so maps chain inside a kernel; a whole rule
/// writes the loops of a kernel of its own.
class Rules {
public:
  using Values = Emitter::Values;
  using Map =
      std::function<Values(mlir::Operation *, Emitter &, const Position &)>;
  using Whole = std::function<void(mlir::Operation *, Emitter &)>;
  using Sum =
      std::function<mlir::Value(mlir::Operation *, Emitter &, mlir::Value)>;

  /// A map that needs to know the indices.
  template <typename OpT, typename Fn> void map(Fn rule) {
    add<OpT>(rule, false);
  }
  /// A map that treats every element alike: shapes may be flattened.
  template <typename OpT, typename Fn> void flatMap(Fn rule) {
    add<OpT>(rule, true);
  }

  /// Maps whose results are numbers of their operands: nothing to round.
  template <typename... OpTs> void exact() {
    (exacts.insert(mlir::TypeID::get<OpTs>()), ...);
  }

  template <typename OpT, typename Fn> void whole(Fn rule) {
    wholes[mlir::TypeID::get<OpT>()] = [rule](mlir::Operation *op, Emitter &e) {
      rule(llvm::cast<OpT>(op), e);
    };
  }

  /// The one number that an op makes of a flat tensor, whose number of elements
  /// is known at run time: `rule(op, emitter, elements)`. Where such an op is a
  /// kernel of its own, its whole rule makes it.
  template <typename OpT, typename Fn> void sum(Fn rule) {
    sums[mlir::TypeID::get<OpT>()] = [rule](mlir::Operation *op, Emitter &e,
                                            mlir::Value elements) {
      return rule(llvm::cast<OpT>(op), e, elements);
    };
  }

  const Map *findMap(mlir::Operation *op) const;
  const Sum *findSum(mlir::Operation *op) const;
  const Whole *findWhole(mlir::Operation *op) const;
  /// Whether the op may be computed on flattened shapes.
  bool isFlat(mlir::Operation *op) const;
  bool isExact(mlir::Operation *op) const;

private:
  static Values list(mlir::Value value) { return {value}; }
  static Values list(Values values) { return values; }

  template <typename OpT, typename Fn> void add(Fn rule, bool flat) {
    mlir::TypeID id = mlir::TypeID::get<OpT>();
    maps[id] = [rule](mlir::Operation *op, Emitter &e, const Position &at) {
      return list(rule(llvm::cast<OpT>(op), e, at));
    };
    if (flat)
      flats.insert(id);
  }

  llvm::DenseMap<mlir::TypeID, Map> maps;
  llvm::DenseMap<mlir::TypeID, Whole> wholes;
  llvm::DenseMap<mlir::TypeID, Sum> sums;
  llvm::DenseSet<mlir::TypeID> flats, exacts;
};

void populateElementwiseRules(Rules &rules);
void populateShapeRules(Rules &rules);
void populateDropoutRules(Rules &rules);
void populateDrawRules(Rules &rules);
void populateDepthwiseRules(Rules &rules);
void populateGatherRules(Rules &rules);
void populateLossRules(Rules &rules);
void populateOptimizerRules(Rules &rules);
void populateReductionRules(Rules &rules);
void populateNormRules(Rules &rules);
void populateBatchNormRules(Rules &rules);
void populateSoftmaxRules(Rules &rules);
void populateDurationRules(Rules &rules);
void populateRotaryRules(Rules &rules);
void populateRmsNormRules(Rules &rules);
void populateCrossEntropyRules(Rules &rules);

} // namespace tts::kernels

#endif // TTS_CONVERSION_TTSTOKERNELS_RULES_H
