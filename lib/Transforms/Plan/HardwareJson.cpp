//===- HardwareJson.cpp - descriptions of machines as JSON ---------------===//

#include "tts/Transforms/Plan/Hardware.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tts::plan;
using llvm::json::Array;
using llvm::json::Object;

namespace {

/// A description's numbers by key, for reading and writing alike.
template <typename HardwareT, typename Visit>
void visitBytes(HardwareT &h, Visit visit) {
  visit("memory_bytes", h.memoryBytes);
  visit("offered_bytes", h.offeredBytes);
  visit("process_bytes", h.processBytes);
  visit("primitive_bytes", h.primitiveBytes);
}
template <typename HardwareT, typename Visit>
void visitRates(HardwareT &h, Visit visit) {
  visit("fp32_flops", "fp32_fraction", h.fp32);
  visit("tf32_flops", "tf32_fraction", h.tf32);
  visit("bf16_flops", "bf16_fraction", h.bf16);
  visit("fp16_flops", "fp16_fraction", h.fp16);
  visit("fp64_flops", "fp64_fraction", h.fp64);
  visit("bandwidth", "bandwidth_fraction", h.bandwidth);
}

/// A row of `conv1d`.
template <typename TimeT, typename Visit>
void visitConvTime(TimeT &time, Visit visit) {
  visit("rows", time.rows);
  visit("in", time.in);
  visit("out", time.out);
  visit("taps", time.taps);
  visit("products_ns", time.productsNs);
  visit("library_ns", time.libraryNs);
}

/// A row of `products`.
template <typename ShapeT, typename Visit>
void visitProduct(ShapeT &shape, Visit visit) {
  visit("m", shape.m);
  visit("n", shape.n);
  visit("k", shape.k);
  visit("taps", shape.taps);
}

/// Reads one description; each part says what is wrong with it, or nothing.
class Reader {
public:
  Reader(const Object &object, Hardware &hardware)
      : object(object), h(hardware) {}

  std::string read() {
    readNumbers();
    for (auto part :
         {&Reader::readLinks, &Reader::readCollectives, &Reader::readConvTimes,
          &Reader::readProducts, &Reader::readCaches, &Reader::readOperations,
          &Reader::check})
      if (std::string fault = (this->*part)(); !fault.empty())
        return fault;
    if (const Object *texts = object.getObject("sources"))
      for (const auto &[key, text] : *texts)
        h.sources[key.str()] = text.getAsString().value_or("").str();
    return "";
  }

private:
  void readNumbers() {
    auto number = [&](llvm::StringRef key, double &field) {
      field = object.getNumber(key).value_or(field);
    };
    h.memoryBytes = h.offeredBytes =
        object.getInteger("memory_bytes").value_or(h.memoryBytes);
    visitBytes(h, [&](llvm::StringRef key, int64_t &field) {
      field = object.getInteger(key).value_or(field);
    });
    visitRates(h,
               [&](llvm::StringRef key, llvm::StringRef fraction, Rate &rate) {
                 number(key, rate.peak);
                 number(fraction, rate.fraction);
               });
    number("entry_seconds", h.entrySeconds);
    number("call_seconds", h.callSeconds);
  }

  std::string readLinks() {
    const Array *rows = object.getArray("links");
    if (!rows)
      return "";
    h.links.clear();
    for (const llvm::json::Value &value : *rows) {
      const Object *row = value.getAsObject();
      if (!row || !row->getNumber("bandwidth"))
        return "has a row of \"links\" without bandwidth";
      Link link{row->getString("name").value_or("link").str(),
                row->getInteger("ranks").value_or(0),
                *row->getNumber("bandwidth"),
                row->getNumber("latency").value_or(0)};
      if (link.ranks < 0 || !(link.bandwidth > 0) || !(link.latency >= 0))
        return "has a row of \"links\" that is not positive";
      bool isAfterAll = !h.links.empty() && h.links.back().ranks == 0;
      if (isAfterAll || (link.ranks && !h.links.empty() &&
                         link.ranks <= h.links.back().ranks))
        return "has \"links\" whose ranks do not ascend";
      h.links.push_back(std::move(link));
    }
    return "";
  }

