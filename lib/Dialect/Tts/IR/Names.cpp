//===- Names.cpp - stable names out of locations --------------------------===//

#include "tts/Dialect/Tts/IR/Names.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

std::string tts::getStableName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                         file.getLine(), file.getColumn())
        .str();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations()) {
      std::string name = getStableName(part);
      if (name != "unknown")
        return name;
    }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getStableName(call.getCallee());
  return "unknown";
}
