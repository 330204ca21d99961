//===- SmallTable.h - a table and its certificate, made by hand -*- C++ -*-===//
//
// One parameter, one loss, two buckets, every program: small enough that its
// figures were added up on paper. Tests change its records and look what
// happens.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_TEST_UNIT_CHECK_SMALLTABLE_H
#define TTS_TEST_UNIT_CHECK_SMALLTABLE_H

#include "Check.h"
#include "tts-runtime/Format.h"

#include <map>
#include <nlohmann/json.hpp>

struct SmallTable {
  /// With `updateInBackward` one bucket, and neither zero nor update. As a
  /// pipeline's first stage of two, two slots: forward sends its stash,
  /// backward receives "incoming", update sums "squares" over the stages.
  explicit SmallTable(bool updateInBackward = false, bool isStage = false);

  uint64_t arenaBytes = 2304;
  std::vector<TtsFunction> functions;
  std::vector<TtsProgram> programs;
  std::vector<TtsEntry> entries;
  std::vector<TtsOperand> operands;
  std::vector<int64_t> scalars;
  std::vector<TtsBuffer> buffers;
  std::string strings{'\0'};
  nlohmann::json manifest, certificate;

  tts::check::Bytes blob() const;
  /// What the checker says about it, hash and all.
  tts::check::Report check() const;

  uint32_t buffer(const std::string &name) const;
  uint32_t program(const std::string &name, uint32_t bucket) const;
  /// A program that speaks, for each bucket: w and its own input `text`, which
  /// lies where the corpus's `x` does, make `speech`.
  void addInfer();
  /// A program that speaks, for each bucket: half of w is gathered into
  /// "whole" while an entry makes "hidden" of the batch; both make "speech".
  void addPrefetch();
  /// Running statistics "mean": each forward finds "next:mean", update adopts
  /// it.
  void addState();
  /// Two groups of micro-batches: fold.0 puts the gradient aside as
  /// "w.partial", fold.1 adds it.
  void addFolds();
  void removeOperand(uint32_t index);
  struct Use {
    uint32_t buffer;
    uint32_t access;
    uint64_t size = 0; ///< from its start; 0 is all of it
  };
  /// As the last operand of an entry.
  void addOperand(uint32_t program, uint32_t entry, Use use);
  /// Out of the table and of the certificate; its accesses stay.
  void removeBuffer(uint32_t index);
  /// Every "rt.gemm" becomes an "rt.conv1d" over the same bytes.
  void makeConvolutions();
  /// "norm" becomes an "rt.all_reduce" of the gradient, with the EMA as its
  /// room; gives the entry.
  TtsEntry &makeAllReduce();
  /// Likewise a call on shards over two ranks.
  TtsEntry &makeShardCall(const std::string &function,
                          const std::vector<int64_t> &numbers);
  /// The certificate's list of buffers as the records say.
  void listBuffers();

private:
  uint32_t text(const std::string &name);
  void addPersistent();
  void addPrograms();
  void addBucket(uint32_t bucket);
  void addForward(uint32_t bucket, uint32_t slot);
  void addBackward(uint32_t bucket, uint32_t slot);
  void tellStage();
  void addUpdatingBackward();
  void addUpdate();
  void addManifest();
  void tellUpdateInBackward();
  uint32_t beginProgram(const std::string &name, uint32_t kind, uint32_t bucket,
                        uint32_t slot = 0);
  void addEntry(const std::string &function, const std::vector<Use> &uses,
                const std::vector<int64_t> &numbers = {});
  uint32_t addTransient(const std::string &name, uint32_t klass,
                        uint64_t offset, uint64_t size);
  std::map<std::string, uint32_t> functionIndex;
  uint32_t numBuckets, numSlots;
};

/// Every line of a report.
inline std::string all(const tts::check::Report &report) {
  std::string text;
  for (const std::string &line : report.errors())
    text += line + "\n";
  return text;
}

/// The checker refuses a table and says so in these words, among others.
#define EXPECT_FOUND(table, words)                                             \
  do {                                                                         \
    const tts::check::Report report = (table).check();                         \
    EXPECT_FALSE(report.ok());                                                 \
    EXPECT_NE(all(report).find(words), std::string::npos) << all(report);      \
  } while (false)

#endif // TTS_TEST_UNIT_CHECK_SMALLTABLE_H