  std::string readCollectives() {
    const Array *rows = object.getArray("collectives");
    if (!rows)
      return "";
    h.collectives.clear();
    for (const llvm::json::Value &value : *rows) {
      const Object *row = value.getAsObject();
      CollectiveBuffers buffers{row ? row->getInteger("ranks").value_or(0) : 0,
                                row ? row->getInteger("bytes").value_or(-1)
                                    : -1};
      if (buffers.bytes < 0 || buffers.ranks < 2 ||
          (!h.collectives.empty() &&
           buffers.ranks <= h.collectives.back().ranks))
        return "has \"collectives\" that are not ranks, ascending from 2, and "
               "bytes";
      h.collectives.push_back(buffers);
    }
    return "";
  }

  std::string readConvTimes() {
    const Array *rows = object.getArray("conv1d");
    if (!rows)
      return "";
    h.convTimes.clear();
    for (const llvm::json::Value &value : *rows) {
      const Object *row = value.getAsObject();
      auto direction = row ? row->getString("direction") : std::nullopt;
      ConvTime time{};
      bool isWhole = direction == "forward" || direction == "input_gradient";
      if (isWhole) {
        time.transpose = *direction != "forward";
        visitConvTime(time, [&](llvm::StringRef key, int64_t &field) {
          field = row->getInteger(key).value_or(0);
          isWhole &= field > 0;
        });
      }
      if (!isWhole)
        return "has a row of \"conv1d\" without direction (forward or "
               "input_gradient), rows, in, out, taps, products_ns and "
               "library_ns, all positive";
      h.convTimes.push_back(time);
    }
    return "";
  }

  std::string readProducts() {
    const Array *rows = object.getArray("products");
    if (!rows)
      return "";
    h.products.clear();
    for (const llvm::json::Value &value : *rows) {
      const Object *row = value.getAsObject();
      ProductRate rate;
      if (row) {
        rate.shape.precision = row->getString("precision").value_or("").str();
        rate.shape.transposeA = row->getBoolean("transpose_a").value_or(false);
        rate.shape.transposeB = row->getBoolean("transpose_b").value_or(false);
        rate.shape.accumulates = row->getBoolean("accumulates").value_or(false);
        visitProduct(rate.shape, [&](llvm::StringRef key, int64_t &field) {
          field = row->getInteger(key).value_or(0);
        });
        rate.flopsPerSecond = row->getNumber("flops").value_or(0);
      }
      const ProductShape &shape = rate.shape;
      if (shape.precision.empty() || shape.m < 1 || shape.n < 1 ||
          shape.k < 1 || shape.taps < 0 || !(rate.flopsPerSecond > 0))
        return "has a row of \"products\" without precision, m, n, k and "
               "flops, all positive";
      h.products.push_back(std::move(rate));
    }
    return "";
  }

  std::string readCaches() {
    const Array *rows = object.getArray("caches");
    if (!rows)
      return "";
    h.caches.clear();
    for (const llvm::json::Value &value : *rows) {
      const Object *row = value.getAsObject();
      Cache cache{row ? row->getInteger("bytes").value_or(0) : 0,
                  row ? row->getNumber("bandwidth").value_or(0) : 0};
      if (cache.bytes < 1 || !(cache.bandwidth > 0) ||
          (!h.caches.empty() && cache.bytes <= h.caches.back().bytes))
        return "has \"caches\" that are not bytes, ascending, and bandwidth";
      h.caches.push_back(cache);
    }
    return "";
  }

  std::string readOperations() {
    const Object *rows = object.getObject("operation_seconds");
    if (!rows)
      return "";
    h.operationSeconds.clear();
    for (const auto &[name, value] : *rows) {
      std::optional<double> seconds = value.getAsNumber();
      if (!seconds || !(*seconds >= 0))
        return "has \"operation_seconds\" that are negative or no numbers";
      h.operationSeconds[name.str()] = *seconds;
    }
    return "";
  }

