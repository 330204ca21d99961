//===- Warps.cpp - GPU kernels run on this CPU, lane by lane --------------===//

#include "Warps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "tts/Target/Cuda/Passes.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include <array>
#include <gtest/gtest.h>
#include <ucontext.h>
#include <vector>

using namespace llvm::orc;

namespace tts::test {

//===-- a warp ------------------------------------------------------------===//

namespace {
constexpr int kLanes = cuda::kWarpLanes;

/// What a lane waits for.
enum class Meeting { None, Barrier, ShuffleDown, ShuffleIndex, Done };

struct Lane {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(256 << 10);
  Meeting at = Meeting::None;
  uint32_t value = 0;
  int32_t distance = 0;
};

struct Warp {
  std::array<Lane, kLanes> lanes;
  ucontext_t scheduler;
  int current = 0;
  int32_t block = 0, blocks = 0, warpInBlock = 0;
  TtsKernel kernel = nullptr;
  void *const *operands = nullptr;
  int64_t lo = 0, hi = 0;
} warp;
} // namespace

static Lane &self() { return warp.lanes[warp.current]; }

static void meet(Meeting meeting) {
  self().at = meeting;
  swapcontext(&self().context, &warp.scheduler);
}

static void laneMain() {
  warp.kernel(const_cast<void **>(warp.operands), warp.lo, warp.hi);
  meet(Meeting::Done);
}

static void startLanes() {
  for (Lane &lane : warp.lanes) {
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.data();
    lane.context.uc_stack.ss_size = lane.stack.size();
    lane.context.uc_link = nullptr;
    makecontext(&lane.context, laneMain, 0);
    lane.at = Meeting::None;
  }
}

/// Every lane up to where it next waits; whether any is left. All must wait for
/// the same.
static bool runToMeeting(LaneOrder order) {
  for (int i = 0; i < kLanes; ++i) {
    warp.current = order == LaneOrder::Ascending ? i : kLanes - 1 - i;
    swapcontext(&warp.scheduler, &self().context);
  }
  Meeting meeting = warp.lanes[0].at;
  for (int i = 1; i < kLanes; ++i)
    if (warp.lanes[i].at != meeting) {
      ADD_FAILURE() << "lane " << i << " waits elsewhere than lane 0";
      return false;
    }
  return meeting != Meeting::Done;
}

/// The values of a shuffle, as PTX says: a lane beyond the last gives back the
/// reader's own.
static void exchange() {
  std::array<uint32_t, kLanes> values;
  for (int i = 0; i < kLanes; ++i)
    values[i] = warp.lanes[i].value;
  for (int i = 0; i < kLanes; ++i) {
    Lane &lane = warp.lanes[i];
    int from = lane.at == Meeting::ShuffleIndex ? lane.distance % kLanes
                                                : i + lane.distance;
    lane.value = values[from < kLanes ? from : i];
  }
}

void launch(TtsKernel kernel, void *const *operands, int64_t lo, int64_t hi,
            int32_t blocks, LaneOrder order) {
  warp.kernel = kernel;
  warp.operands = operands;
  warp.lo = lo;
  warp.hi = hi;
  warp.blocks = blocks;
  for (warp.block = 0; warp.block < blocks; ++warp.block)
    for (warp.warpInBlock = 0; warp.warpInBlock < cuda::kBlockWarps;
         ++warp.warpInBlock) {
      startLanes();
      while (runToMeeting(order))
        if (warp.lanes[0].at != Meeting::Barrier)
          exchange();
    }
}

//===-- intrinsics --------------------------------------------------------===//

static uint32_t shuffle(Meeting meeting, int32_t mask, uint32_t value,
                        int32_t distance, int32_t clamp) {
  EXPECT_EQ(mask, -1) << "lanes are left out of a shuffle";
  EXPECT_EQ(clamp, kLanes - 1);
  self().value = value;
  self().distance = distance;
  meet(meeting);
  return self().value;
}

static int32_t shuffleDown(int32_t mask, uint32_t value, int32_t distance,
                           int32_t clamp) {
  return shuffle(Meeting::ShuffleDown, mask, value, distance, clamp);
}
static int32_t shuffleIndex(int32_t mask, uint32_t value, int32_t distance,
                            int32_t clamp) {
  return shuffle(Meeting::ShuffleIndex, mask, value, distance, clamp);
}
static void barrier(int32_t mask) {
  EXPECT_EQ(mask, -1) << "lanes are left out of a barrier";
  meet(Meeting::Barrier);
}
static int32_t threadId() { return warp.warpInBlock * kLanes + warp.current; }
static int32_t blockId() { return warp.block; }
static int32_t gridSize() { return warp.blocks; }

/// All that the kernels may use.
static const std::map<std::string, void *> &intrinsics() {
  auto address = [](auto *function) {
    return reinterpret_cast<void *>(function);
  };
  static const std::map<std::string, void *> map = {
      {"llvm.nvvm.shfl.sync.down.i32", address(shuffleDown)},
      {"llvm.nvvm.shfl.sync.idx.i32", address(shuffleIndex)},
      {"llvm.nvvm.bar.warp.sync", address(barrier)},
      {"llvm.nvvm.read.ptx.sreg.tid.x", address(threadId)},
      {"llvm.nvvm.read.ptx.sreg.ctaid.x", address(blockId)},
      {"llvm.nvvm.read.ptx.sreg.nctaid.x", address(gridSize)},
  };
  return map;
}

//===-- compilation -------------------------------------------------------===//

/// A shuffle of f32 as one of its bits.
static void lowerFloatShuffle(llvm::Function &declared) {
  std::string name = declared.getName().drop_back(3).str() + "i32";
  llvm::LLVMContext &context = declared.getContext();
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  llvm::FunctionCallee integers =
      declared.getParent()->getOrInsertFunction(name, i32, i32, i32, i32, i32);
  for (llvm::User *user : llvm::make_early_inc_range(declared.users())) {
    auto *call = llvm::cast<llvm::CallInst>(user);
    llvm::IRBuilder<> b(call);
    llvm::Value *bits = b.CreateBitCast(call->getArgOperand(1), i32);
    llvm::Value *got = b.CreateCall(integers, {call->getArgOperand(0), bits,
                                               call->getArgOperand(2),
                                               call->getArgOperand(3)});
    call->replaceAllUsesWith(b.CreateBitCast(got, call->getType()));
    call->eraseFromParent();
  }
}

/// Declarations of NVVM and of libdevice under names that are no intrinsics.
static void renameDeclarations(llvm::Module &module) {
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (function.getName().starts_with("llvm.nvvm.shfl") &&
        function.getName().ends_with(".f32"))
      lowerFloatShuffle(function);
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    std::string name = function.getName().str();
    if (llvm::StringRef(name).starts_with("llvm.nvvm."))
      name = "warp." + name;
    else if (llvm::StringRef(name).starts_with("__nv_"))
      name = name.substr(5);
    else
      continue;
    auto *plain =
        llvm::Function::Create(function.getFunctionType(),
                               llvm::Function::ExternalLinkage, name, module);
    function.replaceAllUsesWith(plain);
    function.eraseFromParent();
  }
}

