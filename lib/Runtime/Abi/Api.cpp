//===- Api.cpp - the C API over a Model ----------------------------------===//
//
// Each function is a guarded call: what the runtime throws becomes an exit code
// and a text per thread.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Abi/Entries.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Initialize.h"
#include "Runtime/Train/LossScale.h"
#include "Runtime/Train/Model.h"
#include "Runtime/Train/NonFinite.h"
#include "Runtime/Train/Update.h"
#include "Runtime/Train/Weights.h"
#include "tts-runtime/Abi.h"
#include "tts-runtime/Runtime.h"
#include <cmath>
#include <cstring>

using namespace tts::rt;

struct TtsSession {
  TtsSession()
      : model(tts_roles[0].table, 0, tts_roles[0].kernels), result(model),
        entries(model.table, model.arena), tap(entries) {}

  Model model;
  UpdateResult result;
  NonFinite nonFinite; ///< of the last step
  LossScale lossScale;
  const EntryViews entries;
  Tap tap;
};

namespace {

thread_local std::string lastError;

template <typename Body> int guarded(Body body) {
  lastError.clear();
  try {
    body();
    return 0;
  } catch (const Error &e) {
    lastError = e.what();
    return int(e.code);
  } catch (const std::exception &e) {
    lastError = std::string("runtime: ") + e.what() + "; report this";
    return int(Exit::Refused);
  }
}

[[noreturn]] void badInput(const std::string &place, const std::string &what) {
  throw Error(Exit::BadInput, place, what, "see the model's manifest");
}

Tensor sized(const Model &model, const std::string &name, uint32_t bucket,
             uint64_t bytes) {
  Tensor tensor = model.find(name, bucket);
  if (tensor.at.size != bytes)
    badInput("tensor '" + name + "'",
             "it has " + std::to_string(tensor.at.size) + " bytes, not " +
                 std::to_string(bytes));
  return tensor;
}

TtsProgramKind programKind(const std::string &name) {
  const char *names[] = TTS_PROGRAM_NAMES;
  for (int kind = 0; kind < TTS_NUM_PROGRAM_KINDS; ++kind)
    if (name == names[kind])
      return TtsProgramKind(kind);
  badInput("program '" + name + "'", "there is no such program");
}

void loadCallersBatch(Model &model, const TtsMicroBatch &batch) {
  if (batch.bucket >= model.manifest.buckets.size())
    badInput("micro-batch", "it has no bucket");
  for (const Tensor &input : model.manifest.buckets[batch.bucket].inputs) {
    const TtsNamedData *given = nullptr;
    for (uint32_t i = 0; i < batch.num_inputs; ++i)
      if (input.name == batch.inputs[i].name)
        given = &batch.inputs[i];
    if (!given)
      badInput("input '" + input.name + "'", "the micro-batch lacks it");
    if (given->bytes != input.at.size)
      badInput("input '" + input.name + "'",
               "it has " + std::to_string(input.at.size) + " bytes, not " +
                   std::to_string(given->bytes));
    std::memcpy(model.arena.at(input.at.offset), given->data, given->bytes);
  }
}

[[noreturn]] void stopNonFinite(TtsSession &session, const MicroBatches &micro,
                                const UpdateScalars &scalars) {
  std::string what =
      std::isfinite(session.result.loss) ? "the gradient norm" : "the loss";
  what += " is not finite";
  if (session.result.hasSpoiltWeights(session.model))
    what += "; the weights are spoilt, backward has updated them already";
  else
    session.nonFinite = findNonFinite(session.model, micro, scalars);
  if (session.nonFinite)
    what += "; " + session.nonFinite.text();
  throw Error(Exit::CannotContinue, "update " + std::to_string(scalars.update),
              what, "lower the learning rate or look at the batch");
}

} // namespace

