//===- File.h - a checked file descriptor --------------------------------===//
//
// Each foreign call is wrapped once. Reads are pread(2) into memory the caller
// has: mapped pages would count as resident. Nothing here buffers.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_FILE_H
#define TTS_RUNTIME_IO_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tts::rt {

class File {
public:
  File() = default;
  /// Opens for reading; a missing file is Exit::BadInput.
  static File openToRead(const std::string &path);
  /// Creates or empties for writing; failure is Exit::CannotContinue.
  static File openToWrite(const std::string &path);
  /// Opens one that another process made, to write into it.
  static File openToUpdate(const std::string &path);
  /// Opens at the end for appending, creating it if needed.
  static File openToAppend(const std::string &path);

  File(File &&other) noexcept;
  File &operator=(File &&other) noexcept;
  ~File();

  uint64_t size() const;
  /// Exactly `bytes` from `offset`, or Exit::BadInput (truncated, unreadable).
  void readAt(void *data, uint64_t bytes, uint64_t offset) const;
  /// All of it, or Exit::CannotContinue (disk full).
  void write(const void *data, uint64_t bytes);
  void writeAt(const void *data, uint64_t bytes, uint64_t offset);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Flushes to the disk and closes.
  void syncAndClose();

  const std::string &path() const { return thePath; }
  bool isOpen() const { return fd >= 0; }

private:
  File(const std::string &path, int fd) : thePath(path), fd(fd) {}
  [[noreturn]] void failWrite(int error) const;

  std::string thePath;
  int fd = -1;
};

/// A whole small file (a manifest); `limit` bounds it.
std::string readWholeFile(const std::string &path, uint64_t limit);

bool isDirectory(const std::string &path);
bool exists(const std::string &path);
/// mkdir -p.
void makeDirectories(const std::string &path);
/// fsync of a directory, so that a rename in it lasts.
void syncDirectory(const std::string &path);

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_FILE_H
