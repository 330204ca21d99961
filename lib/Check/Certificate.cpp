// The certificate's hashes, sums, classes, buckets and buffers against what the
// table says.
#include "Certificate.h"

using namespace tts::check;

namespace {

class Comparison {
public:
  Comparison(const Json &certificate, const Table &table,
             const Manifest &manifest, const Peak &peak, Report &report)
      : certificate(certificate), table(table), manifest(manifest), peak(peak),
        report(report) {}

  void checkHashes(const std::string &executableHash) {
    if (asBytes(member(certificate, "version")) != uint64_t(1))
      fail("version is not 1", "use the tts-check of the compiler's release");
    const Json &hashes = member(certificate, "hashes");
    if (asText(member(hashes, "executable")) != executableHash)
      fail("hashes.executable is not the executable's SHA-256",
           "check the executable that was compiled with this certificate");
    if (member(hashes, "model") != member(manifest.json, "model_hash"))
      fail("hashes.model is not the manifest's model_hash");
  }

  void checkFigures() {
    const uint64_t arena = same("arena_bytes", manifest.arenaBytes);
    same("peak_bytes", manifest.peakBytes);
    same("budget_bytes", manifest.budgetBytes);
    if (arena != table.header.arena_bytes)
      fail("arena_bytes " + std::to_string(arena) + ", the step table's is " +
           std::to_string(table.header.arena_bytes));
    if (manifest.peakBytes > manifest.budgetBytes)
      fail("peak_bytes " + std::to_string(manifest.peakBytes) +
           " is more than budget_bytes " +
           std::to_string(manifest.budgetBytes));
    same("lower_bound_bytes", peak.bytes);
  }

  void checkClasses() {
    const Json &classes = member(certificate, "classes");
    uint64_t inArena = 0;
    for (uint32_t c = 0; c < numClasses; ++c) {
      inArena += peak.classes[c];
      sameClass(classes, className(c), peak.classes[c]);
    }
    // More live bytes than arena: an overlap, and named as such elsewhere.
    const uint64_t arena = table.header.arena_bytes;
    sameClass(classes, "unused", inArena > arena ? 0 : arena - inArena);
    sameClass(classes, "overhead", manifest.overheadBytes);
    uint64_t sum = 0;
    if (classes.is_object())
      for (const auto &[name, value] : classes.items()) {
        sum += asBytes(value).value_or(0);
        if (!isClass(name))
          fail("classes has an unknown class " + name);
      }
    if (sum != manifest.peakBytes)
      fail("classes sum to " + std::to_string(sum) + ", peak_bytes is " +
           std::to_string(manifest.peakBytes));
    if (arena + manifest.overheadBytes != manifest.peakBytes)
      fail("arena_bytes + overhead is not peak_bytes");
  }

  void checkBuckets() {
    sameIfThere("batch");
    sameIfThere("batch_frames");
    sameIfThere("precision");
    sameIfThere("update_in_backward");
    const Json &here = member(certificate, "buckets");
    const Json &there = member(manifest.json, "buckets");
    if (!here.is_array() || here.size() != there.size()) {
      fail("buckets are not as many as the manifest's");
      return;
    }
    for (size_t b = 0; b < here.size(); ++b)
      for (const char *key : {"dims", "micro_batch"})
        if (member(here[b], key) != member(there[b], key) ||
            member(here[b], key).is_null())
          fail("buckets[" + std::to_string(b) + "]." + key +
               " is not the manifest's");
  }

  /// A smaller model is no plan of this one.
  void checkExperiment() {
    const Json &told = member(certificate, "experiment");
    if (told.is_null())
      return;
    uint64_t count = 0;
    for (const Place &parameter : manifest.places)
      count += parameter.elements;
    expect("experiment.parameters", member(told, "parameters"), count);
    if (member(told, "batch") != member(manifest.json, "batch"))
      fail("experiment.batch is not the manifest's");
  }

  void checkBuffers() {
    const Json &buffers = member(certificate, "buffers");
    if (!buffers.is_array() || buffers.size() != table.buffers.size()) {
      fail("buffers has " +
           std::to_string(buffers.is_array() ? buffers.size() : 0) +
           " records, the step table " + std::to_string(table.buffers.size()));
      return;
    }
    for (size_t b = 0; b < table.buffers.size(); ++b) {
      const TtsBuffer &buffer = table.buffers[b];
      const std::string program = table.programLabel(buffer.program);
      sameText(buffers[b], b, "name", table.name(buffer.name));
      sameText(buffers[b], b, "loc", table.name(buffer.loc));
      sameText(buffers[b], b, "class", className(buffer.klass));
      sameText(buffers[b], b, "program", program);
      sameNumber(buffers[b], b, "offset", buffer.offset);
      sameNumber(buffers[b], b, "size", buffer.size);
    }
  }

private:
  const Json &certificate;
  const Table &table;
  const Manifest &manifest;
  const Peak &peak;
  Report &report;

  void fail(const std::string &what,
            const std::string &whatToDo = Report::recompile) {
    report.fail("certificate", what, whatToDo);
  }

  static bool isClass(const std::string &name) {
    for (uint32_t c = 0; c < numClasses; ++c)
      if (className(c) == name)
        return true;
    return name == "unused" || name == "overhead";
  }

  void expect(const std::string &name, const Json &value, uint64_t expected) {
    auto told = asBytes(value);
    if (!told)
      fail(name + " is missing or no number of bytes");
    else if (*told != expected)
      fail(name + " is " + std::to_string(*told) + ", the step table gives " +
           std::to_string(expected));
  }

  uint64_t same(const char *key, uint64_t expected) {
    expect(key, member(certificate, key), expected);
    return asBytes(member(certificate, key)).value_or(0);
  }

  void sameClass(const Json &classes, const std::string &name,
                 uint64_t expected) {
    expect("classes." + name, member(classes, name.c_str()), expected);
  }

  void sameIfThere(const char *key) {
    const Json &there = member(manifest.json, key);
    if (!there.is_null() && member(certificate, key) != there)
      fail(std::string(key) + " is not the manifest's");
  }

  void sameText(const Json &record, size_t index, const char *key,
                const std::string &expected) {
    if (asText(member(record, key)) != expected)
      fail("buffers[" + std::to_string(index) + "]." + key +
           " is not the step table's " + expected);
  }

  void sameNumber(const Json &record, size_t index, const char *key,
                  uint64_t expected) {
    if (asBytes(member(record, key)) != expected)
      fail("buffers[" + std::to_string(index) + "]." + key +
           " is not the step table's " + std::to_string(expected));
  }
};

} // namespace

void tts::check::checkCertificate(const Json &certificate, const Table &table,
                                  const Manifest &manifest, const Peak &peak,
                                  const std::string &executableHash,
                                  Report &report) {
  Comparison comparison(certificate, table, manifest, peak, report);
  comparison.checkHashes(executableHash);
  comparison.checkFigures();
  comparison.checkClasses();
  comparison.checkBuckets();
  comparison.checkExperiment();
  comparison.checkBuffers();
}
