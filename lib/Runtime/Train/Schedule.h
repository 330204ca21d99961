//===- Schedule.h - the learning rate of an update -----------------------===//
//
// A function of the number of the optimizer update and of nothing else: micro-
// batches, ranks and the time of day do not reach it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_SCHEDULE_H
#define TTS_RUNTIME_TRAIN_SCHEDULE_H

#include <cstdint>
#include <string>

namespace tts::rt {

enum class ScheduleKind { Constant, Noam, Cosine };

struct Schedule {
  ScheduleKind kind = ScheduleKind::Constant;
  double lr = 1e-3;    ///< the peak
  int64_t warmup = 0;  ///< updates of linear warm-up
  int64_t updates = 0; ///< where cosine reaches zero

  /// The rate of update t, counted from 1.
  double rate(int64_t t) const;

  /// False for an unknown name.
  static bool parse(const std::string &name, ScheduleKind &out);
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_SCHEDULE_H
