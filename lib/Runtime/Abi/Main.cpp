//===- Main.cpp - main of a compiled executable --------------------------===//
//
// In an object of its own: a shared library or a test with its own main leaves
// it in the archive.
//
//===----------------------------------------------------------------------===//

#include "tts-runtime/Abi.h"

int main(int argc, char **argv) { return tts_main(argc, argv); }
