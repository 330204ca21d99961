//===- tts-opt.cpp - mlir-opt with our dialects, passes and planning -----===//

#include "tts/Driver/Tools.h"

int main(int argc, char **argv) { return tts::runOpt(argc, argv); }
