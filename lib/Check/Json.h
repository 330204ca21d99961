//===- Json.h - reading JSON that may hold anything -------------*- C++ -*-===//
//
// Typed look-ups that answer "is it there and of this type" and never throw.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_JSON_H
#define TTS_LIB_CHECK_JSON_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tts::check {

using Json = nlohmann::json;

/// The member `key`, or null when `value` is no object or has none.
inline const Json &member(const Json &value, const char *key) {
  static const Json none;
  if (!value.is_object())
    return none;
  auto found = value.find(key);
  return found == value.end() ? none : *found;
}

/// A whole number of at least zero.
inline std::optional<uint64_t> asBytes(const Json &value) {
  if (value.is_number_unsigned())
    return value.get<uint64_t>();
  if (value.is_number_integer() && value.get<int64_t>() >= 0)
    return uint64_t(value.get<int64_t>());
  return std::nullopt;
}

inline std::optional<std::string> asText(const Json &value) {
  if (!value.is_string())
    return std::nullopt;
  return value.get<std::string>();
}

} // namespace tts::check

#endif // TTS_LIB_CHECK_JSON_H
