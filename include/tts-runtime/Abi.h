//===- Abi.h - symbols the compiler emits and the runtime defines --------===//
//
// The one border between compiled programs and the runtime, versioned. The
// compiler emits only the symbols of the first list and calls only those of
// the second; nothing else crosses.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_ABI_H
#define TTS_RUNTIME_ABI_H

#include "tts-runtime/Format.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TTS_ABI_VERSION 3u

/// A generated kernel over the part [lo, hi) of its range. `operands` are the
/// entry's operands as addresses, in the table's order; disjoint ranges of one
/// entry may run at the same time on different threads.
typedef void (*TtsKernel)(void *const *operands, int64_t lo, int64_t hi);

//===-- emitted by the compiler, read by the runtime at start -------------===//

extern const uint32_t tts_abi_version;

/// What a rank may be: a stage of a pipeline, a device of its own budget. Where
/// there are several the manifests' `role_of_rank` says which rank is which.
typedef struct TtsRole {
  const unsigned char *table; ///< a TtsTableHeader and what follows
  const TtsKernel *kernels;   ///< by function index; null for library
} TtsRole;
extern const uint32_t tts_num_roles;
extern const TtsRole tts_roles[];

//===-- defined by the runtime --------------------------------------------===//

/// `main` of a compiled executable: flags in docs/running.md, exit codes in
/// CONTRACT.md.
int tts_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // TTS_RUNTIME_ABI_H
