//===- Schedule.cpp - the order of a program's entries --------------------===//

#include "Schedule.h"
#include "tts/Dialect/Rt/IR/RtDialect.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;
using namespace tts;
using namespace tts::memory;

namespace {
class Scheduler {
public:
  explicit Scheduler(Program &program) : program(program) {}

  LogicalResult run() {
    for (Operation &op : program.func.getBody().front())
      if (isEntry(&op)) {
        index[&op] = ops.size();
        ops.push_back(&op);
      }
    successors.resize(ops.size());
    waiting.assign(ops.size(), 0);
    for (Operation *op : ops)
      addEdges(op);
    countTouches();
    growth.resize(ops.size());
    for (unsigned i = 0; i < ops.size(); ++i)
      if (waiting[i] == 0)
        makeReady(i);
    while (!ready.empty() || !receives.empty()) {
      unsigned next = choose();
      ready.erase(next);
      receives.erase(next);
      byGrowth.erase({growth[next], next});
      retire(next);
      for (unsigned successor : successors[next])
        if (--waiting[successor] == 0)
          makeReady(successor);
    }
    if (program.entries.size() != ops.size())
      return program.func.emitError(
          "entries overwrite values that others still read, in a circle");
    return success();
  }

private:
  /// The entry that makes `value`, seen through views; null for arguments and
  /// fresh storage.
  Operation *getProducer(Value value) {
    Operation *op = value.getDefiningOp();
    while (op && isView(op))
      op = op->getOperand(0).getDefiningOp();
    return op && isEntry(op) ? op : nullptr;
  }

  void addEdge(Operation *before, Operation *after) {
    if (before == after)
      return;
    successors[index[before]].push_back(index[after]);
    ++waiting[index[after]];
  }

  /// `op` reads `value` through views that say what must have run before.
  void addWaits(Value value, Operation *op) {
    for (Operation *view = value.getDefiningOp(); view && isView(view);
         view = view->getOperand(0).getDefiningOp())
      if (auto alias = dyn_cast<rt::AliasOp>(view); alias && alias.getAfter())
        if (Operation *producer = getProducer(alias.getAfter()))
          addEdge(producer, op);
  }

  /// Entries that read `value` itself or through a view.
  void collectReaders(Value value, llvm::SetVector<Operation *> &readers) {
    for (Operation *user : value.getUsers()) {
      if (isEntry(user))
        readers.insert(user);
      else if (isView(user) && user->getOperand(0) == value)
        collectReaders(user->getResult(0), readers);
    }
  }

  void addEdges(Operation *op) {
    for (Value operand : op->getOperands()) {
      if (Operation *producer = getProducer(operand))
        addEdge(producer, op);
      addWaits(operand, op);
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (Value overwritten = getOverwritten(op, i))
        addReaders(overwritten, op);
    for (Value overwritten : program.overwrites.lookup(op))
      addReaders(overwritten, op);
  }

  /// All that read a value run before `op`, which overwrites it.
  void addReaders(Value overwritten, Operation *op) {
    // Views and their base are one value here.
    Value base = overwritten;
    while (base.getDefiningOp() && isView(base.getDefiningOp()))
      base = base.getDefiningOp()->getOperand(0);
    llvm::SetVector<Operation *> readers;
    collectReaders(base, readers);
    for (Operation *reader : readers)
      addEdge(reader, op);
  }

  /// Storages an entry touches, each once, with those it makes.
  void countTouches() {
    touched.resize(ops.size());
    for (auto [i, op] : llvm::enumerate(ops)) {
      auto touch = [&](Value value) {
        Storage *storage = program.places.lookup(value).storage;
        if (!storage->isPersistent() &&
            !llvm::is_contained(touched[i], storage))
          touched[i].push_back(storage);
      };
      llvm::for_each(op->getOperands(), touch);
      llvm::for_each(op->getResults(), touch);
      for (Storage *storage : touched[i]) {
        ++remaining[storage];
        touching[storage].push_back(i);
      }
    }
    Operation *terminator = program.func.getBody().front().getTerminator();
    for (Value result : terminator->getOperands())
      ++remaining[program.places.lookup(result).storage]; // never dies here
    for (Value argument : program.func.getArguments())
      live.insert(program.places.lookup(argument).storage);
  }

  int64_t getGrowth(unsigned i) {
    int64_t bytes = 0;
    for (Storage *storage : touched[i]) {
      if (!live.contains(storage))
        bytes += storage->size;
      if (remaining[storage] == 1)
        bytes -= storage->size;
    }
    return bytes;
  }

  void makeReady(unsigned i) {
    growth[i] = getGrowth(i);
    if (isa<rt::ReceiveOp>(ops[i])) {
      receives.insert(i);
      return;
    }
    ready.insert(i);
    byGrowth.insert({growth[i], i});
  }

  /// What shrinks the live bytes most, or at least does not raise them; else
  /// the first in the program's order. What waits for another stage waits until
  /// there is nothing else to do: the other may wait for that.
  unsigned choose() {
    if (ready.empty())
      return *receives.begin();
    auto [least, best] = *byGrowth.begin();
    return least <= 0 ? best : *ready.begin();
  }

  void retire(unsigned i) {
    program.entries.push_back(ops[i]);
    for (Storage *storage : touched[i]) {
      bool wasLive = !live.insert(storage).second;
      unsigned left = --remaining[storage];
      // Otherwise nothing changes for those that wait.
      if (!wasLive || left == 1)
        for (unsigned other : touching[storage])
          update(other);
    }
  }

  void update(unsigned i) {
    if (!ready.count(i))
      return;
    byGrowth.erase({growth[i], i});
    growth[i] = getGrowth(i);
    byGrowth.insert({growth[i], i});
  }

  Program &program;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> index;
  SmallVector<SmallVector<unsigned>> successors;
  SmallVector<unsigned> waiting;
  SmallVector<SmallVector<Storage *>> touched;
  llvm::DenseMap<Storage *, SmallVector<unsigned>> touching;
  llvm::DenseMap<Storage *, unsigned> remaining;
  /// Entries whose predecessors have run, by position and by bytes added.
  std::set<unsigned> ready, receives;
  std::set<std::pair<int64_t, unsigned>> byGrowth;
  SmallVector<int64_t> growth;
  llvm::SmallPtrSet<Storage *, 32> live;
};
} // namespace

LogicalResult memory::schedule(Program &program) {
  return Scheduler(program).run();
}
