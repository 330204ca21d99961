//===- Update.cpp - @zero and @update ------------------------------------===//
// What happens once per optimizer update: accumulators are cleared before it;
// clipping by the global norm, the optimizer and the moving average end it.

#include "ProgramBuilder.h"
#include "Programs.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

func::FuncOp tts::buildZero(TrainFunction &train) {
  ProgramBuilder program(train.func, "zero");
  OpBuilder &builder = program.getBuilder();
  for (BlockArgument parameter : train.trainable) {
    StringRef name = train.getParameterName(parameter);
    Type type = parameter.getType();
    Location loc =
        NameLoc::get(builder.getStringAttr(name + ".zero"), parameter.getLoc());
    program.addArgument(type, kGradientAttr, name, parameter.getLoc());
    auto zero = FullOp::create(builder, loc, type, builder.getF64FloatAttr(0));
    // Accumulators are separate storage: the name keeps equal zeros apart.
    zero->setAttr(kGradientAttr, builder.getStringAttr(name));
    program.addResult(zero, kGradientAttr, name);
  }
  return program.finish();
}

namespace {
enum class Optimizer { AdamW, Sgd };

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, TrainFunction &train)
      : module(module), train(train), program(train.func, "update"),
        builder(program.getBuilder()) {}

  FailureOr<func::FuncOp> build();

private:
  LogicalResult readOptions();
  /// One argument per trainable parameter.
  SmallVector<Value> addArguments(StringRef role);
  void addClip();
  void addParameter(unsigned index);
  void addState(const State &state);
  Location locate(const Twine &name, Location loc) {
    return NameLoc::get(builder.getStringAttr(name), loc);
  }

  ModuleOp module;
  TrainFunction &train;
  ProgramBuilder program;
  OpBuilder &builder;
  Optimizer optimizer = Optimizer::AdamW;
  FloatAttr maxNorm;
  bool hasEma = false;
  SmallVector<Value> parameters, gradients, moments1, moments2, averages;
  Value settings, clip, norm;
  /// Results by kind, in the order of arguments.
  SmallVector<std::pair<Value, StringRef>> newParameters, newMoments1,
      newMoments2, newAverages;
};
} // namespace

LogicalResult UpdateBuilder::readOptions() {
  if (Attribute value = module->getAttr(kOptimizerAttr)) {
    auto name = dyn_cast<StringAttr>(value);
    if (!name || (name.getValue() != "adamw" && name.getValue() != "sgd"))
      return emitError(module.getLoc()) << "tts.optimizer is " << value
                                        << "; it must be \"adamw\" or \"sgd\"";
    if (name.getValue() == "sgd")
      optimizer = Optimizer::Sgd;
  }
  auto readPositive = [&](StringRef attribute,
                          FloatAttr &into) -> LogicalResult {
    Attribute value = module->getAttr(attribute);
    into = dyn_cast_or_null<FloatAttr>(value);
    if (value && (!into || !(into.getValueAsDouble() >= 0)))
      return emitError(module.getLoc())
             << attribute << " is " << value
             << "; it must be a number like 1.0, or 0.0 to switch it off";
    if (into && into.getValueAsDouble() == 0)
      into = {};
    return success();
  };
  FloatAttr emaDecay;
  if (failed(readPositive(kGradClipAttr, maxNorm)) ||
      failed(readPositive(kEmaDecayAttr, emaDecay)))
    return failure();
  if (maxNorm)
    maxNorm = builder.getF64FloatAttr(maxNorm.getValueAsDouble());
  hasEma = !!emaDecay;
  return success();
}

SmallVector<Value> UpdateBuilder::addArguments(StringRef role) {
  SmallVector<Value> values;
  for (BlockArgument parameter : train.trainable)
    values.push_back(
        role == kParamAttr
            ? program.addArgument(parameter.getType(),
                                  train.getAttributes(parameter),
                                  parameter.getLoc())
            : program.addArgument(parameter.getType(), role,
                                  train.getParameterName(parameter),
                                  parameter.getLoc()));
  return values;
}

