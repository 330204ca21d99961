//===- Safetensors.cpp - headers in and out ------------------------------===//
//
// nlohmann-json reads the header text; what it says is checked against the
// file before anyone trusts it.
//
//===----------------------------------------------------------------------===//

#include "Runtime/IO/Safetensors.h"
#include "Runtime/Abi/Error.h"
#include <cstring>
#include <nlohmann/json.hpp>

namespace tts::rt {

using Json = nlohmann::json;

namespace {

[[noreturn]] void damaged(const File &file, const std::string &what) {
  throw Error(Exit::BadInput, file.path(), what,
              "the file is damaged: make or copy it again");
}

StoredTensor readEntry(const File &file, const std::string &name,
                       const Json &json, uint64_t dataStart,
                       uint64_t dataBytes) {
  StoredTensor tensor;
  tensor.name = name;
  tensor.dtype = dtypeFromName(json.at("dtype").get<std::string>());
  tensor.shape = json.at("shape").get<std::vector<int64_t>>();
  const Json &range = json.at("data_offsets");
  uint64_t begin = range.at(0).get<uint64_t>();
  uint64_t end = range.at(1).get<uint64_t>();
  if (begin > end || end > dataBytes)
    damaged(file, "tensor '" + name + "' reaches outside the file");
  tensor.offset = dataStart + begin;
  tensor.size = end - begin;
  uint64_t bytes = tensor.dtype ? dtypeSize(*tensor.dtype) : 0;
  for (int64_t extent : tensor.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, uint64_t(extent), &bytes))
      damaged(file, "tensor '" + name + "' has an impossible shape");
  if (tensor.dtype && bytes != tensor.size)
    damaged(file, "tensor '" + name + "' does not have the size of its shape");
  return tensor;
}

template <typename From, typename To>
void convert(const File &file, const StoredTensor &tensor, uint64_t first,
             uint64_t count, void *data) {
  From chunk[512];
  To *to = static_cast<To *>(data);
  for (uint64_t i = 0; i < count; i += 512) {
    uint64_t n = std::min<uint64_t>(512, count - i);
    file.readAt(chunk, n * sizeof(From),
                tensor.offset + (first + i) * sizeof(From));
    for (uint64_t j = 0; j < n; ++j)
      to[i + j] = To(chunk[j]);
  }
}

} // namespace

SafetensorsHeader readSafetensorsHeader(const File &file) {
  uint64_t fileBytes = file.size(), length = 0;
  if (fileBytes < 8)
    damaged(file, "is shorter than a safetensors header");
  file.readAt(&length, 8, 0);
  if (length > maxSafetensorsHeader)
    damaged(file, "its header says " + std::to_string(length) +
                      " bytes, over the format's 100 MB");
  if (length > fileBytes - 8)
    damaged(file, "its header is truncated");
  std::string text(length, '\0');
  file.readAt(text.data(), length, 8);
  SafetensorsHeader header;
  try {
    Json json = Json::parse(text);
    if (!json.is_object())
      damaged(file, "its header is not a JSON object");
    for (const auto &[name, entry] : json.items())
      if (name == "__metadata__")
        header.metadata = entry.get<std::map<std::string, std::string>>();
      else
        header.tensors.push_back(
            readEntry(file, name, entry, 8 + length, fileBytes - 8 - length));
  } catch (const Json::exception &e) {
    damaged(file, std::string("its header cannot be read (") + e.what() + ")");
  }
  return header;
}

void readTensorAs(const File &file, const StoredTensor &tensor, TtsDType dtype,
                  void *data) {
  uint64_t size = tensor.dtype ? dtypeSize(*tensor.dtype) : 1;
  readPartAs(file, tensor, dtype, 0, tensor.size / size, data);
}

void readPartAs(const File &file, const StoredTensor &tensor, TtsDType dtype,
                uint64_t first, uint64_t count, void *data) {
  if (tensor.dtype == dtype)
    return file.readAt(data, count * dtypeSize(dtype),
                       tensor.offset + first * dtypeSize(dtype));
  if (tensor.dtype == TTS_F32 && dtype == TTS_F64)
    return convert<float, double>(file, tensor, first, count, data);
  if (tensor.dtype == TTS_F64 && dtype == TTS_F32)
    return convert<double, float>(file, tensor, first, count, data);
  throw Error(Exit::BadInput, file.path(),
              "tensor '" + tensor.name + "' has not the dtype " +
                  dtypeName(dtype),
              "convert it to F32 or F64");
}

size_t SafetensorsLayout::add(const std::string &name, TtsDType dtype,
                              const std::vector<int64_t> &shape,
                              const void *data) {
  uint64_t size = dtypeSize(dtype);
  for (int64_t extent : shape)
    size *= uint64_t(extent);
  parts.push_back({name, dtype, shape, end, size, data});
  end += size;
  return parts.size() - 1;
}

size_t SafetensorsLayout::addPart(const std::string &name, TtsDType dtype,
                                  const std::vector<int64_t> &shape,
                                  const void *data, uint64_t first,
                                  uint64_t count) {
  size_t index = add(name, dtype, shape, data);
  Part &part = parts[index];
  part.isPart = true;
  part.dataBegin = first * dtypeSize(dtype);
  part.dataSize = count * dtypeSize(dtype);
  return index;
}

void SafetensorsLayout::close() {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Part &part : parts)
    json[part.name] = {{"dtype", dtypeName(part.dtype)},
                       {"shape", part.shape},
                       {"data_offsets", {part.begin, part.begin + part.size}}};
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  header.assign(reinterpret_cast<const char *>(&length), 8);
  header += text;
}

void SafetensorsLayout::writeTo(File &file) const {
  writeHeader(file);
  for (const Part &part : parts)
    file.write(part.data, part.size);
}

bool SafetensorsLayout::hasParts() const {
  for (const Part &part : parts)
    if (part.isPart && part.dataSize)
      return true;
  return false;
}

void SafetensorsLayout::writeParts(File &file) const {
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].isPart && parts[i].dataSize)
      file.writeAt(parts[i].data, parts[i].dataSize,
                   offset(i) + parts[i].dataBegin);
}

void SafetensorsLayout::writeWholes(File &file) const {
  file.writeAt(header.data(), header.size(), 0);
  for (size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].isPart)
      file.writeAt(parts[i].data, parts[i].size, offset(i));
}

} // namespace tts::rt
