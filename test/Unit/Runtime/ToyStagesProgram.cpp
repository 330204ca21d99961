//===- ToyStagesProgram.cpp - the toy over stages as a program's symbols --===//
//
// A rank fills in the table of its own stage: TOY_STAGES and TOY_RANKS say of
// how many, its launcher which.
//
//===----------------------------------------------------------------------===//

#include "ToyStages.h"
#include <cstdlib>
#include <cstring>

// See ToyProgram.cpp.
alignas(64) unsigned char toyTable[1 << 17];
TtsKernel toyKernels[1024];
extern "C" const TtsRole tts_roles[] = {{toyTable, toyKernels}};
extern "C" const uint32_t tts_num_roles = 1;
extern "C" const uint32_t tts_abi_version = TTS_ABI_VERSION;

namespace {
int numberOr(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

struct Filled {
  Filled() {
    tts::test::ToyStagesOptions options;
    options.stages = numberOr("TOY_STAGES", 1);
    options.replicas = numberOr("TOY_RANKS", options.stages) / options.stages;
    options.stage = numberOr("OMPI_COMM_WORLD_RANK", 0) / options.replicas;
    options.batch = numberOr("TOY_BATCH", options.batch);
    tts::test::Toy toy = tts::test::makeToyStage(options);
    if (toy.blobBytes() > sizeof(toyTable) || toy.kernels.size() > 1024)
      std::abort();
    std::memcpy(toyTable, toy.blob.data(), toy.blobBytes());
    std::copy(toy.kernels.begin(), toy.kernels.end(), toyKernels);
  }
} filled;
} // namespace
