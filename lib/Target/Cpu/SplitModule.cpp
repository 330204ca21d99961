//===- SplitModule.cpp - parts of a module to compile side by side --------===//

#include "SplitModule.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tts::cpu {

/// Ops below which another part costs more than it saves, and the most parts.
static constexpr size_t kOpsPerPart = 3000, kMaxParts = 16;

namespace {

/// Definitions that belong together.
struct Cluster {
  SmallVector<Operation *> members; ///< in the module's order
  size_t work = 0;
};

class Splitter {
public:
  explicit Splitter(ModuleOp module) : module(module), symbols(module) {}

  std::vector<OwningOpRef<ModuleOp>> run();

private:
  std::vector<Cluster> findClusters();
  void declareMissing(ModuleOp part);

  ModuleOp module;
  SymbolTable symbols;
};

/// Calls `visit` with each symbol that `op` calls or takes the address of.
void forEachReference(Operation *op,
                      llvm::function_ref<void(StringRef)> visit) {
  op->walk([&](Operation *inner) {
    if (auto call = dyn_cast<LLVM::CallOp>(inner)) {
      if (call.getCallee())
        visit(*call.getCallee());
    } else if (auto address = dyn_cast<LLVM::AddressOfOp>(inner)) {
      visit(address.getGlobalName());
    }
  });
}

bool isDeclaration(Operation *op) {
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  return function && function.isExternal();
}

std::vector<Cluster> Splitter::findClusters() {
  llvm::EquivalenceClasses<Operation *> together;
  for (Operation &op : *module.getBody()) {
    together.insert(&op);
    // A table of addresses is served by declarations.
    if (!isa<LLVM::LLVMFuncOp>(op))
      continue;
    forEachReference(&op, [&](StringRef name) {
      Operation *target = symbols.lookup(name);
      if (target && !isDeclaration(target))
        together.unionSets(&op, target);
    });
  }
  llvm::MapVector<Operation *, Cluster> clusters;
  for (Operation &op : *module.getBody()) {
    if (isDeclaration(&op))
      continue;
    Cluster &cluster = clusters[together.getLeaderValue(&op)];
    cluster.members.push_back(&op);
    op.walk([&](Operation *) { ++cluster.work; });
  }
  std::vector<Cluster> sorted;
  for (auto &cluster : clusters)
    sorted.push_back(std::move(cluster.second));
  return sorted;
}

/// Declares what a part refers to and does not hold.
void Splitter::declareMissing(ModuleOp part) {
  SymbolTable own(part);
  SmallVector<Operation *> missing;
  for (Operation &op : *part.getBody())
    forEachReference(&op, [&](StringRef name) {
      Operation *target = own.lookup(name) ? nullptr : symbols.lookup(name);
      if (target && !llvm::is_contained(missing, target))
        missing.push_back(target);
    });
  for (Operation *target : missing) {
    Operation *declared = target->cloneWithoutRegions();
    if (auto global = dyn_cast<LLVM::GlobalOp>(declared)) {
      global.removeValueAttr();
      global.removeSectionAttr();
    }
    own.insert(declared);
  }
}

std::vector<OwningOpRef<ModuleOp>> Splitter::run() {
  std::vector<Cluster> clusters = findClusters();
  size_t work = 0;
  for (const Cluster &cluster : clusters)
    work += cluster.work;
  std::vector<size_t> loads(
      std::clamp<size_t>(work / kOpsPerPart, 1, kMaxParts));
  std::vector<OwningOpRef<ModuleOp>> parts;
  for (size_t i = 0; i < loads.size(); ++i) {
    parts.push_back(ModuleOp::create(module.getLoc()));
    (*parts.back())->setAttrs(module->getAttrDictionary());
  }
  // The largest first, each to the part that has least.
  llvm::stable_sort(clusters, [](const Cluster &a, const Cluster &b) {
    return a.work > b.work;
  });
  // Symbols are looked up in the module, so nothing leaves it before its
  // references are known.
  std::vector<SmallVector<Operation *>> members(parts.size());
  for (Cluster &cluster : clusters) {
    size_t least = std::min_element(loads.begin(), loads.end()) - loads.begin();
    loads[least] += cluster.work;
    members[least].append(cluster.members);
  }
  for (auto [part, ops] : llvm::zip_equal(parts, members))
    for (Operation *op : ops)
      op->moveBefore(part->getBody(), part->getBody()->end());
  for (OwningOpRef<ModuleOp> &part : parts)
    declareMissing(*part);
  return parts;
}

} // namespace

std::vector<OwningOpRef<ModuleOp>> splitModule(OwningOpRef<ModuleOp> module) {
  return Splitter(*module).run();
}

} // namespace tts::cpu
