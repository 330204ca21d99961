//===- AttributeJson.cpp - attributes as JSON ----------------------------===//

#include "tts/Conversion/RtToLLVM/AttributeJson.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace {
template <typename Range> llvm::json::Array toArray(Range &&range) {
  llvm::json::Array array;
  for (auto element : range)
    array.push_back(llvm::json::Value(element));
  return array;
}

/// JSON text must be UTF-8; names of a model file may be any bytes.
std::string toUtf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}
} // namespace

llvm::json::Value tts::toJson(Attribute attribute) {
  using llvm::json::Value;
  return llvm::TypeSwitch<Attribute, Value>(attribute)
      .Case([](DictionaryAttr dictionary) -> Value {
        llvm::json::Object object;
        for (NamedAttribute entry : dictionary)
          object.try_emplace(toUtf8(entry.getName()), toJson(entry.getValue()));
        return object;
      })
      .Case([](ArrayAttr elements) -> Value {
        llvm::json::Array array;
        for (Attribute element : elements)
          array.push_back(toJson(element));
        return array;
      })
      .Case([](StringAttr text) -> Value { return toUtf8(text.getValue()); })
      .Case([](BoolAttr flag) -> Value { return flag.getValue(); })
      .Case([](IntegerAttr integer) -> Value {
        return integer.getValue().getSExtValue();
      })
      .Case([](FloatAttr number) -> Value { return number.getValueAsDouble(); })
      .Case([](DenseI64ArrayAttr array) -> Value {
        return toArray(array.asArrayRef());
      })
      .Case([](DenseF64ArrayAttr array) -> Value {
        return toArray(array.asArrayRef());
      })
      .Case([](UnitAttr) -> Value { return nullptr; })
      .Default([](Attribute other) -> Value {
        std::string text;
        llvm::raw_string_ostream(text) << other;
        return toUtf8(text);
      });
}
