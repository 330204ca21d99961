//===- Runtime.h - the C API of a compiled model -------------------------===//
//
// For other loaders, other languages and tests: the programs that `train` runs,
// one call each. A model is compiled with `tts-compile -o model.so` or linked
// as an archive; the library holds exactly one model, a session is its arena.
//
// Every function that returns int returns 0 or an exit code of CONTRACT.md;
// `tts_last_error` then has the text, until the next call on that thread. A
// session belongs to one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_RUNTIME_H
#define TTS_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TtsSession TtsSession;

/// Commits the arena and makes the primitives of the linked model; null on
/// error. Parameters are zero until initialised, loaded or written.
TtsSession *tts_session_create(void);
void tts_session_destroy(TtsSession *session);

/// The last error's text on this thread, or "".
const char *tts_last_error(void);

/// The manifest of the step table (docs/step-table.md): JSON, valid as long as
/// the library is loaded. Names, shapes and dtypes of all tensors are there.
const char *tts_session_manifest(const TtsSession *session, uint64_t *bytes);

/// First values of all parameters from tts.init; clears gradients and moments,
/// starts EMA at the weights.
int tts_session_initialise(TtsSession *session, uint64_t seed);

/// Weights from a safetensors file that has every parameter by name; clears
/// gradients and moments, starts EMA at the weights.
int tts_session_load(TtsSession *session, const char *path);

/// Weights into a safetensors file.
int tts_session_save(TtsSession *session, const char *path);

/// Copies a whole tensor out of or into the arena; `bytes` must be its size.
/// Names: a parameter's own; "grad:", "moment1:", "moment2:", "ema:" and a
/// parameter; "loss:" (its sum) or "denominator:" and a loss; "scalar:NAME";
/// "input:NAME" and "output:NAME" of `bucket`, which others ignore. An output
/// is valid until the next program runs.
int tts_session_read(TtsSession *session, const char *name, uint32_t bucket,
                     void *data, uint64_t bytes);
int tts_session_write(TtsSession *session, const char *name, uint32_t bucket,
                      const void *data, uint64_t bytes);

/// Runs "zero", "denominators", "forward", "backward", "update", "eval" or
/// "infer" of a bucket; zero and update ignore the bucket.
int tts_session_run(TtsSession *session, const char *program, uint32_t bucket);

/// The scalars of a run: draw = {seed, update − 1}, and the optimizer's for
/// that update, counted from 1.
int tts_session_set_scalars(TtsSession *session, uint64_t seed, int64_t update,
                            double lr, double weight_decay);

/// loss_weight of every loss := coefficient / denominator (0 if that is 0), in
/// the manifest's order of losses.
int tts_session_set_denominators(TtsSession *session,
                                 const double *denominators, uint64_t count);

/// A caller's micro-batch: every input of its bucket, each with the bucket's
/// shape and dtype.
typedef struct TtsNamedData {
  const char *name; ///< the input's name, without "input:"
  const void *data;
  uint64_t bytes;
} TtsNamedData;

typedef struct TtsMicroBatch {
  uint32_t bucket;
  uint32_t num_inputs;
  const TtsNamedData *inputs;
} TtsMicroBatch;

typedef struct TtsStepResult {
  double loss; ///< sum over losses of coefficient · sum / denominator
  double grad_norm;
  double *losses; ///< the caller's array, one per loss, or null
} TtsStepResult;

/// One whole optimizer update on the caller's micro-batches; `update`
/// counts from 1. Returns 5 for a non-finite loss or gradient norm; weights,
/// moments and EMA are then as before.
int tts_session_step(TtsSession *session, uint64_t seed, int64_t update,
                     double lr, double weight_decay,
                     const TtsMicroBatch *batches, uint64_t count,
                     TtsStepResult *result);

#ifdef __cplusplus
}
#endif

#endif // TTS_RUNTIME_RUNTIME_H
