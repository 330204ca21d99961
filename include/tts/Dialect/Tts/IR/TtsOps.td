//===- TtsOps.td - every op of the dialect, by family ---------------------===//

#ifndef TTS_DIALECT_TTS_IR_TTSOPS_TD
#define TTS_DIALECT_TTS_IR_TTSOPS_TD

include "tts/Dialect/Tts/IR/ElementwiseOps.td"
include "tts/Dialect/Tts/IR/ShapeOps.td"
include "tts/Dialect/Tts/IR/ContractionOps.td"
include "tts/Dialect/Tts/IR/NormOps.td"
include "tts/Dialect/Tts/IR/BatchNormOps.td"
include "tts/Dialect/Tts/IR/LossOps.td"
include "tts/Dialect/Tts/IR/OptimizerOps.td"
include "tts/Dialect/Tts/IR/RandomOps.td"
include "tts/Dialect/Tts/IR/CollectiveOps.td"

#endif // TTS_DIALECT_TTS_IR_TTSOPS_TD