  std::string check() {
    std::string fault;
    visitBytes(h, [&](llvm::StringRef key, int64_t &field) {
      bool mayBeZero = key == "process_bytes" || key == "primitive_bytes";
      if (field < 0 || (field == 0 && !mayBeZero))
        fault = "has a byte count that is not positive";
    });
    visitRates(h, [&](llvm::StringRef key, llvm::StringRef, Rate &rate) {
      if (!(rate.peak > 0) || !(rate.fraction > 0 && rate.fraction <= 1))
        fault = "has a rate that is not positive, or a fraction outside "
                "(0, 1]: " +
                key.str();
    });
    return fault;
  }

  const Object &object;
  Hardware &h;
};

} // namespace

std::string Hardware::json() const {
  Object object{{"name", name},
                {"device", isGpu ? "gpu" : "cpu"},
                {"entry_seconds", entrySeconds},
                {"call_seconds", callSeconds},
                {"source", source}};
  visitBytes(*this, [&](const char *key, int64_t v) { object[key] = v; });
  visitRates(*this, [&](const char *key, const char *part, const Rate &rate) {
    object[key] = rate.peak;
    object[part] = rate.fraction;
  });
  Array joins, buffers, times, rates, levels;
  for (const Link &link : links)
    joins.push_back(Object{{"name", link.name},
                           {"ranks", link.ranks},
                           {"bandwidth", link.bandwidth},
                           {"latency", link.latency}});
  for (const CollectiveBuffers &from : collectives)
    buffers.push_back(Object{{"ranks", from.ranks}, {"bytes", from.bytes}});
  for (const ConvTime &time : convTimes) {
    Object row{{"direction", time.transpose ? "input_gradient" : "forward"}};
    visitConvTime(time, [&](const char *key, int64_t v) { row[key] = v; });
    times.push_back(std::move(row));
  }
  for (const ProductRate &rate : products) {
    Object row{{"precision", rate.shape.precision},
               {"transpose_a", rate.shape.transposeA},
               {"transpose_b", rate.shape.transposeB},
               {"accumulates", rate.shape.accumulates},
               {"flops", rate.flopsPerSecond}};
    visitProduct(rate.shape, [&](const char *key, int64_t v) { row[key] = v; });
    rates.push_back(std::move(row));
  }
  for (const Cache &cache : caches)
    levels.push_back(
        Object{{"bytes", cache.bytes}, {"bandwidth", cache.bandwidth}});
  Object texts, operations;
  for (const auto &[operation, seconds] : operationSeconds)
    operations[operation] = seconds;
  for (const auto &[key, text] : sources)
    texts[key] = text;
  object["links"] = std::move(joins);
  object["collectives"] = std::move(buffers);
  object["conv1d"] = std::move(times);
  object["products"] = std::move(rates);
  object["caches"] = std::move(levels);
  object["operation_seconds"] = std::move(operations);
  object["sources"] = std::move(texts);
  return llvm::formatv("{0}", llvm::json::Value(std::move(object)));
}

llvm::Expected<Hardware> tts::plan::parseHardware(llvm::StringRef text,
                                                  llvm::StringRef place) {
  auto bad = [&](const llvm::Twine &what) {
    return llvm::createStringError(place + ": " + what);
  };
  auto value = llvm::json::parse(text);
  if (!value)
    return bad(llvm::toString(value.takeError()));
  const Object *object = value->getAsObject();
  bool isGpu = object && object->getString("device").value_or("cpu") == "gpu";
  if (!object || !object->getString("name") ||
      (isGpu && !object->getInteger("memory_bytes")))
    return bad("lacks \"name\" or, of a GPU, \"memory_bytes\"");

  Hardware h = describeHost();
  h.name = object->getString("name")->str();
  h.isGpu = isGpu;
  h.source = object->getString("source").value_or(place).str();
  h.sources.clear();
  if (h.isGpu) {
    h.convTimes.clear();
    h.products.clear();
    h.caches.clear();
    h.operationSeconds.clear();
    h.links.clear();
    h.collectives.clear();
  }
  if (std::string fault = Reader(*object, h).read(); !fault.empty())
    return bad(fault);
  return h;
}
