//===- Libraries.cpp - what compiled programs call at run time -----------===//

#include "tts/Target/Cpu/Libraries.h"
#include "llvm/Support/FormatVariadic.h"
#include <dnnl.h>

std::string tts::cpu::getMatmulLibraryVersion() {
  const dnnl_version_t *version = dnnl_version();
  return llvm::formatv("{0}.{1}.{2}", version->major, version->minor,
                       version->patch)
      .str();
}
