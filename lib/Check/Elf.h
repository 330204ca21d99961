//===- Elf.h - one section of an ELF64 file ---------------------*- C++ -*-===//
//
// Enough of ELF to find the step table in an executable or a shared library.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_ELF_H
#define TTS_LIB_CHECK_ELF_H

#include "Check.h"

namespace tts::check {

/// The bytes of the only section called `name` in `file`; false and a line in
/// `report` (at `place`) when there is none, several, or no sound ELF64 file.
bool findSection(const Bytes &file, const std::string &name,
                 const std::string &place, Report &report, Bytes &section);

} // namespace tts::check

#endif // TTS_LIB_CHECK_ELF_H