/// The norm over all gradients and the factor that every update uses.
void UpdateBuilder::addClip() {
  Type element = cast<RankedTensorType>(settings.getType()).getElementType();
  Type scalar = RankedTensorType::get({}, element);
  // The sums of all parameters first: they have nothing to wait for.
  SmallVector<Value> sums;
  for (auto [parameter, gradient] : llvm::zip(train.trainable, gradients))
    sums.push_back(SumSquaresOp::create(
        builder,
        locate(train.getParameterName(parameter) + ".norm", parameter.getLoc()),
        scalar, gradient, /*acc=*/Value()));
  Location loc = locate("clip", train.func.getLoc());
  Value sum;
  for (Value own : sums)
    sum = sum ? AddOp::create(builder, loc, sum, own).getResult() : own;
  if (!sum)
    sum = FullOp::create(builder, loc, scalar, builder.getF64FloatAttr(0));
  auto factor = ClipFactorOp::create(builder, loc, scalar, scalar, sum,
                                     /*unscale=*/Value(), maxNorm);
  clip = factor.getFactor();
  norm = factor.getNorm();
}

void UpdateBuilder::addParameter(unsigned index) {
  BlockArgument parameter = train.trainable[index];
  StringRef name = train.getParameterName(parameter);
  Type type = parameter.getType();
  Location loc = locate(name + ".update", parameter.getLoc());
  Value updated;
  if (optimizer == Optimizer::AdamW) {
    auto op = AdamWOp::create(builder, loc, type, type, type, parameters[index],
                              gradients[index], moments1[index],
                              moments2[index], settings, clip);
    updated = op.getNewP();
    newMoments1.push_back({op.getNewM(), name});
    newMoments2.push_back({op.getNewV(), name});
  } else {
    updated = SgdOp::create(builder, loc, type, parameters[index],
                            gradients[index], settings, clip);
  }
  newParameters.push_back({updated, name});
  if (hasEma)
    newAverages.push_back(
        {EmaOp::create(builder, locate(name + ".ema", parameter.getLoc()), type,
                       averages[index], updated, settings, clip),
         name});
}

/// A state takes the value that forward found, where the update holds.
void UpdateBuilder::addState(const State &state) {
  BlockArgument parameter = state.parameter;
  StringRef name = train.getParameterName(parameter);
  Type type = parameter.getType();
  Value old = program.addArgument(type, train.getAttributes(parameter),
                                  parameter.getLoc());
  Value next = program.addArgument(type, kNextAttr, name, parameter.getLoc());
  newParameters.push_back(
      {AdoptOp::create(builder, locate(name + ".adopt", parameter.getLoc()),
                       type, old, next, clip),
       name});
}

FailureOr<func::FuncOp> UpdateBuilder::build() {
  if (failed(readOptions()))
    return failure();
  parameters = addArguments(kParamAttr);
  gradients = addArguments(kGradientAttr);
  if (optimizer == Optimizer::AdamW) {
    moments1 = addArguments(kMoment1Attr);
    moments2 = addArguments(kMoment2Attr);
  }
  if (hasEma)
    averages = addArguments(kEmaAttr);
  // Rates are as exact as the most exact parameter.
  bool isDouble = llvm::any_of(train.trainable, [](BlockArgument parameter) {
    return cast<RankedTensorType>(parameter.getType()).getElementType().isF64();
  });
  Type element = isDouble ? Type(builder.getF64Type()) : builder.getF32Type();
  settings = program.addArgument(RankedTensorType::get({8}, element),
                                 kScalarAttr, "optimizer", train.func.getLoc());
  addClip();
  for (unsigned index : llvm::seq<unsigned>(0, train.trainable.size()))
    addParameter(index);
  for (const State &state : train.states)
    addState(state);

  auto addResults = [&](StringRef role, auto &values) {
    for (auto [value, name] : values)
      program.addResult(value, role, name);
  };
  addResults(kParamAttr, newParameters);
  addResults(kMoment1Attr, newMoments1);
  addResults(kMoment2Attr, newMoments2);
  addResults(kEmaAttr, newAverages);
  program.addResult(norm, kScalarAttr, "grad_norm");
  return program.finish();
}

FailureOr<func::FuncOp> tts::buildUpdate(ModuleOp module,
                                         TrainFunction &train) {
  return UpdateBuilder(module, train).build();
}
