// Finds a section by name in a little-endian ELF64 file, trusting no number in
// it.
#include "Elf.h"

#include <cstring>
#include <elf.h>

using namespace tts::check;

/// Copies a record out of the file when it lies inside.
template <typename Record>
static bool readAt(const Bytes &file, uint64_t offset, Record &record) {
  if (offset > file.size() || file.size() - offset < sizeof(Record))
    return false;
  std::memcpy(&record, file.data() + offset, sizeof(Record));
  return true;
}

static bool isInside(const Bytes &file, const Elf64_Shdr &section) {
  return section.sh_offset <= file.size() &&
         section.sh_size <= file.size() - section.sh_offset;
}

bool tts::check::findSection(const Bytes &file, const std::string &name,
                             const std::string &place, Report &report,
                             Bytes &section) {
  static constexpr const char *whatToDo =
      "give the executable that tts-compile wrote";
  Elf64_Ehdr header;
  if (!readAt(file, 0, header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    report.fail(place, "not a little-endian ELF64 file", whatToDo);
    return false;
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (size_t i = 0; i < sections.size(); ++i)
    if (header.e_shoff > file.size() ||
        !readAt(file, header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) {
      report.fail(place, "the section headers end beyond the file", whatToDo);
      return false;
    }
  if (header.e_shstrndx >= sections.size() ||
      !isInside(file, sections[header.e_shstrndx])) {
    report.fail(place, "there are no section names", whatToDo);
    return false;
  }
  const Elf64_Shdr &names = sections[header.e_shstrndx];
  int found = 0;
  for (const Elf64_Shdr &each : sections) {
    // The name with its closing zero must match inside the names' section.
    if (each.sh_name > names.sh_size ||
        names.sh_size - each.sh_name < name.size() + 1 ||
        std::memcmp(file.data() + names.sh_offset + each.sh_name, name.c_str(),
                    name.size() + 1) != 0)
      continue;
    if (++found > 1)
      break;
    if (each.sh_type != SHT_PROGBITS || !isInside(file, each)) {
      report.fail(place, "section " + name + " has no bytes in the file",
                  whatToDo);
      return false;
    }
    section.assign(file.begin() + each.sh_offset,
                   file.begin() + each.sh_offset + each.sh_size);
  }
  if (found != 1) {
    report.fail(place,
                found == 0 ? "there is no section " + name
                           : "there are several sections " + name,
                whatToDo);
    return false;
  }
  return true;
}
