//===- OpChecks.cpp - promises about single ops --------------------------===//

#include "Checks.h"
#include "Program.h"
#include "tts/Dialect/Tts/IR/Names.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tts;

LogicalResult tts::checkOnlyTtsOps(ModuleOp module) {
  bool kept = true;
  for (func::FuncOp program : getPrograms(module))
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa_and_nonnull<TtsDialect>(op.getDialect())) {
        emitError(op.getLoc()) << "'" << op.getName()
                               << "' is no tts op; write the model in tts ops";
        kept = false;
      }
  return success(kept);
}

LogicalResult tts::checkStableNames(ModuleOp module) {
  bool kept = true;
  for (func::FuncOp program : getPrograms(module))
    for (Operation &op : program.getBody().front().without_terminator())
      if (getStableName(op.getLoc()) == "unknown") {
        emitError(op.getLoc())
            << "'" << op.getName()
            << "' has no name; give it one with loc(\"<name>\")";
        kept = false;
      }
  return success(kept);
}

namespace {
/// Remembers which names have been complained about.
class NamedSizes {
public:
  explicit NamedSizes(ModuleOp module)
      : buckets(module->getAttrOfType<ArrayAttr>(kBucketsAttr)) {}

  LogicalResult check(Location loc, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.hasStaticShape())
      return success();
    auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
    if (!dims)
      return emitError(loc)
             << type << " has a '?' without a name; add #tts.dims<...>";
    for (StringAttr name : dims.getNames())
      if (failed(check(loc, name.getValue())))
        return failure();
    return success();
  }

private:
  LogicalResult check(Location loc, StringRef name) {
    if (!buckets || name == "_" || name == "batch" || !seen.insert(name).second)
      return success();
    for (auto [number, bucket] : llvm::enumerate(buckets))
      if (!cast<BucketAttr>(bucket).lookup(name))
        return emitError(loc)
               << "size '" << name << "' has no value in bucket #" << number
               << " of tts.buckets; add " << name << " = <size>";
    return success();
  }

  ArrayAttr buckets;
  llvm::StringSet<> seen;
};
} // namespace

LogicalResult tts::checkNamedSizes(ModuleOp module) {
  NamedSizes sizes(module);
  bool kept = true;
  for (func::FuncOp program : getPrograms(module)) {
    for (BlockArgument argument : program.getArguments())
      kept &= succeeded(sizes.check(argument.getLoc(), argument.getType()));
    for (Operation &op : program.getBody().front().without_terminator())
      for (Type type : op.getResultTypes())
        kept &= succeeded(sizes.check(op.getLoc(), type));
  }
  return success(kept);
}
