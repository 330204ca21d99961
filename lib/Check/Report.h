//===- Report.h - the faults found, one line each ---------------*- C++ -*-===//
//
// error: <place>: <what is wrong>; <what to do>
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_REPORT_H
#define TTS_LIB_CHECK_REPORT_H

#include <string>
#include <vector>

namespace tts::check {

class Report {
public:
  /// What helps against a table or certificate that does not hold.
  static constexpr const char *recompile =
      "compile the model again and report this if it stays";

  /// Adds a line; the first twenty are kept, more would say nothing new.
  void fail(const std::string &place, const std::string &what,
            const std::string &whatToDo = recompile) {
    ++count;
    if (lines.size() >= maxLines)
      return;
    std::string line = "error: " + place + ": " + what + "; " + whatToDo;
    for (char &c : line) // names come from the file: keep it one line
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        c = '?';
    lines.push_back(std::move(line));
  }
  bool ok() const { return count == 0; }
  size_t faults() const { return count; }
  const std::vector<std::string> &errors() const { return lines; }

private:
  static constexpr size_t maxLines = 20;
  std::vector<std::string> lines;
  size_t count = 0;
};

} // namespace tts::check

#endif // TTS_LIB_CHECK_REPORT_H
