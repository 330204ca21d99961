//===- Compiled.cpp - kernels compiled in the test's own process ----------===//

#include "Compiled.h"
#include "Warps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "tts/Conversion/TtsToKernels/Gemm.h"
#include "tts/Conversion/TtsToKernels/Passes.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "tts/Dialect/Tts/IR/TtsDialect.h"
#include "tts/Target/Cpu/Object.h"
#include "tts/Target/Cpu/Passes.h"
#include "tts/Target/Cuda/Passes.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace tts::test {

struct Compiled::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<Warps> warps;
  std::map<std::string, Kernel> kernels;
  std::map<std::string, std::vector<Memory>> operands;
};

static MLIRContext &context() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<TtsDialect, rt::RtDialect, func::FuncDialect,
                    LLVM::LLVMDialect, cf::ControlFlowDialect, scf::SCFDialect,
                    vector::VectorDialect, memref::MemRefDialect>();
    cpu::registerTranslations(registry);
    cuda::registerTranslations(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

static void addGemm(ModuleOp module, const Gemm &g) {
  Builder b(module.getContext());
  auto shape = rt::GemmAttr::get(
      module.getContext(), g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.transposeA,
      g.transposeB, g.beta, g.batch, g.strideA, g.strideB, g.strideC);
  auto typeOf = [&](const std::string &name) -> Type {
    return name == "f64"    ? Type(b.getF64Type())
           : name == "bf16" ? Type(b.getBF16Type())
           : name == "f16"  ? Type(b.getF16Type())
                            : Type(b.getF32Type());
  };
  emitGemmKernel(module, g.name, shape, typeOf(g.element),
                 typeOf(g.elementC.empty() ? g.element : g.elementC));
}

static std::vector<Memory> memoryOf(func::FuncOp kernel) {
  std::vector<Memory> memory;
  for (Type type : kernel.getArgumentTypes())
    if (auto memref = dyn_cast<MemRefType>(type))
      memory.push_back({memref.getNumElements(),
                        memref.getElementTypeBitWidth(),
                        isa<FloatType>(memref.getElementType())});
  return memory;
}

/// The same kernels as NVVM, out of a copy of the module.
static std::unique_ptr<Warps> compileWarps(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager passes(&context());
  cuda::buildKernelsToNvvmPipeline(passes);
  if (failed(passes.run(*copy)))
    return nullptr;
  return std::make_unique<Warps>(*copy->getOps<gpu::GPUModuleOp>().begin());
}

Compiled::Compiled(const std::string &text, const std::vector<Gemm> &gemms)
    : impl(std::make_unique<Impl>()) {
  auto module = parseSourceString<ModuleOp>(text, &context());
  if (!module) {
    ADD_FAILURE() << "does not parse:\n" << text;
    return;
  }
  for (const Gemm &gemm : gemms)
    addGemm(*module, gemm);
  PassManager toKernels(&context()), passes(&context());
  toKernels.addPass(createTtsToKernelsPass());
  if (failed(toKernels.run(*module)) ||
      !(impl->warps = compileWarps(*module))) {
    ADD_FAILURE() << "does not compile for a GPU:\n" << text;
    return;
  }
  for (auto kernel : module->getOps<func::FuncOp>())
    impl->operands[kernel.getName().str()] = memoryOf(kernel);
  cpu::buildKernelsToLLVMPipeline(passes);
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  if (failed(passes.run(*module)) || failed(cpu::emitObject(*module, out))) {
    ADD_FAILURE() << "does not compile:\n" << text;
    return;
  }
  impl->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(impl->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      StringRef(object.data(), object.size()), "kernels.o")));
  for (auto function : module->getOps<LLVM::LLVMFuncOp>())
    if (auto range = function->getAttrOfType<IntegerAttr>(rt::kRangeAttr)) {
      auto symbol = llvm::cantFail(impl->jit->lookup(function.getName()));
      std::string name = function.getName().str();
      impl->kernels[name] = {symbol.toPtr<TtsKernel>(),
                             (*impl->warps)[cuda::kSymbolPrefix.str() + name],
                             range.getInt()};
    }
}

Compiled::~Compiled() = default;

Kernel Compiled::operator[](const std::string &name) const {
  auto it = impl->kernels.find(name);
  if (it != impl->kernels.end())
    return it->second;
  ADD_FAILURE() << "no kernel " << name;
  return {};
}

const std::map<std::string, std::vector<Memory>> &Compiled::operands() const {
  return impl->operands;
}

std::string refusal(const std::string &text) {
  std::string message;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context());
  if (!module)
    return "does not parse: " + message;
  PassManager passes(&context());
  passes.addPass(createTtsToKernelsPass());
  return failed(passes.run(*module)) ? message : "accepted";
}

std::string fill(std::string text,
                 const std::map<std::string, std::string> &values) {
  for (const auto &[key, value] : values)
    for (size_t at; (at = text.find("$" + key)) != std::string::npos;)
      text.replace(at, key.size() + 1, value);
  return text;
}

void run(const Kernel &kernel, std::vector<Operand> operands) {
  ASSERT_NE(kernel.entry, nullptr);
  std::vector<void *> pointers;
  std::vector<std::vector<char>> before;
  for (const Operand &operand : operands) {
    auto *bytes = static_cast<char *>(operand.data);
    pointers.push_back(operand.data);
    before.emplace_back(bytes, bytes + operand.bytes);
  }
  auto restore = [&] {
    for (size_t i = 0; i < operands.size(); ++i)
      std::memcpy(operands[i].data, before[i].data(), before[i].size());
  };
  kernel.entry(pointers.data(), 0, kernel.range);
  std::vector<std::vector<char>> once;
  for (const Operand &operand : operands) {
    auto *bytes = static_cast<char *>(operand.data);
    once.emplace_back(bytes, bytes + operand.bytes);
  }
  auto expectSameBits = [&](const std::string &how) {
    for (size_t i = 0; i < operands.size(); ++i)
      ASSERT_EQ(std::memcmp(operands[i].data, once[i].data(), once[i].size()),
                0)
          << "operand " << i << " differs " << how;
  };
  for (int64_t cut :
       {int64_t(0), int64_t(1), kernel.range / 2, kernel.range - 1}) {
    restore();
    kernel.entry(pointers.data(), cut, kernel.range);
    kernel.entry(pointers.data(), 0, cut);
    kernel.entry(pointers.data(), kernel.range, kernel.range);
    expectSameBits("when the range is cut at " + std::to_string(cut));
  }
  for (auto [blocks, order] : {std::pair(1, LaneOrder::Ascending),
                               std::pair(2, LaneOrder::Descending)}) {
    restore();
    launch(kernel.lane, pointers.data(), 0, kernel.range, blocks, order);
    expectSameBits("by the warps of " + std::to_string(blocks) + " blocks");
  }
}

} // namespace tts::test
