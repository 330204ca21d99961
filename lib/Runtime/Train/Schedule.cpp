//===- Schedule.cpp - constant, noam, cosine -----------------------------===//
//
// All three rise linearly to the peak at update `warmup`; noam then falls with
// the inverse square root, cosine with half a wave to the last update.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Schedule.h"
#include <algorithm>
#include <cmath>

namespace tts::rt {

double Schedule::rate(int64_t t) const {
  if (t < warmup)
    return lr * double(t) / double(warmup);
  switch (kind) {
  case ScheduleKind::Constant:
    return lr;
  case ScheduleKind::Noam:
    return lr * std::sqrt(double(std::max<int64_t>(warmup, 1)) / double(t));
  case ScheduleKind::Cosine: {
    double length = double(std::max<int64_t>(updates - warmup, 1));
    double along = std::min(1.0, double(t - warmup) / length);
    return lr * 0.5 * (1 + std::cos(M_PI * along));
  }
  }
  return lr;
}

bool Schedule::parse(const std::string &name, ScheduleKind &out) {
  if (name == "constant")
    out = ScheduleKind::Constant;
  else if (name == "noam")
    out = ScheduleKind::Noam;
  else if (name == "cosine")
    out = ScheduleKind::Cosine;
  else
    return false;
  return true;
}

} // namespace tts::rt
