//===- tts-compile.cpp - a model file to a training executable -----------===//

#include "tts/Driver/Tools.h"

int main(int argc, char **argv) { return tts::runCompile(argc, argv); }
