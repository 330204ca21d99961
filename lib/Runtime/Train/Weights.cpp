//===- Weights.cpp - loads and saves parameters by name ------------------===//
//
// Nothing is written into the arena before the whole file is known to fit.
//
//===----------------------------------------------------------------------===//

#include "Runtime/Train/Weights.h"
#include "Runtime/Abi/Error.h"
#include "Runtime/Train/Initialize.h"
#include <unordered_map>

namespace tts::rt {

namespace {

/// Where each wanted tensor goes, or the part of it that is here: none of one
/// that is another pipeline stage's, which the file must have all the same.
struct Wanted {
  std::string name;
  const Tensor *like;
  uint64_t offset;
  Part part;
};

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

size_t loadAll(const File &file, const std::vector<Wanted> &wanted,
               const Arena &arena) {
  SafetensorsHeader header = readSafetensorsHeader(file);
  std::unordered_map<std::string, const StoredTensor *> byName;
  for (const StoredTensor &tensor : header.tensors)
    byName[tensor.name] = &tensor;
  std::vector<const StoredTensor *> found;
  for (const Wanted &w : wanted) {
    auto it = byName.find(w.name);
    if (it == byName.end())
      throw Error(Exit::BadInput, file.path(),
                  "tensor '" + w.name + "' is missing",
                  "use weights of this model");
    if (it->second->shape != w.like->shape)
      throw Error(Exit::BadInput, file.path(),
                  "tensor '" + w.name + "' has the shape " +
                      shapeText(it->second->shape) + ", the model " +
                      shapeText(w.like->shape),
                  "use weights of this model");
    found.push_back(it->second);
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    readPartAs(file, *found[i], wanted[i].like->dtype, wanted[i].part.first,
               wanted[i].part.count, arena.at(wanted[i].offset));
  return header.tensors.size() - wanted.size();
}

} // namespace

size_t loadWeights(const Manifest &manifest, const Arena &arena,
                   const std::string &path) {
  std::vector<Wanted> wanted;
  for (const Parameter &p : manifest.parameters)
    wanted.push_back({p.value.name, &p.value, p.value.at.offset,
                      manifest.partOf(p, p.value.at)});
  size_t others = loadAll(File::openToRead(path), wanted, arena);
  refreshHalfCopies(manifest, arena);
  return others;
}

size_t loadStates(const Manifest &manifest, const Arena &arena,
                  const File &file, Slice Parameter::*state,
                  const std::string &prefix) {
  std::vector<Wanted> wanted;
  for (const Parameter &p : manifest.parameters)
    if (p.*state)
      wanted.push_back({prefix + p.value.name, &p.value, (p.*state).offset,
                        manifest.partOf(p, p.*state)});
  return loadAll(file, wanted, arena);
}

void saveWeights(const Manifest &manifest, const Arena &arena,
                 const std::string &path) {
  SafetensorsLayout layout;
  for (const Parameter &p : manifest.parameters)
    layout.add(p.value.name, p.value.dtype, p.value.shape,
               arena.at(p.value.at.offset));
  layout.close();
  File file = File::openToWrite(path);
  layout.writeTo(file);
  file.syncAndClose();
}

} // namespace tts::rt
