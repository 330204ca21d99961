//===- Dropout.cpp - counter-based random masks ---------------------------===//

#include "Philox.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;

namespace tts::kernels {

void populateDropoutRules(Rules &rules) {
  rules.map<DropoutOp>(
      [](DropoutOp op, Emitter &e, const Position &at) -> Value {
        ImplicitLocOpBuilder &b = e.builder();
        double rate = op.getRate().convertToDouble();
        Philox philox(e);
        Value draw = philox.element(op.getDraw(), op.getUtterances(),
                                    op.getStream(), op.getType().getRank(), at);
        Value kept = philox.isKept(draw, rate);
        Value x = e.shapedLike(e.emit(op.getX(), at), draw);
        Value scaled =
            arith::MulFOp::create(b, x, e.constantLike(x, 1 / (1 - rate)));
        return arith::SelectOp::create(b, kept, scaled, e.constantLike(x, 0));
      });
}

} // namespace tts::kernels
