//===- RtDialect.cpp - registration and verifiers of rt ------------------===//

#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tts::rt;

#include "tts/Dialect/Rt/IR/RtOpsDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tts/Dialect/Rt/IR/RtOpsAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "tts/Dialect/Rt/IR/RtOps.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tts/Dialect/Rt/IR/RtOpsAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tts/Dialect/Rt/IR/RtOps.cpp.inc"
      >();
}

LogicalResult SliceOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType());
  auto y = cast<RankedTensorType>(getY().getType());
  if (x.getRank() != y.getRank() || x.getRank() == 0 ||
      x.getShape().drop_front() != y.getShape().drop_front() ||
      x.getElementType() != y.getElementType())
    return emitOpError("takes rows of dimension 0; the others stay");
  int64_t first = getFirst();
  if (first < 0 || first + y.getDimSize(0) > x.getDimSize(0))
    return emitOpError() << "rows [" << first << ", " << first + y.getDimSize(0)
                         << ") lie outside the " << x.getDimSize(0) << " rows";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel || !kernel->hasAttr(kKernelAttr))
    return emitOpError() << "'" << getKernel() << "' is no kernel";
  if (getTied().size() != getNumResults() ||
      getInPlace().size() != getNumResults())
    return emitOpError("'tied' and 'in_place' have one entry per result");
  return success();
}
