// Whether ranks that run different tables make one update together.
#include "Alike.h"

#include <algorithm>

using namespace tts::check;

namespace {

class Pair {
public:
  Pair(const Table &first, const Table &other, size_t role, Report &report)
      : first(first), other(other), role(role), report(report) {}

  void checkManifests(const Json &here, const Json &there) {
    for (const char *key :
         {"batch", "batch_frames", "ranks", "groups", "threads", "precision",
          "state_sharding", "model_hash", "losses", "optimizer", "defaults",
          "features_hash"})
      if (member(here, key) != member(there, key))
        fail(std::string("has another ") + key + " than role 0");
    sameList(here, there, "parameters",
             {"name", "shape", "dtype", "frozen", "init"});
    sameList(here, there, "buckets", {"dims"});
  }

  void checkExchanges() {
    const std::vector<Exchange> here = findExchanges(first),
                                there = findExchanges(other);
    for (size_t i = 0; i < std::max(here.size(), there.size()); ++i)
      if (i >= here.size() || i >= there.size() || here[i] != there[i]) {
        fail("exchanges something else than role 0 from its exchange " +
             std::to_string(i) + " on");
        return;
      }
    for (const Exchange &each : there)
      if (each.kind != TTS_PROGRAM_UPDATE) {
        fail("exchanges within a micro-batch, of which ranks have different "
             "numbers");
        return;
      }
  }

private:
  /// A collective entry, but for where its bytes lie.
  struct Exchange {
    uint32_t kind = 0; ///< of its program
    std::string function;
    std::vector<int64_t> scalars;
    std::vector<std::pair<uint64_t, uint32_t>> operands; ///< size and dtype
    bool hasOwnRoom = false; ///< messages may go while others compute
    bool operator!=(const Exchange &o) const {
      return kind != o.kind || function != o.function || scalars != o.scalars ||
             operands != o.operands || hasOwnRoom != o.hasOwnRoom;
    }
  };

  const Table &first, &other;
  size_t role;
  Report &report;

  void fail(const std::string &what) {
    report.fail("role " + std::to_string(role), what);
  }

  void sameList(const Json &here, const Json &there, const char *list,
                const std::vector<const char *> &keys) {
    const Json &a = member(here, list), &b = member(there, list);
    if (!a.is_array() || !b.is_array() || a.size() != b.size()) {
      fail(std::string("has another number of ") + list + " than role 0");
      return;
    }
    for (size_t i = 0; i < a.size(); ++i)
      for (const char *key : keys)
        if (member(a[i], key) != member(b[i], key))
          fail(std::string(list) + "[" + std::to_string(i) + "]." + key +
               " is not that of role 0");
  }

  static std::vector<Exchange> findExchanges(const Table &table) {
    std::vector<Exchange> found;
    for (const TtsProgram &program : table.programs)
      for (uint32_t e = 0; e < program.num_entries; ++e) {
        const TtsEntry &entry = table.entries[program.first_entry + e];
        Exchange each;
        each.kind = program.kind;
        each.function = table.name(table.functions[entry.function].name);
        if (each.function != "rt.all_reduce" &&
            each.function != "rt.reduce_scatter" &&
            each.function != "rt.all_gather")
          continue;
        const int64_t *scalars = table.scalars.data() + entry.first_scalar;
        each.scalars.assign(scalars, scalars + entry.num_scalars);
        for (uint32_t i = 0; i < entry.num_operands; ++i) {
          const TtsOperand &operand = table.operands[entry.first_operand + i];
          each.operands.push_back({operand.size, operand.dtype});
          each.hasOwnRoom = isPersistent(table.buffers[operand.buffer]);
        }
        found.push_back(std::move(each));
      }
    return found;
  }
};

} // namespace

void tts::check::checkAlike(const Table &first, const Manifest &firstManifest,
                            const Table &other, const Manifest &otherManifest,
                            size_t role, Report &report) {
  Pair pair(first, other, role, report);
  pair.checkManifests(firstManifest.json, otherManifest.json);
  pair.checkExchanges();
}
