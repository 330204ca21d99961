//===- AttributeJson.h - attributes as JSON -----------------*- C++ -*-===//

#ifndef TTS_CONVERSION_RTTOLLVM_ATTRIBUTEJSON_H
#define TTS_CONVERSION_RTTOLLVM_ATTRIBUTEJSON_H

#include "mlir/IR/Attributes.h"
#include "llvm/Support/JSON.h"

namespace tts {

/// Dictionaries, arrays, strings, booleans (i1), integers, floats and dense
/// arrays of i64 or f64 as what they are, a unit attribute as null; what else
/// there is as its text.
llvm::json::Value toJson(mlir::Attribute attribute);

} // namespace tts

#endif // TTS_CONVERSION_RTTOLLVM_ATTRIBUTEJSON_H
