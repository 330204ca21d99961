//===- OutputFileTest.cpp - files that are whole or not there ------------===//

#include "Driver/OutputFile.h"

#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tts;
namespace fs = std::filesystem;

namespace {

struct OutputFileTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / "output-file-test";
  OutputFileTest() {
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  ~OutputFileTest() override { fs::remove_all(folder); }

  size_t numFiles() {
    return std::distance(fs::directory_iterator(folder), {});
  }
  static std::string read(const fs::path &path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
};

TEST_F(OutputFileTest, WhatIsNotKeptLeavesNothing) {
  {
    auto file = OutputFile::create((folder / "x").string());
    ASSERT_TRUE(bool(file));
    EXPECT_EQ(numFiles(), 1u);
    EXPECT_NE(file->getPath(), (folder / "x").string());
  }
  EXPECT_EQ(numFiles(), 0u);
}

TEST_F(OutputFileTest, WhatIsKeptReplacesTheTarget) {
  std::ofstream(folder / "x") << "old";
  ASSERT_FALSE(bool(writeFile((folder / "x").string(), "new")));
  EXPECT_EQ(read(folder / "x"), "new");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(OutputFileTest, AMissingFolderIsAnError) {
  EXPECT_EQ(llvm::toString(writeFile("/nowhere/x", "text")),
            "error: /nowhere/x: cannot be written (No such file or "
            "directory); give a place that can be written to");
}

} // namespace
