//===- Gemm.cpp - generated matrix products -------------------------------===//
//
// For element types no library serves. Row i of C is one task: 32 columns at a
// time add a[i, k]·b[k, ·] in the order of k, or, where B is transposed, a dot
// product in 32 lanes and a tree per element.
//
//===----------------------------------------------------------------------===//

#include "tts/Conversion/TtsToKernels/Gemm.h"
#include "Rules.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tts {

using kernels::Emitter;
using Values = Emitter::Values;

namespace {
class GemmBuilder {
public:
  GemmBuilder(Emitter &e, rt::GemmAttr shape, ArrayRef<Value> memory,
              Type element)
      : e(e), b(e.builder()), shape(shape), a(memory[0]), bMatrix(memory[1]),
        c(memory[2]), element(e.computeType(element)) {}

  /// Row `row` of product number `batch`.
  void row(Value row, Value batch) {
    baseA = e.offset({}, batch, shape.getStrideA());
    baseB = e.offset({}, batch, shape.getStrideB());
    rowA = e.offset(baseA, row, shape.getTransposeA() ? 1 : shape.getLda());
    rowC =
        e.offset(e.offset({}, batch, shape.getStrideC()), row, shape.getLdc());
    if (shape.getTransposeB())
      dotProducts();
    else
      combinations();
  }

private:
  Value multiplyAdd(Value sum, Value x, Value y) {
    return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, y));
  }
  Value elementOfA(Value k) {
    int64_t stride = shape.getTransposeA() ? shape.getLda() : 1;
    return e.loadScalar(a, e.offset(rowA, k, stride));
  }
  Value zeroLanes() {
    return e.constant(VectorType::get({kernels::kLanes}, element), 0);
  }

  /// The row of C as a combination of the rows of B.
  void combinations() {
    e.chunks(shape.getN(), {}, [&](ValueRange) {
      Value column = e.column();
      Value sum =
          e.loop(e.index(0), e.index(shape.getK()), zeroLanes(),
                 [&](Value k, ValueRange carried) {
                   Value first =
                       e.offset(e.offset(baseB, k, shape.getLdb()), column, 1);
                   return Values{multiplyAdd(carried[0], e.splat(elementOfA(k)),
                                             e.loadLanes(bMatrix, first))};
                 })
              .front();
      Value place = e.offset(rowC, column, 1);
      if (shape.getBeta())
        sum = arith::AddFOp::create(b, e.loadLanes(c, place), sum);
      e.storeLanes(sum, c, place);
      return Values();
    });
  }

  /// Each element of the row as a dot product with a row of Bᵀ.
  void dotProducts() {
    e.loop(
        e.index(0), e.index(shape.getN()), {}, [&](Value column, ValueRange) {
          Value rowB = e.offset(baseB, column, shape.getLdb());
          Value sum = shape.getTransposeA() ? scalarDot(rowB) : vectorDot(rowB);
          Value place = e.offset(rowC, column, 1);
          if (shape.getBeta())
            sum = arith::AddFOp::create(b, e.loadScalar(c, place), sum);
          e.storeScalar(sum, c, place);
          return Values();
        });
  }

  Value vectorDot(Value rowB) {
    // Lanes beyond K load as 0.
    Values sum = e.chunks(shape.getK(), zeroLanes(), [&](ValueRange carried) {
      Value x = e.loadLanes(a, e.offset(rowA, e.column(), 1));
      Value y = e.loadLanes(bMatrix, e.offset(rowB, e.column(), 1));
      return Values{multiplyAdd(carried[0], x, y)};
    });
    return e.sumLanes(sum.front());
  }

  Value scalarDot(Value rowB) {
    return e
        .loop(e.index(0), e.index(shape.getK()), e.constant(element, 0),
              [&](Value k, ValueRange carried) {
                Value y = e.loadScalar(bMatrix, e.offset(rowB, k, 1));
                return Values{multiplyAdd(carried[0], elementOfA(k), y)};
              })
        .front();
  }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  rt::GemmAttr shape;
  Value a, bMatrix, c;
  Type element;
  Value baseA, baseB, rowA, rowC;
};
} // namespace

/// Elements from the first to the last of a batch of matrices.
static int64_t extent(int64_t batch, int64_t stride, int64_t rows,
                      int64_t leading, int64_t columns) {
  return (batch - 1) * stride + (rows - 1) * leading + columns;
}

func::FuncOp emitGemmKernel(ModuleOp module, StringRef name, rt::GemmAttr shape,
                            Type element, Type elementOfC) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  int64_t m = shape.getM(), n = shape.getN(), k = shape.getK();
  bool ta = shape.getTransposeA(), tb = shape.getTransposeB();
  int64_t extents[] = {
      extent(shape.getBatch(), shape.getStrideA(), ta ? k : m, shape.getLda(),
             ta ? m : k),
      extent(shape.getBatch(), shape.getStrideB(), tb ? n : k, shape.getLdb(),
             tb ? k : n),
      extent(shape.getBatch(), shape.getStrideC(), m, shape.getLdc(), n)};
  SmallVector<Type> inputs;
  Type elements[] = {element, element, elementOfC};
  for (auto [size, each] : llvm::zip(extents, elements))
    inputs.push_back(MemRefType::get({size}, each));
  inputs.append(2, b.getIndexType());

  auto kernel = func::FuncOp::create(b, name, b.getFunctionType(inputs, {}));
  kernel->setAttr(rt::kKernelAttr, b.getUnitAttr());
  kernel->setAttr(rt::kRangeAttr, b.getI64IntegerAttr(m));
  Block *entry = kernel.addEntryBlock();
  b.setInsertionPointToStart(entry);
  kernels::Rules none;
  Emitter e(b, none);
  SmallVector<Value> memory(entry->getArguments().take_front(3));
  GemmBuilder builder(e, shape, memory, element);
  e.loop(entry->getArgument(3), entry->getArgument(4), {},
         [&](Value row, ValueRange) {
           return e.loop(e.index(0), e.index(shape.getBatch()), {},
                         [&](Value batch, ValueRange) {
                           builder.row(row, batch);
                           return Values();
                         });
         });
  func::ReturnOp::create(e.builder());
  return kernel;
}

} // namespace tts
