//===- Dump.h - outputs of eval into a safetensors file ------------------===//
//
// Tensors `<utterance>/<output>`, cut to the utterance's own extents: what a
// vocoder, a plot or a comparison wants.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_TRAIN_DUMP_H
#define TTS_RUNTIME_TRAIN_DUMP_H

#include "Runtime/IO/Loader.h"
#include "Runtime/IO/Safetensors.h"
#include "Runtime/Train/Model.h"

namespace tts::rt {

/// Appends the corner `shape` of a tensor with extents `full`, from dimension
/// `dim` on.
void appendCorner(const char *from, const std::vector<int64_t> &full,
                  const std::vector<int64_t> &shape, uint64_t elementSize,
                  size_t dim, std::vector<char> &out);

class Dump {
public:
  /// Lays the file out for these utterances and writes its header.
  Dump(const std::string &path, const Model &model, const Corpus &corpus,
       const Loader &loader, const std::vector<uint32_t> &utterances);

  /// Writes the outputs of micro-batch i, which eval has just run on.
  void write(const HostBatch &batch, size_t i);
  void close() { file.syncAndClose(); }

private:
  std::vector<int64_t> shapeOf(const Tensor &output, uint32_t utterance) const;

  const Model &model;
  const Corpus &corpus;
  std::vector<uint32_t> utterances;
  std::vector<const Tensor *> outputs; ///< of bucket 0, for names and dims
  SafetensorsLayout layout;            ///< utterances × outputs
  File file;
  std::vector<char> dense;
};

} // namespace tts::rt

#endif // TTS_RUNTIME_TRAIN_DUMP_H
