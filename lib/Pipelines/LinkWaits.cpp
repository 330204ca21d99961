//===- LinkWaits.cpp - how long entries wait for other ranks -------------===//
//
// The same rule as the runtime's (lib/Runtime/Device/Cpu/Messenger.h), with
// clocks for a processor and a link.
//
//===----------------------------------------------------------------------===//

#include "tts/Pipelines/LinkWaits.h"

#include "tts-runtime/Format.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace tts;

bool tts::isExchange(rt::EntryOp entry) {
  StringRef function = entry.getFunction();
  return function == "rt.all_reduce" || function == "rt.reduce_scatter" ||
         function == "rt.all_gather";
}

namespace {

/// A gather or scatter of shards, out of its entry.
struct Exchanged {
  int64_t bytes = 0, ranks = 1;
  bool isAhead = false;

  explicit Exchanged(rt::EntryOp entry) {
    bool isGather = entry.getFunction() == "rt.all_gather";
    ArrayRef<int64_t> scalars = entry.getScalars();
    auto accesses = entry.getOperands().getAsRange<rt::AccessAttr>();
    SmallVector<rt::AccessAttr> arrays(accesses.begin(), accesses.end());
    arrays.pop_back(); // the room
    size_t count = isGather || scalars[1] ? arrays.size() / 2 : arrays.size();
    for (rt::AccessAttr array :
         ArrayRef(arrays).slice(isGather ? count : 0, count))
      bytes += array.getSize();
    ranks = scalars[0];
    isAhead = scalars.size() > (isGather ? 1 : 2);
  }
};

bool clash(rt::AccessAttr a, rt::AccessAttr b) {
  return ((a.getMode() | b.getMode()) & TTS_WRITE) &&
         a.getOffset() < b.getOffset() + b.getSize() &&
         b.getOffset() < a.getOffset() + a.getSize();
}

class Clocks {
public:
  explicit Clocks(const plan::Hardware &hardware) : hardware(hardware) {}

  /// On the link after all before; on the processor, too, if nothing is to run
  /// beside it.
  void exchange(rt::EntryOp entry) {
    Exchanged what(entry);
    link = std::max(link, now) +
           hardware.allReduceSeconds(what.bytes, what.ranks) / 2;
    if (what.isAhead)
      begun.push_back({entry, link});
    else
      wait(link);
  }

  void compute(rt::EntryOp entry, double seconds) {
    for (size_t i = begun.size(); i-- > 0;)
      if (clash(entry, begun[i].entry)) {
        wait(begun[i].end);
        begun.erase(begun.begin(), begun.begin() + i + 1);
        break;
      }
    now += seconds;
  }

  double finish() {
    wait(link);
    return waited;
  }

private:
  struct Begun {
    rt::EntryOp entry;
    double end;
  };

  static bool clash(rt::EntryOp a, rt::EntryOp b) {
    for (auto one : a.getOperands().getAsRange<rt::AccessAttr>())
      for (auto other : b.getOperands().getAsRange<rt::AccessAttr>())
        if (::clash(one, other))
          return true;
    return false;
  }

  void wait(double until) {
    waited += std::max(0.0, until - now);
    now = std::max(now, until);
  }

  const plan::Hardware &hardware;
  SmallVector<Begun> begun; ///< and not yet waited for
  double now = 0, link = 0, waited = 0;
};

} // namespace

double tts::countLinkWaits(rt::ProgramOp program,
                           const llvm::DenseMap<Operation *, double> &seconds,
                           const plan::Hardware &hardware) {
  Clocks clocks(hardware);
  for (auto entry : program.getBody().getOps<rt::EntryOp>()) {
    StringRef function = entry.getFunction();
    if (function == "rt.reduce_scatter" || function == "rt.all_gather")
      clocks.exchange(entry);
    else
      clocks.compute(entry, seconds.lookup(entry));
  }
  return clocks.finish();
}
