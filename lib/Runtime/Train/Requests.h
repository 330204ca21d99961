//===- Requests.h - what infer is asked to speak -------------------------===//
//
// A safetensors file of tensors `<request>/<input>`, each without its batch
// dimension and without padding. Their sizes must agree; a request goes to the
// first bucket that holds it.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_REQUESTS_H
#define TTS_RUNTIME_TRAIN_REQUESTS_H

#include "Runtime/IO/Safetensors.h"
#include "Runtime/Train/Model.h"
#include <map>

namespace tts::rt {

/// One request, its inputs in the order of the bucket's.
struct Request {
  std::string id;
  std::map<std::string, int64_t> extents; ///< by dim's name
  std::vector<std::vector<char>> inputs;  ///< dense; empty for lengths
  uint32_t bucket = 0;
};

/// Reads and checks all of them. Throws Exit::BadInput.
std::vector<Request> readRequests(const std::string &path,
                                  const Manifest &manifest);

/// Whether a bucket's dims are as large as the known extents.
bool holds(const Bucket &bucket, const Request &request);

/// Fills the inputs of a bucket, zero beyond each request's extents.
void fillInputs(const Bucket &bucket, const std::vector<Request *> &requests,
                const Arena &arena);

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_REQUESTS_H
