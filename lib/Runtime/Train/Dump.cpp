//===- Dump.cpp - cuts the padding off and writes ------------------------===//
//
// Every bucket has the same outputs; their dims' names say what to cut.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Dump.h"
#include "Runtime/Abi/Error.h"
#include <algorithm>
#include <cstring>

namespace tts::rt {

void appendCorner(const char *from, const std::vector<int64_t> &full,
                  const std::vector<int64_t> &shape, uint64_t elementSize,
                  size_t dim, std::vector<char> &out) {
  if (dim == shape.size()) {
    out.insert(out.end(), from, from + elementSize);
    return;
  }
  uint64_t step = elementSize;
  for (size_t d = dim + 1; d < full.size(); ++d)
    step *= uint64_t(full[d]);
  if (dim + 1 == shape.size()) {
    out.insert(out.end(), from, from + step * uint64_t(shape[dim]));
    return;
  }
  for (int64_t i = 0; i < shape[dim]; ++i)
    appendCorner(from + uint64_t(i) * step, full, shape, elementSize, dim + 1,
                 out);
}

Dump::Dump(const std::string &path, const Model &model, const Corpus &corpus,
           const Loader &loader, const std::vector<uint32_t> &wanted)
    : model(model), corpus(corpus), utterances(wanted) {
  for (const Output &output : model.manifest.outputs)
    if (output.bucket == 0 && !output.ofInfer)
      outputs.push_back(&output.tensor);
  if (outputs.empty())
    throw Error(Exit::BadInput, "--dump-outputs", "the model has no outputs",
                "give its eval program results");
  for (uint32_t u : utterances)
    for (const Tensor *output : outputs) {
      Tensor own = model.find("output:" + output->name, loader.buckets()[u]);
      layout.add(corpus.id(u) + "/" + output->name, own.dtype, shapeOf(own, u));
    }
  layout.close();
  file = File::openToWrite(path);
  layout.writeHeader(file);
}

std::vector<int64_t> Dump::shapeOf(const Tensor &output,
                                   uint32_t utterance) const {
  std::vector<int64_t> shape(output.shape.begin() + 1, output.shape.end());
  for (size_t d = 0; d < shape.size() && !output.dims.empty(); ++d) {
    int dim = corpus.dim(output.dims[d + 1]);
    if (dim >= 0)
      shape[d] = corpus.extent(utterance, dim);
  }
  return shape;
}

void Dump::write(const HostBatch &batch, size_t i) {
  const MicroBatch &micro = batch.microBatches[i];
  for (uint32_t slot = 0; slot < micro.count; ++slot) {
    uint32_t u = batch.utterances[micro.first + slot];
    size_t row = size_t(std::find(utterances.begin(), utterances.end(), u) -
                        utterances.begin());
    for (size_t o = 0; o < outputs.size(); ++o) {
      Tensor tensor = model.find("output:" + outputs[o]->name, micro.bucket);
      uint64_t bytes = tensor.at.size / uint64_t(tensor.shape[0]);
      std::vector<int64_t> full(tensor.shape.begin() + 1, tensor.shape.end());
      dense.clear();
      appendCorner(model.arena.at(tensor.at.offset) + slot * bytes, full,
                   shapeOf(tensor, u), dtypeSize(tensor.dtype), 0, dense);
      file.writeAt(dense.data(), dense.size(),
                   layout.offset(row * outputs.size() + o));
    }
  }
}

} // namespace tts::rt
