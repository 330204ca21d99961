//===- KernelsToGpu.cpp - kernels to gpu.funcs, a warp a task -------------===//

#include "Lanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Target/Cuda/Passes.h"

using namespace mlir;

namespace tts::cuda {
#define GEN_PASS_DEF_KERNELSTOGPUPASS
#include "tts/Target/Cuda/Passes.h.inc"

static gpu::GPUFuncOp makeKernel(ImplicitLocOpBuilder &b, func::FuncOp source) {
  auto kernel = gpu::GPUFuncOp::create(
      b, (kSymbolPrefix + source.getName()).str(), source.getFunctionType());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel.setKnownBlockSize(ArrayRef<int32_t>{kWarpLanes * kBlockWarps, 1, 1});
  kernel->setAttr(rt::kRangeAttr, source->getAttr(rt::kRangeAttr));
  return kernel;
}

/// Warps take the numbers of the range in turn.
static LogicalResult emitBody(ImplicitLocOpBuilder &b, gpu::GPUFuncOp kernel,
                              func::FuncOp source) {
  b.setInsertionPointToStart(&kernel.getBody().front());
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value blocks = gpu::GridDimOp::create(b, gpu::Dimension::x);
  Value lane = arith::RemUIOp::create(b, thread, index(kWarpLanes));
  Value warp = arith::AddIOp::create(
      b, arith::MulIOp::create(b, block, index(kBlockWarps)),
      arith::DivUIOp::create(b, thread, index(kWarpLanes)));
  Value warps = arith::MulIOp::create(b, blocks, index(kBlockWarps));

  Block::BlockArgListType arguments = kernel.getArguments();
  Value lo = arguments.drop_back().back(), hi = arguments.back();
  auto tasks =
      scf::ForOp::create(b, arith::AddIOp::create(b, lo, warp), hi, warps);
  gpu::ReturnOp::create(b);
  b.setInsertionPointToStart(tasks.getBody());
  Block::BlockArgListType old = source.getArguments();
  Lanes lanes(b, lane, old.drop_back().back(), old.back(),
              tasks.getInductionVar());
  for (auto [from, to] :
       llvm::zip_equal(old.drop_back(2), arguments.drop_back(2)))
    lanes.setMemory(from, to);
  return lanes.copy(source.front());
}

namespace {
struct KernelsToGpuPass : impl::KernelsToGpuPassBase<KernelsToGpuPass> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(rt::kKernelAttr))
        kernels.push_back(function);
    ImplicitLocOpBuilder b(getOperation().getLoc(), &getContext());
    b.setInsertionPointToEnd(getOperation().getBody());
    auto module = gpu::GPUModuleOp::create(b, kKernelsModule);
    for (func::FuncOp source : kernels) {
      if (!source->hasAttr(rt::kRangeAttr)) {
        source.emitError("kernel without a range; run tts-to-kernels first");
        return signalPassFailure();
      }
      b.setLoc(source.getLoc());
      b.setInsertionPointToEnd(module.getBody());
      if (failed(emitBody(b, makeKernel(b, source), source)))
        return signalPassFailure();
      source.erase();
    }
  }
};
} // namespace

} // namespace tts::cuda
