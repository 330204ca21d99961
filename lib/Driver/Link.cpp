//===- Link.cpp - object and runtime to a program ------------------------===//

#include "Link.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace tts;

/// Anchors the search for this program's own path.
static int anchor;

Expected<std::string> tts::findRuntime(const char *tool, StringRef given) {
  if (!given.empty()) {
    if (sys::fs::exists(given))
      return given.str();
    return badUsage("--runtime", "'" + given + "' does not exist",
                    "give the path of libTtsRuntime.a");
  }
  SmallString<256> path(sys::fs::getMainExecutable(tool, &anchor));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "lib", "libTtsRuntime.a");
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  if (sys::fs::exists(path))
    return path.str().str();
  return badUsage(path, "the runtime's archive is not there",
                  "build the target TtsRuntime or give --runtime=PATH");
}

/// The first line of what the linker complained about.
static std::string firstError(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return "without a word";
  StringRef rest = (*buffer)->getBuffer();
  while (!rest.empty()) {
    auto [line, tail] = rest.split('\n');
    if (line.contains("error") || line.contains("undefined") ||
        line.contains("cannot"))
      return line.str();
    rest = tail;
  }
  return (*buffer)->getBuffer().split('\n').first.str();
}

Error tts::link(ArrayRef<std::string> objects, StringRef runtime,
                StringRef output, LinkKind kind) {
  auto compiler = sys::findProgramByName("c++");
  if (!compiler)
    return badInput("c++", "the system's C++ compiler is not there",
                    "install g++");
  SmallVector<StringRef> args = {*compiler, "-o", output};
  args.append(objects.begin(), objects.end());
  // Three times as fast as the system's linker, where there is one.
  if (sys::findProgramByName("ld.lld"))
    args.push_back("-fuse-ld=lld");
  // The linker's own temporary state must not make two links differ.
  args.append({"-Wl,--build-id=none", "-Wl,-z,noexecstack"});
  SmallString<256> messages(runtime);
  sys::path::remove_filename(messages);
  sys::path::append(messages, "libTtsRuntimeMpi.a");
  args.push_back("-Wl,--whole-archive");
  if (kind.hasRanks)
    args.push_back(messages);
  if (kind.isShared)
    args.append({"-shared", runtime, "-Wl,--no-whole-archive"});
  else
    args.append({"-Wl,--no-whole-archive", runtime});
  args.append({"-ldnnl", "-lgomp", "-lpthread", "-lm"});
  if (kind.hasRanks)
    args.push_back("-lmpi");

  SmallString<128> log;
  if (auto code = sys::fs::createTemporaryFile("tts-link", "log", log))
    return badInput(log, code.message(), "make room for temporary files");
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int code = sys::ExecuteAndWait(*compiler, args, std::nullopt, redirects, 0, 0,
                                 &message);
  std::string fault = code ? firstError(log) : "";
  sys::fs::remove(log);
  if (code == 0)
    return Error::success();
  return badInput("c++",
                  "linking failed: " + (message.empty() ? fault : message),
                  "install g++, libdnnl-dev and libopenmpi-dev as "
                  "scripts/setup.sh does");
}
