//===- Wishes.cpp - values that every reader wants in f32 -----------------===//

#include "Wishes.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;
using namespace tts::precision;

Wishes::Wishes(func::FuncOp program, OfResult ofResult) {
  Block &body = program.getBody().front();
  auto note = [&](Value value) {
    if (allReadersWant(value, ofResult))
      full.insert(value);
  };
  for (Operation &op : llvm::reverse(body.without_terminator()))
    llvm::for_each(op.getResults(), note);
  llvm::for_each(body.getArguments(), note);
}

bool Wishes::allReadersWant(Value value, OfResult ofResult) const {
  return !value.use_empty() && llvm::all_of(value.getUses(), [&](auto &use) {
    return wants(use, ofResult);
  });
}

bool Wishes::wants(OpOperand &use, OfResult ofResult) const {
  Operation *reader = use.getOwner();
  if (reader->hasTrait<OpTrait::IsTerminator>())
    return ofResult(use.getOperandNumber());
  auto rules = dyn_cast<PrecisionOpInterface>(reader);
  if (!rules)
    return true;
  switch (rules.getOperandPrecision(use.getOperandNumber())) {
  case Precision::Full:
    return true;
  case Precision::Half:
  case Precision::Either:
    return false;
  case Precision::Follows:
    break;
  }
  bool follows = false;
  for (OpResult result : reader->getResults()) {
    if (rules.getResultPrecision(result.getResultNumber()) !=
        Precision::Follows)
      continue;
    if (!wantsFull(result))
      return false;
    follows = true;
  }
  return follows;
}
