//===- ByteSize.cpp - sizes as people write them -------------------------===//

#include "tts/Transforms/Plan/ByteSize.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

std::optional<int64_t> tts::plan::parseByteSize(llvm::StringRef text) {
  text = text.trim();
  size_t length = text.find_first_not_of("0123456789.");
  llvm::StringRef digits = text.take_front(length);
  llvm::StringRef unit = text.drop_front(digits.size()).trim();
  double factor = llvm::StringSwitch<double>(unit)
                      .CasesLower({"", "b"}, 1)
                      .CasesLower({"k", "kib"}, 0x1p10)
                      .CasesLower({"m", "mib"}, 0x1p20)
                      .CasesLower({"g", "gib"}, 0x1p30)
                      .CasesLower({"t", "tib"}, 0x1p40)
                      .CaseLower("kb", 1e3)
                      .CaseLower("mb", 1e6)
                      .CaseLower("gb", 1e9)
                      .CaseLower("tb", 1e12)
                      .Default(0);
  // Whole bytes stay exact beyond the 53 bits of a double.
  int64_t whole;
  if (factor == 1 && !digits.getAsInteger(10, whole))
    return whole > 0 ? std::optional(whole) : std::nullopt;
  double number;
  if (factor == 0 || digits.empty() || digits.getAsDouble(number))
    return std::nullopt;
  double bytes = std::floor(number * factor);
  if (!(bytes >= 1) || bytes >= 0x1p63)
    return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string tts::plan::formatByteSize(int64_t bytes) {
  return llvm::formatv("{0} bytes ({1:f3} GiB)", bytes, bytes / 0x1p30);
}
