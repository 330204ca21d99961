//===- Eager.h - what an eager framework keeps of an op ---------*- C++ -*-===//

#ifndef TTS_DIALECT_TTS_IR_EAGER_H
#define TTS_DIALECT_TTS_IR_EAGER_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tts {

/// Where an op computes under automatic mixed precision: in half whatever comes
/// in, in single precision, or in the widest of its operands.
enum class EagerWidth { Widest, Half, Full };

struct EagerRule {
  EagerWidth width = EagerWidth::Widest;
  /// Operands, as the op casts them, and results that backward reads.
  llvm::SmallVector<mlir::Value> kept;
  /// Values of which a second copy is kept, in another layout.
  llvm::SmallVector<mlir::Value> copied;
  /// `bytes` for every `per` elements of a value: masks, statistics.
  struct Beside {
    mlir::Value like;
    int64_t bytes = 0, per = 1;
  };
  llvm::SmallVector<Beside> beside;
  /// The operand whose storage the result is (a view, or in place), or null.
  mlir::Value viewed;
};

/// Gives the dialect's ops their rules; called once per context.
void attachEagerRules(mlir::MLIRContext &context);

} // namespace tts

#include "tts/Dialect/Tts/IR/EagerInterfaces.h.inc"

#endif // TTS_DIALECT_TTS_IR_EAGER_H
