// The section is found in a real ELF file, damage is refused, the hash is
// SHA-256.
#include "Elf.h"
#include "Sha256.h"
#include "SmallTable.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <random>

using namespace tts::check;

namespace {

// This program is itself an ELF file with such a section.
__attribute__((section(".tts.check.sample"), used))
const unsigned char sample[] = {1, 2, 3, 4, 5};

Bytes readSelf() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// A bare ELF64 file: `content` as section `name`, and the section of names.
Bytes makeElf(const Bytes &content, const std::string &name) {
  const std::string names = std::string("\0", 1) + name + '\0';
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof(header) + sizeof(sections);
  sections[1].sh_size = content.size();
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + content.size();
  sections[2].sh_size = names.size();
  header.e_shoff = sizeof(header);
  Bytes file;
  auto append = [&](const void *data, size_t size) {
    const auto *bytes = static_cast<const uint8_t *>(data);
    file.insert(file.end(), bytes, bytes + size);
  };
  append(&header, sizeof(header));
  append(sections, sizeof(sections));
  append(content.data(), content.size());
  append(names.data(), names.size());
  return file;
}

void write(const std::string &path, const void *data, size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char *>(data), std::streamsize(size));
}

TEST(Elf, FindsASectionOfThisProgram) {
  Report report;
  Bytes section;
  ASSERT_TRUE(
      findSection(readSelf(), ".tts.check.sample", "self", report, section));
  EXPECT_EQ(section, Bytes(std::begin(sample), std::end(sample)));
  EXPECT_FALSE(findSection(readSelf(), ".tts.check", "self", report, section));
  ASSERT_EQ(report.errors().size(), 1u);
  EXPECT_EQ(report.errors()[0],
            "error: self: there is no section .tts.check; give the executable "
            "that tts-compile wrote");
}

TEST(Elf, DamageIsRefusedAndNeverCrashes) {
  const Bytes whole = makeElf({1, 2, 3}, ".tts.table");
  Report report;
  Bytes section;
  ASSERT_TRUE(findSection(whole, ".tts.table", "file", report, section));
  EXPECT_EQ(section, Bytes({1, 2, 3}));
  for (size_t size = 0; size < whole.size(); ++size) {
    Report refused;
    EXPECT_FALSE(findSection(Bytes(whole.begin(), whole.begin() + size),
                             ".tts.table", "file", refused, section));
    EXPECT_FALSE(refused.ok());
  }
  std::mt19937 generator(1);
  for (int i = 0; i < 2000; ++i) {
    Bytes damaged = whole;
    damaged[generator() % damaged.size()] ^= uint8_t(1u << generator() % 8);
    Report any;
    findSection(damaged, ".tts.table", "file", any, section);
  }
}

TEST(Files, TheWholeWay) {
  SmallTable table;
  const std::string folder = testing::TempDir();
  const std::string executable = folder + "/small-train",
                    certificate = folder + "/small-train.plan.json";
  const Bytes file = makeElf(table.blob(), ".tts.table");
  write(executable, file.data(), file.size());
  table.certificate["hashes"]["executable"] = sha256(file);
  const std::string text = table.certificate.dump();
  write(certificate, text.data(), text.size());
  Report report;
  const Summary summary = checkFiles(certificate, executable, report);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.errors()[0]);
  EXPECT_EQ(summary.peakBytes, 3304u);
  EXPECT_EQ(summary.lowerBoundBytes, 1920u);
  Report missing;
  checkFiles(certificate, folder + "/not-there", missing);
  ASSERT_EQ(missing.errors().size(), 1u);
  EXPECT_NE(missing.errors()[0].find("cannot be read"), std::string::npos);
  std::remove(executable.c_str());
  std::remove(certificate.c_str());
}

TEST(Sha256, KnownVectors) {
  auto of = [](const std::string &text) {
    return sha256(Bytes(text.begin(), text.end()));
  };
  EXPECT_EQ(of(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

} // namespace
