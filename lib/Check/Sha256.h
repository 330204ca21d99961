//===- Sha256.h - the hash that ties a certificate to a file ----*- C++ -*-===//
//
// FIPS 180-4, written out here so that the checker depends on nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_SHA256_H
#define TTS_LIB_CHECK_SHA256_H

#include "Check.h"

namespace tts::check {

/// 64 lower-case hexadecimal digits.
std::string sha256(const Bytes &bytes);

} // namespace tts::check

#endif // TTS_LIB_CHECK_SHA256_H
