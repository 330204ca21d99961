/* A loader in plain C: opens a compiled model, steps on its own batch, prints
 * the loss, the norm and a weight.
 *
 *     gcc -std=c11 -I include test/Runtime/loader.c -ldl -o loader && ./loader
 * model.so parameter
 *
 * It knows the model by its C API and the manifest only; every input is zero
 * but for lengths, which are full. */

#include "tts-runtime/Runtime.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions it uses, by name. */
static struct {
  TtsSession *(*create)(void);
  void (*destroy)(TtsSession *);
  const char *(*last_error)(void);
  int (*initialise)(TtsSession *, uint64_t);
  int (*step)(TtsSession *, uint64_t, int64_t, double, double,
              const TtsMicroBatch *, uint64_t, TtsStepResult *);
  int (*read)(TtsSession *, const char *, uint32_t, void *, uint64_t);
  int (*tap)(TtsSession *, TtsTap, void *);
} tts;

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "error: loader: no %s in the library; recompile it\n",
            name);
    exit(7);
  }
  return address;
}

static void load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "error: loader: %s; compile it with -o model.so\n",
            dlerror());
    exit(1);
  }
  *(void **)&tts.create = symbol(library, "tts_session_create");
  *(void **)&tts.destroy = symbol(library, "tts_session_destroy");
  *(void **)&tts.last_error = symbol(library, "tts_last_error");
  *(void **)&tts.initialise = symbol(library, "tts_session_initialise");
  *(void **)&tts.step = symbol(library, "tts_session_step");
  *(void **)&tts.read = symbol(library, "tts_session_read");
  *(void **)&tts.tap = symbol(library, "tts_session_tap");
}

/* A failed call is its exit code. */
static void check(int code) {
  if (code) {
    fprintf(stderr, "error: %s\n", tts.last_error());
    exit(code);
  }
}

/* Counts the matrix products. */
static int count(void *user, const TtsEntryView *entry) {
  if (strcmp(entry->function, "rt.gemm") == 0)
    ++*(int *)user;
  return 0;
}

/* A micro-batch from "name=file" arguments: the bytes of each input. */
static TtsNamedData input(char *argument) {
  char *path = strchr(argument, '=');
  FILE *file = path ? fopen(path + 1, "rb") : NULL;
  TtsNamedData data = {argument, NULL, 0};
  if (!file || fseek(file, 0, SEEK_END)) {
    fprintf(stderr, "error: loader: %s: cannot be read; say name=file\n",
            argument);
    exit(1);
  }
  *path = '\0';
  data.bytes = (uint64_t)ftell(file);
  void *bytes = malloc(data.bytes);
  rewind(file);
  if (!bytes || fread(bytes, 1, data.bytes, file) != data.bytes) {
    fprintf(stderr, "error: loader: %s: is cut short; write it again\n",
            argument);
    exit(1);
  }
  fclose(file);
  data.data = bytes;
  return data;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "error: loader: too few arguments; say MODEL.so "
                    "SCALAR_PARAMETER INPUT=FILE…\n");
    return 2;
  }
  load(argv[1]);
  TtsSession *session = tts.create();
  if (!session)
    check(7);
  check(tts.initialise(session, 1));

  TtsNamedData inputs[16];
  TtsMicroBatch batch = {0, 0, inputs};
  for (int i = 3; i < argc && batch.num_inputs < 16; ++i)
    inputs[batch.num_inputs++] = input(argv[i]);

  int products = 0;
  check(tts.tap(session, count, &products));
  TtsStepResult result = {0, 0, NULL};
  for (int64_t update = 1; update <= 3; ++update) {
    check(tts.step(session, 7, update, 0.1, 0.0, &batch, 1, &result));
    printf("%" PRId64 " %.17g %.17g %d\n", update, result.loss,
           result.grad_norm, products);
  }
  float weight;
  check(tts.read(session, argv[2], 0, &weight, sizeof weight));
  printf("%.9g\n", (double)weight);
  tts.destroy(session);
  for (uint32_t i = 0; i < batch.num_inputs; ++i)
    free((void *)inputs[i].data);
  return 0;
}
