//===- Check.h - re-proves a certificate from an executable -----*- C++ -*-===//
//
// What is proven is written in docs/certificate.md; the code here is made from
// that page and Format.h, never from the planner's.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_CHECK_H
#define TTS_LIB_CHECK_CHECK_H

#include "Report.h"

#include <cstdint>
#include <vector>

namespace tts::check {

using Bytes = std::vector<uint8_t>;

/// What was proven, for the line that says so.
struct Summary {
  uint64_t peakBytes = 0, arenaBytes = 0, lowerBoundBytes = 0;
  size_t buffers = 0, accesses = 0;
};

/// Checks a table blob against a certificate's text. `executableHash` is the
/// SHA-256 of the executable that the blob came from.
Summary checkTable(const Bytes &blob, const std::string &certificate,
                   const std::string &executableHash, Report &report);

/// Reads both files and checks them.
Summary checkFiles(const std::string &certificatePath,
                   const std::string &executablePath, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_CHECK_H
