//===- File.cpp - open, pread, write, fsync ------------------------------===//
//
// A failed read is bad input, a failed write means training cannot continue.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/File.h"
#include "Runtime/Abi/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tts::rt {

namespace {

[[noreturn]] void failToWrite(const std::string &path, int error) {
  throw Error(Exit::CannotContinue, path,
              std::string("cannot be written (") + std::strerror(error) + ")",
              "make room or fix the path, then --resume");
}

[[noreturn]] void failToRead(const std::string &path, const std::string &why) {
  throw Error(Exit::BadInput, path, why, "check the path or make it again");
}

} // namespace

File File::openToRead(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    failToRead(path,
               std::string("cannot be opened (") + std::strerror(errno) + ")");
  return File(path, fd);
}

File File::openToWrite(const std::string &path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0)
    failToWrite(path, errno);
  return File(path, fd);
}

File File::openToUpdate(const std::string &path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    failToWrite(path, errno);
  return File(path, fd);
}

File File::openToAppend(const std::string &path) {
  int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0)
    failToWrite(path, errno);
  return File(path, fd);
}

File::File(File &&other) noexcept
    : thePath(std::move(other.thePath)), fd(std::exchange(other.fd, -1)) {}

File &File::operator=(File &&other) noexcept {
  std::swap(thePath, other.thePath);
  std::swap(fd, other.fd);
  return *this;
}

File::~File() {
  if (fd >= 0)
    ::close(fd);
}

uint64_t File::size() const {
  struct stat info;
  if (fstat(fd, &info) != 0)
    failToRead(thePath, std::strerror(errno));
  return uint64_t(info.st_size);
}

void File::readAt(void *data, uint64_t bytes, uint64_t offset) const {
  char *to = static_cast<char *>(data);
  while (bytes) {
    ssize_t n = pread(fd, to, bytes, off_t(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      failToRead(thePath,
                 std::string("cannot be read (") + std::strerror(errno) + ")");
    if (n == 0)
      failToRead(thePath, "is truncated");
    to += n;
    offset += uint64_t(n);
    bytes -= uint64_t(n);
  }
}

void File::failWrite(int error) const { failToWrite(thePath, error); }

void File::write(const void *data, uint64_t bytes) {
  const char *from = static_cast<const char *>(data);
  while (bytes) {
    ssize_t n = ::write(fd, from, bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      failWrite(n < 0 ? errno : ENOSPC);
    from += n;
    bytes -= uint64_t(n);
  }
}

void File::writeAt(const void *data, uint64_t bytes, uint64_t offset) {
  const char *from = static_cast<const char *>(data);
  while (bytes) {
    ssize_t n = pwrite(fd, from, bytes, off_t(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      failWrite(n < 0 ? errno : ENOSPC);
    from += n;
    offset += uint64_t(n);
    bytes -= uint64_t(n);
  }
}

void File::syncAndClose() {
  // EINVAL: a pipe or a character device has nothing to flush.
  if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
    failWrite(errno);
  int closing = std::exchange(fd, -1);
  if (::close(closing) != 0)
    failWrite(errno);
}

std::string readWholeFile(const std::string &path, uint64_t limit) {
  File file = File::openToRead(path);
  uint64_t bytes = file.size();
  if (bytes > limit)
    failToRead(path, "is " + std::to_string(bytes) + " bytes long, over the " +
                         std::to_string(limit) + " allowed");
  std::string text(bytes, '\0');
  file.readAt(text.data(), bytes, 0);
  return text;
}

bool isDirectory(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool exists(const std::string &path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

void makeDirectories(const std::string &path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (!part.empty() && mkdir(part.c_str(), 0755) != 0 && !isDirectory(part))
      failToWrite(part, errno);
    if (slash == std::string::npos)
      return;
  }
}

void syncDirectory(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    failToWrite(path, errno);
  int status = fsync(fd);
  int error = errno;
  ::close(fd);
  if (status != 0 && error != EINVAL)
    failToWrite(path, error);
}

} // namespace tts::rt
