//===- Options.h - the flags of a compiled `train` -----------------------===//
//
// CONTRACT.md lists them, docs/running.md explains them. Defaults of rates and
// schedule come from the model.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_OPTIONS_H
#define TTS_RUNTIME_TRAIN_OPTIONS_H

#include "Runtime/Abi/Manifest.h"
#include <optional>
#include <string>
#include <vector>

namespace tts::rt {

struct Options {
  std::string data;
  int64_t steps = 0;
  std::optional<uint64_t> seed; ///< 0, or the checkpoint's
  double lr = 0, weightDecay = 0;
  int64_t warmup = 0;
  std::string schedule;
  std::string initFrom;
  std::string checkpointDir;
  int64_t checkpointEvery = 0; ///< 0: only at the end
  int64_t keep = 3;
  std::string saveBest;
  bool resume = false;
  std::string resumeFrom; ///< empty: the latest of checkpointDir
  int64_t evalEvery = 0;
  std::string logDir;
  bool tensorBoard = true;
  double lossScale = 65536; ///< fp16: the first, if no checkpoint has one
  int64_t lossScaleInterval = 2000;
  double maxSeconds = 0;
  bool evaluate = false;
  std::string split = "validation"; ///< that is evaluated
  std::string dumpOutputs;
  std::vector<std::string> dumpUtterances;
  std::string dumpOrder;
  std::string infer; ///< requests to speak
};

/// Parses the command line. False when there is nothing more to do (--help was
/// printed); throws Exit::BadUsage.
bool parseOptions(int argc, char **argv, const Defaults &defaults,
                  Options &options);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_OPTIONS_H
