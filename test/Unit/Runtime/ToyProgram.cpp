//===- ToyProgram.cpp - the toy model as a compiled program's symbols ----===//
//
// What tts-compile's object holds, filled in before main: linked with the
// runtime it is a `train` executable or a model library.
//
//===----------------------------------------------------------------------===//

#include "ToyModel.h"
#include <cstdlib>
#include <cstring>

// The compiler emits these constant; the toy fills them in first.
alignas(64) unsigned char toyTable[1 << 17];
TtsKernel toyKernels[512];
extern "C" const TtsRole tts_roles[] = {{toyTable, toyKernels}};
extern "C" const uint32_t tts_num_roles = 1;
extern "C" const uint32_t tts_abi_version = TTS_ABI_VERSION;

namespace {
struct Filled {
  Filled() {
    tts::test::ToyOptions options;
    if (const char *hash = std::getenv("TOY_FEATURES_HASH"))
      options.featuresHash = hash;
    if (const char *batch = std::getenv("TOY_BATCH"))
      options.batch = std::atoi(batch);
    if (const char *frames = std::getenv("TOY_BATCH_FRAMES"))
      options.batchFrames = std::atoi(frames);
    if (const char *peak = std::getenv("TOY_PEAK"))
      options.peak = std::atof(peak);
    if (const char *host = std::getenv("TOY_HOST_BUFFER"))
      options.hostBuffer = std::atoi(host);
    if (const char *ranks = std::getenv("TOY_RANKS"))
      options.ranks = std::atoi(ranks);
    tts::test::Toy toy = tts::test::makeToy(options);
    if (toy.blobBytes() > sizeof(toyTable) || toy.kernels.size() > 512)
      std::abort();
    std::memcpy(toyTable, toy.blob.data(), toy.blobBytes());
    std::copy(toy.kernels.begin(), toy.kernels.end(), toyKernels);
  }
} filled;
} // namespace
