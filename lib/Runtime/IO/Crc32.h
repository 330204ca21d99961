//===- Crc32.h - the checksum of zip, gzip and PNG ------------------------===//
//
// What Python's zlib.crc32 gives: corpora are written with it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_CRC32_H
#define TTS_RUNTIME_IO_CRC32_H

#include <cstdint>
#include <string>

namespace tts::rt {

/// Of the bytes, after others whose checksum was `before`.
uint32_t crc32(const void *data, uint64_t bytes, uint32_t before = 0);

/// Eight hexadecimal digits.
std::string hexText(uint32_t crc);

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_CRC32_H
