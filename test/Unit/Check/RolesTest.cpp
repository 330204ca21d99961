// Several tables in one section: each rank has one of them, and devices of
// other budgets train one model; each fault planted is found.
#include "Roles.h"
#include "Alike.h"
#include "SmallTable.h"

#include <functional>
#include <gtest/gtest.h>

using namespace tts::check;

namespace {

/// Role 1 of two has ranks 0 and 2, role 0 has rank 1.
struct Roles {
  SmallTable tables[2];
  nlohmann::json certificate;

  Roles() {
    certificate["ranks"] = 3;
    for (int role : {0, 1}) {
      tables[role].makeAllReduce();
      tables[role].manifest["ranks"] = 3;
      tables[role].manifest["role"] = role;
      tables[role].manifest["role_of_rank"] = {1, 0, 1};
    }
    certificate["roles"] = {{{"ranks", {1}}}, {{"ranks", {0, 2}}}};
  }

  Bytes section() const {
    Bytes bytes;
    for (const SmallTable &table : tables) {
      const Bytes blob = table.blob();
      bytes.resize((bytes.size() + 63) / 64 * 64);
      bytes.insert(bytes.end(), blob.begin(), blob.end());
    }
    return bytes;
  }

  /// What is wrong with the roles, or "".
  std::string faults() const {
    Report report;
    std::vector<Bytes> blobs;
    if (splitTables(section(), report, blobs))
      checkRoles(blobs, certificate, report);
    return all(report);
  }

  /// What the two do not have in common, or "".
  std::string differences() const {
    Report report;
    Table read[2];
    Manifest manifests[2];
    for (int role : {0, 1})
      if (!readTable(tables[role].blob(), report, read[role]) ||
          !readManifest(read[role], report, manifests[role]))
        return "unreadable: " + all(report);
    checkAlike(read[0], manifests[0], read[1], manifests[1], 1, report);
    return all(report);
  }
};

#define EXPECT_SAID(text, words)                                               \
  do {                                                                         \
    const std::string said = (text);                                           \
    EXPECT_NE(said.find(words), std::string::npos) << said;                    \
  } while (false)

TEST(Roles, SoundOnesHold) {
  EXPECT_EQ(Roles().faults(), "");
  EXPECT_EQ(Roles().differences(), "");
}

TEST(Roles, EveryTableIsFound) {
  Roles roles;
  Report report;
  std::vector<Bytes> blobs;
  ASSERT_TRUE(splitTables(roles.section(), report, blobs)) << all(report);
  ASSERT_EQ(blobs.size(), 2u);
  EXPECT_EQ(blobs[0], roles.tables[0].blob());
  EXPECT_EQ(blobs[1], roles.tables[1].blob());
  // Something between two tables.
  Bytes section = roles.section();
  const size_t end = roles.tables[0].blob().size();
  if (end % 64 != 0) {
    section[end] = 1;
    blobs.clear();
    EXPECT_FALSE(splitTables(section, report, blobs));
    EXPECT_SAID(all(report), "something stands behind a table");
  }
}

TEST(Roles, EveryRankHasOne) {
  auto faultsOf = [](const std::function<void(Roles &)> &change) {
    Roles roles;
    change(roles);
    return roles.faults();
  };
  EXPECT_SAID(faultsOf([](Roles &r) { r.certificate["roles"].erase(1); }),
              "roles has 1 parts, the executable 2 step tables");
  EXPECT_SAID(faultsOf([](Roles &r) {
                r.certificate["roles"].push_back({{"ranks", {2}}});
              }),
              "roles has 3 parts");
  EXPECT_SAID(faultsOf([](Roles &r) { r.certificate.erase("roles"); }),
              "roles has 0 parts");
  EXPECT_SAID(
      faultsOf([](Roles &r) { r.certificate["roles"][1]["ranks"] = {0}; }),
      "rank 2 has no role");
  EXPECT_SAID(faultsOf([](Roles &r) {
                r.certificate["roles"][0]["ranks"] = {1, 2};
              }),
              "has a rank that is");
  EXPECT_SAID(
      faultsOf([](Roles &r) { r.certificate["roles"][0]["ranks"] = {3}; }),
      "has a rank that is");
  EXPECT_SAID(faultsOf([](Roles &r) {
                r.certificate["roles"][0]["ranks"] = {0};
                r.certificate["roles"][1]["ranks"] = {1, 2};
              }),
              "roles[0].ranks are not those of its step table");
  EXPECT_SAID(faultsOf([](Roles &r) {
                r.tables[1].manifest["role_of_rank"] = {0, 0};
              }),
              "roles[1].ranks are not those of its step table");
  EXPECT_SAID(faultsOf([](Roles &r) { r.tables[1].manifest["role"] = 0; }),
              "roles[1].ranks are not those of its step table");
}

TEST(Roles, OthersTrainTheSameModel) {
  auto differencesOf = [](const std::function<void(SmallTable &)> &change) {
    Roles roles;
    change(roles.tables[1]);
    return roles.differences();
  };
  auto ofManifest = [&](const char *key, nlohmann::json value) {
    return differencesOf(
        [&](SmallTable &table) { table.manifest[key] = value; });
  };
  EXPECT_SAID(ofManifest("batch", 1234), "role 1: has another batch");
  EXPECT_SAID(ofManifest("precision", "bf16"), "has another precision");
  EXPECT_SAID(ofManifest("threads", 99), "has another threads");
  EXPECT_SAID(ofManifest("model_hash", "00"), "has another model_hash");
  EXPECT_SAID(differencesOf([](SmallTable &table) {
                table.manifest["parameters"][0]["name"] = "v";
              }),
              "parameters[0].name is not that of role 0");
  EXPECT_SAID(differencesOf([](SmallTable &table) {
                table.manifest["buckets"][1]["dims"]["frames"] = 7777;
              }),
              "buckets[1].dims is not that of role 0");
  // Micro-batches and offsets are each role's own.
  EXPECT_EQ(differencesOf([](SmallTable &table) {
              table.manifest["budget_bytes"] = 1 << 30;
            }),
            "");
}

TEST(Roles, OthersExchangeTheSame) {
  auto differencesOf = [](auto change) {
    Roles roles;
    change(roles.tables[1]);
    return roles.differences();
  };
  auto sum = [](SmallTable &table) -> TtsEntry & {
    for (TtsEntry &entry : table.entries)
      if (table.strings.c_str() + table.functions[entry.function].name ==
          std::string("rt.all_reduce"))
        return entry;
    throw std::logic_error("nothing is summed");
  };
  const char *words = "exchanges something else than role 0 from its exchange";
  EXPECT_SAID(differencesOf([&](SmallTable &table) {
                table.operands[sum(table).first_operand].size -= 4;
              }),
              words);
  EXPECT_SAID(differencesOf([&](SmallTable &table) {
                table.operands[sum(table).first_operand].dtype = TTS_F64;
              }),
              words);
  EXPECT_SAID(differencesOf([&](SmallTable &table) {
                table.operands[sum(table).first_operand + 1].size -= 4;
              }),
              words);
  EXPECT_SAID(differencesOf([&](SmallTable &table) {
                table.scalars.push_back(2);
                sum(table).first_scalar = uint32_t(table.scalars.size() - 1);
                sum(table).num_scalars = 1;
              }),
              words);
  // Both, but within a micro-batch.
  Roles within;
  for (SmallTable &table : within.tables)
    table.entries[table.programs[table.program("forward", 0)].first_entry]
        .function = sum(table).function;
  EXPECT_SAID(within.differences(), "exchanges within a micro-batch");
}

} // namespace
