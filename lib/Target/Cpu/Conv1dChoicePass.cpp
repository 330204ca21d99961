//===- Conv1dChoicePass.cpp - convolution or products, by measurement ----===//

#include "LibraryShapes.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Target/Cpu/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include <cmath>

using namespace mlir;
using namespace tts;

namespace tts::cpu {
#define GEN_PASS_DEF_CONV1DCHOICEPASS
#include "tts/Target/Cpu/Passes.h.inc"
} // namespace tts::cpu

namespace {
struct Measured {
  bool transpose;
  double rows, in, out, taps, products, library;

  bool libraryWins() const { return library < products; }

  /// How far a shape is from the one measured, in doublings.
  double distance(const rt::Conv1dShape &s) const {
    auto doublings = [](double a, double b) {
      return std::abs(std::log2(a / b));
    };
    return doublings(rows, double(s.batch * s.time)) +
           doublings(in, double(s.in)) + doublings(out, double(s.out)) +
           doublings(taps, double(s.taps));
  }
};

SmallVector<Measured> readTimes(ModuleOp module) {
  SmallVector<Measured> times;
  if (auto rows = module->getAttrOfType<ArrayAttr>(kConv1dTimesAttr))
    for (auto row : rows.getAsRange<DenseI64ArrayAttr>()) {
      ArrayRef<int64_t> t = row;
      if (t.size() == 7)
        times.push_back({t[0] != 0, double(t[1]), double(t[2]), double(t[3]),
                         double(t[4]), double(t[5]), double(t[6])});
    }
  return times;
}

/// What the library may have a convolution of.
std::optional<TtsDType> getDType(Value tensor) {
  Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (element.isF32())
    return TTS_F32;
  if (element.isBF16())
    return TTS_BF16;
  return element.isF16() ? std::optional(TTS_F16) : std::nullopt;
}

class Chooser {
public:
  explicit Chooser(ModuleOp module)
      : times(readTimes(module)), builder(module.getContext()) {
    if (auto plan = module->getAttrOfType<PlanAttr>(kPlanAttr))
      threads = plan.getThreads();
  }

  /// `x` and `y` are [batch, time, channel], whichever way the op goes.
  void choose(Operation *op, Value x, Value y, Value w, int64_t left,
              bool transpose) {
    auto source = cast<RankedTensorType>(x.getType());
    std::optional<TtsDType> dtype = getDType(x);
    if (!dtype || !source.hasStaticShape())
      return;
    rt::Conv1dShape shape = cpu::getConv1dShape(x, y, w, left, transpose);
    shape.dtype = *dtype; // the result is f32, whatever it is rounded to
    if (!libraryWins(shape))
      return;
    int64_t scratch = ask(shape);
    if (scratch >= 0)
      op->setAttr(rt::kScratchAttr, builder.getI64IntegerAttr(scratch));
  }

private:
  /// As at the nearest shape that was measured.
  bool libraryWins(const rt::Conv1dShape &shape) const {
    const Measured *best = nullptr;
    for (const Measured &time : times)
      if (time.transpose == shape.transpose &&
          (!best || time.distance(shape) < best->distance(shape)))
        best = &time;
    return best && best->libraryWins();
  }

  int64_t ask(const rt::Conv1dShape &s) {
    Attribute key = builder.getDenseI64ArrayAttr(
        {s.batch, s.time, s.in, s.out, s.taps, s.left, s.transpose, s.dtype});
    auto [it, inserted] = known.try_emplace(key, 0);
    if (inserted)
      it->second = rt::conv1dScratchBytes(s, threads);
    return it->second;
  }

  SmallVector<Measured> times;
  Builder builder;
  int threads = 1;
  llvm::DenseMap<Attribute, int64_t> known;
};

struct Conv1dChoice : tts::cpu::impl::Conv1dChoicePassBase<Conv1dChoice> {
  void runOnOperation() override {
    Chooser chooser(getOperation());
    getOperation().walk([&](Operation *op) {
      // The library's convolution was measured without groups only.
      auto conv = dyn_cast<Conv1dOp>(op);
      auto grad = dyn_cast<Conv1dInputGradOp>(op);
      if (conv && conv.getGroups() == 1)
        chooser.choose(op, conv.getX(), conv.getY(), conv.getW(),
                       conv.getLeft(), /*transpose=*/false);
      else if (grad && grad.getGroups() == 1)
        chooser.choose(op, grad.getDy(), grad.getDx(), grad.getW(),
                       grad.getLeft(), /*transpose=*/true);
    });
  }
};
} // namespace
