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

#include "tts-runtime/Format.h"
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
/// parameter; "next:" and a state (running statistics: what update adopts);
/// "loss:" (its sum) or "denominator:" and a loss; "scalar:NAME"; "input:NAME",
/// "output:NAME" (of eval) and "infer:NAME" (infer's output) of `bucket`, which
/// others ignore. Either is valid until the next program runs.
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
/// counts from 1. Returns 5 for a non-finite loss or gradient norm, and the
/// error's text names the first non-finite tensor; weights, moments and EMA are
/// then as before. A model compiled with --optimizer-in-backward takes one
/// micro-batch, and a non-finite norm has spoilt its weights.
int tts_session_step(TtsSession *session, uint64_t seed, int64_t update,
                     double lr, double weight_decay,
                     const TtsMicroBatch *batches, uint64_t count,
                     TtsStepResult *result);

/// The first tensor with a NaN or an infinity of a step that returned 5. Names
/// live as long as the session.
typedef struct TtsNonFinite {
  const char *tensor;                      ///< null: the last step was finite
  const char *function, *entry, *location; ///< as in TtsEntryView
  int was_read; ///< 1: the entry read it so (an input or a weight); 0: wrote it
  uint64_t element, elements; ///< in its buffer
  double value;
} TtsNonFinite;

/// Where the last step's first non-finite value appeared. The step was run a
/// second time to find it: gradients and activations are half done.
int tts_session_non_finite(const TtsSession *session, TtsNonFinite *found);

//===-- looking inside: the entries of the step table ---------------------===//

/// Bytes of the arena that an entry reads or writes.
typedef struct TtsEntryOperand {
  const char *buffer; ///< whose bytes these are
  void *data;
  uint64_t bytes;
  uint32_t access; ///< TtsAccess of Format.h
  uint32_t dtype;  ///< TtsDType of the elements
  uint32_t klass;  ///< TtsClass of the buffer
} TtsEntryOperand;

/// One entry of a program. Pointers are valid as long as the session is.
typedef struct TtsEntryView {
  uint32_t number;       ///< among all entries of the table
  uint32_t index;        ///< within its program
  const char *program;   ///< "forward"
  uint32_t program_kind; ///< TtsProgramKind
  uint32_t bucket;       ///< TTS_NO_BUCKET for zero and update
  uint32_t range;        ///< of a kernel; 0 for a library function
  const char *function;  ///< the kernel's name, or "rt.gemm", "rt.conv1d"
  const char *name;      ///< the stable name of the op it comes from
  const char *location;  ///< in the model's source: "model.mlir:12:8"
  const TtsEntryOperand *operands;
  const int64_t *scalars; ///< of a library function, see Format.h
  uint32_t num_operands;
  uint32_t num_scalars;
} TtsEntryView;

/// How many entries the table has, and one of them by its number.
uint64_t tts_session_num_entries(const TtsSession *session);
int tts_session_entry(TtsSession *session, uint64_t number, TtsEntryView *view);

/// Called on the session's thread right after an entry has run, when what it
/// wrote can be read and nothing has yet overwritten it. Not 0 ends the program
/// there: the call that ran it returns 6. The session must not be used from
/// inside but for reading.
typedef int (*TtsTap)(void *user, const TtsEntryView *entry);

/// Sets the tap of all programs, or removes it (null). Costs nothing when
/// unset.
int tts_session_tap(TtsSession *session, TtsTap tap, void *user);

/// Starts measuring each entry, from zero, or stops it; what was measured
/// stays.
int tts_session_time(TtsSession *session, int on);

/// Seconds by the clock, processor seconds of the session's own thread (on a
/// busy machine with one thread the better measure) and calls of each entry
/// since timing was started, into arrays of `count` = tts_session_num_entries;
/// any may be null.
int tts_session_times(const TtsSession *session, double *seconds,
                      double *processor_seconds, uint64_t *calls,
                      uint64_t count);

#ifdef __cplusplus
}
#endif

#endif // TTS_RUNTIME_RUNTIME_H
