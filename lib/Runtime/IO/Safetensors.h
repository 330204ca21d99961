//===- Safetensors.h - reads and writes safetensors files ----------------===//
//
// The format: eight bytes of header length, a JSON header, then the tensors'
// bytes. Headers are bounded and every offset is checked. A file to be written
// is laid out in advance, so that writing allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_RUNTIME_IO_SAFETENSORS_H
#define TTS_RUNTIME_IO_SAFETENSORS_H

#include "Runtime/Abi/DType.h"
#include "Runtime/IO/File.h"
#include <map>
#include <string>
#include <vector>

namespace tts::rt {

/// The format's own bound on a header.
constexpr uint64_t maxSafetensorsHeader = 100'000'000;

struct StoredTensor {
  std::string name;
  std::optional<TtsDType> dtype; ///< empty: one the runtime has no use for
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< from the start of the file
  uint64_t size = 0;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads and checks the header, also against the file's length. Throws
/// Exit::BadInput.
SafetensorsHeader readSafetensorsHeader(const File &file);

/// Reads a tensor as `dtype` into `data`, converting F32 ↔ F64.
void readTensorAs(const File &file, const StoredTensor &tensor, TtsDType dtype,
                  void *data);
/// Elements [first, first + count) of it.
void readPartAs(const File &file, const StoredTensor &tensor, TtsDType dtype,
                uint64_t first, uint64_t count, void *data);

/// A safetensors file before it is written.
class SafetensorsLayout {
public:
  /// Adds a tensor; returns its index.
  size_t add(const std::string &name, TtsDType dtype,
             const std::vector<int64_t> &shape, const void *data = nullptr);
  /// Likewise, `data` being elements [first, first + count) of it only: others
  /// write the rest.
  size_t addPart(const std::string &name, TtsDType dtype,
                 const std::vector<int64_t> &shape, const void *data,
                 uint64_t first, uint64_t count);
  /// Fixes the header; no more tensors after this.
  void close();

  /// Writes header and all tensors from their data.
  void writeTo(File &file) const;
  /// Writes what there is of tensors that were added in part, where it belongs.
  void writeParts(File &file) const;
  /// Writes header and whole tensors where they belong: parts are not touched.
  void writeWholes(File &file) const;
  void writeHeader(File &file) const { file.write(header); }
  bool hasParts() const; ///< that are not empty
  /// Where tensor i begins in the file.
  uint64_t offset(size_t i) const { return header.size() + parts[i].begin; }

private:
  struct Part {
    std::string name;
    TtsDType dtype;
    std::vector<int64_t> shape;
    uint64_t begin, size;
    const void *data;
    bool isPart = false;
    uint64_t dataBegin = 0, dataSize = 0; ///< of a part, in the tensor
  };
  std::vector<Part> parts;
  uint64_t end = 0;
  std::string header; ///< length, JSON, padding
};

} // namespace tts::rt

#endif // TTS_RUNTIME_IO_SAFETENSORS_H
