//===- ShapeChecks.cpp - comparing sizes and names of dimensions ---------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace tts;

Dim tts::getDim(Value value, unsigned index) {
  RankedTensorType type = getTensor(value);
  Dim dim{type.getDimSize(index), {}};
  auto names = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  if (names && type.isDynamicDim(index))
    dim.name = names.getNames()[index].getValue();
  return dim;
}

InFlightDiagnostic &tts::operator<<(InFlightDiagnostic &diagnostic, Dim dim) {
  if (!ShapedType::isDynamic(dim.size))
    diagnostic << dim.size;
  else
    diagnostic << (dim.name.empty() ? StringRef("?") : dim.name);
  return diagnostic;
}

LogicalResult tts::verifySameDim(Operation *op, StringRef nameA, Value a,
                                 unsigned dimA, StringRef nameB, Value b,
                                 unsigned dimB) {
  Dim x = getDim(a, dimA), y = getDim(b, dimB);
  if (x == y)
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << "dimension " << dimA << " of '" << nameA << "' is ";
  error << x;
  error << ", dimension " << dimB << " of '" << nameB << "' is ";
  error << y;
  error << "; they must be equal";
  return error;
}

LogicalResult tts::verifyRank(Operation *op, StringRef name, Value value,
                              int64_t lowest, int64_t highest) {
  int64_t rank = getTensor(value).getRank();
  if (rank >= lowest && rank <= highest)
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << "'" << name << "' has rank " << rank << ", expected " << lowest;
  if (lowest != highest)
    error << " to " << highest;
  return error;
}

LogicalResult tts::verifySameElement(Operation *op, StringRef nameA, Value a,
                                     StringRef nameB, Value b) {
  Type x = getTensor(a).getElementType(), y = getTensor(b).getElementType();
  if (x == y)
    return success();
  return op->emitOpError() << "element types differ: '" << nameA << "' has "
                           << x << ", '" << nameB << "' has " << y
                           << "; insert a tts.cast";
}

LogicalResult tts::verifyWideElement(Operation *op, StringRef nameA, Value a,
                                     StringRef nameB, Value b) {
  Type x = getTensor(a).getElementType(), y = getTensor(b).getElementType();
  if (y.isF32() && (x.isBF16() || x.isF16()))
    return success();
  return verifySameElement(op, nameA, a, nameB, b);
}

LogicalResult tts::verifyTimed(Operation *op, StringRef name, Value value,
                               StringRef lengthsName, Value lengths) {
  if (failed(verifyRank(op, name, value, 2, 3)))
    return failure();
  return verifySameDim(op, name, value, 0, lengthsName, lengths, 0);
}