extern "C" {

TtsSession *tts_session_create(void) {
  TtsSession *session = nullptr;
  guarded([&] {
    if (tts_abi_version != TTS_ABI_VERSION)
      throw Error(Exit::Refused, "model", "it was compiled for another runtime",
                  "recompile it with this version of tts-compile");
    session = new TtsSession;
  });
  return session;
}

void tts_session_destroy(TtsSession *session) { delete session; }

const char *tts_last_error(void) { return lastError.c_str(); }

const char *tts_session_manifest(const TtsSession *session, uint64_t *bytes) {
  std::string_view text = session->model.table.manifest();
  if (bytes)
    *bytes = text.size();
  return text.data();
}

int tts_session_initialise(TtsSession *session, uint64_t seed) {
  return guarded([&] {
    initializeParameters(session->model.manifest, session->model.arena, seed);
  });
}

int tts_session_load(TtsSession *session, const char *path) {
  return guarded([&] {
    loadWeights(session->model.manifest, session->model.arena, path);
    resetStates(session->model.manifest, session->model.arena);
  });
}

int tts_session_save(TtsSession *session, const char *path) {
  return guarded([&] {
    saveWeights(session->model.manifest, session->model.arena, path);
  });
}

int tts_session_read(TtsSession *session, const char *name, uint32_t bucket,
                     void *data, uint64_t bytes) {
  return guarded([&] {
    Tensor tensor = sized(session->model, name, bucket, bytes);
    std::memcpy(data, session->model.arena.at(tensor.at.offset), bytes);
  });
}

int tts_session_write(TtsSession *session, const char *name, uint32_t bucket,
                      const void *data, uint64_t bytes) {
  return guarded([&] {
    Tensor tensor = sized(session->model, name, bucket, bytes);
    std::memcpy(session->model.arena.at(tensor.at.offset), data, bytes);
    for (const Parameter &p : session->model.manifest.parameters)
      if (p.value.name == name)
        refreshHalfCopy(p, session->model.arena);
  });
}

int tts_session_run(TtsSession *session, const char *program, uint32_t bucket) {
  return guarded([&] { session->model.run(programKind(program), bucket); });
}

int tts_session_set_scalars(TtsSession *session, uint64_t seed, int64_t update,
                            double lr, double weight_decay) {
  return guarded([&] {
    setDraw(session->model, seed, update);
    if (session->model.optimizer)
      setOptimizer(session->model, {seed, update, lr, weight_decay});
  });
}

int tts_session_set_denominators(TtsSession *session,
                                 const double *denominators, uint64_t count) {
  return guarded([&] {
    if (count != session->model.losses.size())
      badInput("denominators",
               "the model has " + std::to_string(session->model.losses.size()) +
                   " losses");
    setLossWeights(session->model,
                   std::vector<double>(denominators, denominators + count));
  });
}

int tts_session_step(TtsSession *session, uint64_t seed, int64_t update,
                     double lr, double weight_decay,
                     const TtsMicroBatch *batches, uint64_t count,
                     TtsStepResult *result) {
  return guarded([&] {
    std::vector<uint32_t> buckets;
    for (uint64_t i = 0; i < count; ++i)
      buckets.push_back(batches[i].bucket);
    MicroBatches micro{
        buckets.data(), count,
        [&](size_t i) { loadCallersBatch(session->model, batches[i]); },
        nullptr};
    UpdateResult &r = session->result;
    UpdateScalars scalars{seed, update, lr, weight_decay};
    session->nonFinite = {};
    session->lossScale.enabled = hasLossScale(session->model);
    runScaledUpdate(session->model, micro, scalars, r, session->lossScale);
    if (result) {
      result->loss = r.loss;
      result->grad_norm = r.gradNorm;
      if (result->losses)
        std::copy(r.losses.begin(), r.losses.end(), result->losses);
    }
    if (!r.finite)
      stopNonFinite(*session, micro, scalars);
  });
}

int tts_session_non_finite(const TtsSession *session, TtsNonFinite *found) {
  return guarded([&] {
    const NonFinite &n = session->nonFinite;
    *found = {n.tensor,  n.function, n.entry,    n.location,
              n.wasRead, n.element,  n.elements, n.value};
  });
}

uint64_t tts_session_num_entries(const TtsSession *session) {
  return session->entries.size();
}

int tts_session_entry(TtsSession *session, uint64_t number,
                      TtsEntryView *view) {
  return guarded([&] {
    if (number >= session->entries.size())
      badInput("entry " + std::to_string(number), "there is none");
    *view = session->entries[number];
  });
}

int tts_session_tap(TtsSession *session, TtsTap tap, void *user) {
  return guarded([&] {
    session->tap.function = tap;
    session->tap.user = user;
    session->model.executor.observe(tap ? &session->tap : nullptr);
  });
}

int tts_session_time(TtsSession *session, int on) {
  return guarded([&] { session->model.executor.time(on != 0); });
}

int tts_session_times(const TtsSession *session, double *seconds,
                      double *processor_seconds, uint64_t *calls,
                      uint64_t count) {
  return guarded([&] {
    const std::vector<EntryTime> &times = session->model.executor.times();
    if (count != session->entries.size())
      badInput("times", "the table has " +
                            std::to_string(session->entries.size()) +
                            " entries, not " + std::to_string(count));
    for (uint64_t i = 0; i < count; ++i) {
      if (seconds)
        seconds[i] = times.empty() ? 0 : times[i].seconds;
      if (processor_seconds)
        processor_seconds[i] = times.empty() ? 0 : times[i].processorSeconds;
      if (calls)
        calls[i] = times.empty() ? 0 : times[i].calls;
    }
  });
}

} // extern "C"
