//===- Folds.cpp - sums over groups of micro-batches ----------------------===//
//
// Backward adds a group's micro-batches up in the gradient, as ever. After a
// group its sum goes where a counter in binary carries: with four groups
//
//   fold.0   partial.0 := g          fold.2   partial.0 := g
//   fold.1   partial.1 := p.0 + g    fold.3   g := (g + p.0) + p.1
//
// and the gradient is cleared, but for the last. Ranks go on with the same
// tree, so that its sum is the same however many of them share the groups.
//
//===----------------------------------------------------------------------===//

#include "Folds.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"

using namespace mlir;
using namespace tts;

namespace {

/// The program that runs after one group.
class Fold {
public:
  Fold(func::FuncOp zero, int64_t group)
      : loc(zero.getLoc()), builder(zero.getContext()), group(group) {
    builder.setInsertionPoint(zero);
    std::string name = ("fold." + Twine(group)).str();
    func = func::FuncOp::create(builder, loc, name,
                                builder.getFunctionType({}, {}));
    func->setAttr(kProgramAttr, builder.getStringAttr(name));
    builder.setInsertionPointToStart(func.addEntryBlock());
  }

  /// `isLast`: the sum of all groups becomes the gradient.
  void add(StringRef parameter, Type type, Location at, bool isLast) {
    loc = NameLoc::get(builder.getStringAttr(func.getName() + "." + parameter),
                       at);
    Value gradient = addArgument(kGradientAttr, parameter, type),
          sum = gradient;
    int64_t level = 0;
    for (; group >> level & 1; ++level) {
      Value partial = addArgument(kPartialAttr, nameOf(parameter, level), type);
      sum = isLast
                ? AccumulateOp::create(builder, loc, sum, partial).getResult()
                : AddOp::create(builder, loc, partial, sum).getResult();
    }
    if (isLast)
      return addResult(sum, kGradientAttr, parameter);
    if (level == 0) // a copy, to the bit: x + -0 = x
      sum = AddOp::create(builder, loc, gradient, makeFull(type, -0.0));
    addResult(sum, kPartialAttr, nameOf(parameter, level));
    Value cleared = makeFull(type, 0);
    // Accumulators are separate storage: the name keeps equal zeros apart.
    cleared.getDefiningOp()->setAttr(kGradientAttr,
                                     builder.getStringAttr(parameter));
    addResult(cleared, kGradientAttr, parameter);
  }

  void finish() {
    func::ReturnOp::create(builder, func.getLoc(), results);
    func.setFunctionType(builder.getFunctionType(
        func.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
    func.setAllArgAttrs(argumentRoles);
    func.setAllResultAttrs(resultRoles);
  }

private:
  static std::string nameOf(StringRef parameter, int64_t level) {
    return (parameter + "." + Twine(level)).str();
  }
  DictionaryAttr makeRole(StringRef role, StringRef name) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(role, builder.getStringAttr(name)));
  }
  Value addArgument(StringRef role, StringRef name, Type type) {
    argumentRoles.push_back(makeRole(role, name));
    return func.getBody().addArgument(type, loc);
  }
  void addResult(Value value, StringRef role, StringRef name) {
    results.push_back(value);
    resultRoles.push_back(makeRole(role, name));
  }
  Value makeFull(Type type, double value) {
    return FullOp::create(builder, loc, type, builder.getF64FloatAttr(value));
  }

  Location loc;
  OpBuilder builder;
  int64_t group;
  func::FuncOp func;
  SmallVector<Value> results;
  SmallVector<Attribute> argumentRoles, resultRoles;
};

} // namespace

LogicalResult tts::addFolds(ModuleOp module, int64_t ranks) {
  if (kFoldGroups % ranks != 0)
    return module.emitError("a deterministic sum has ")
           << kFoldGroups << " groups, which " << ranks
           << " ranks cannot share; give 1, 2 or 4";
  int64_t groups = kFoldGroups / ranks;
  func::FuncOp zero;
  for (auto program : module.getOps<func::FuncOp>())
    if (auto kind = program->getAttrOfType<StringAttr>(kProgramAttr);
        kind && kind.getValue() == "zero")
      zero = program;
  if (groups == 1 || !zero)
    return success();
  for (int64_t group = 0; group < groups; ++group) {
    Fold fold(zero, group);
    for (BlockArgument argument : zero.getArguments()) {
      auto parameter = zero.getArgAttrOfType<StringAttr>(
          argument.getArgNumber(), kGradientAttr);
      fold.add(parameter, argument.getType(), argument.getLoc(),
               group + 1 == groups);
    }
    fold.finish();
  }
  return success();
}