/// `@name.entry(operands, lo, hi)`, which loads the pointers.
static void addEntry(llvm::Function &kernel) {
  kernel.setCallingConv(llvm::CallingConv::C);
  llvm::LLVMContext &context = kernel.getContext();
  llvm::IRBuilder<> b(context);
  auto *type = llvm::FunctionType::get(
      b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
  auto *entry =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                             kernel.getName() + ".entry", kernel.getParent());
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0; i + 2 < kernel.arg_size(); ++i)
    arguments.push_back(b.CreateLoad(
        b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), entry->getArg(0), i)));
  arguments.append({entry->getArg(1), entry->getArg(2)});
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

struct Warps::Impl {
  std::unique_ptr<LLJIT> jit;
};

/// Stores the bits of a half as they are: x86 code would carry a bf16 from one
/// block to the next as an f32 and round it once more, denormals to zero.
static void storeBits(llvm::Module &module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::InstCombinePass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

Warps::Warps(mlir::gpu::GPUModuleOp module) : impl(std::make_unique<Impl>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  auto translated = mlir::translateModuleToLLVMIR(module, *context);
  if (!translated) {
    ADD_FAILURE() << "the kernels do not translate to LLVM IR";
    return;
  }
  storeBits(*translated);
  renameDeclarations(*translated);
  std::vector<llvm::Function *> kernels;
  for (llvm::Function &function : *translated)
    if (!function.isDeclaration())
      kernels.push_back(&function);
  for (llvm::Function *kernel : kernels)
    addEntry(*kernel);

  impl->jit = llvm::cantFail(LLJITBuilder().create());
  translated->setDataLayout(impl->jit->getDataLayout());
  translated->setTargetTriple(impl->jit->getTargetTriple());
  SymbolMap symbols;
  for (const auto &[name, address] : intrinsics())
    symbols[impl->jit->mangleAndIntern("warp." + name)] = {
        ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  JITDylib &library = impl->jit->getMainJITDylib();
  llvm::cantFail(library.define(absoluteSymbols(symbols)));
  library.addGenerator(
      llvm::cantFail(DynamicLibrarySearchGenerator::GetForCurrentProcess(
          impl->jit->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(impl->jit->addIRModule(
      ThreadSafeModule(std::move(translated), std::move(context))));
}

Warps::~Warps() = default;

TtsKernel Warps::operator[](const std::string &name) const {
  return llvm::cantFail(impl->jit->lookup(name + ".entry")).toPtr<TtsKernel>();
}

} // namespace tts::test
