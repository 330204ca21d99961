//===- CollectiveOps.td - values over the ranks of a job ------------------===//

#ifndef TTS_DIALECT_TTS_IR_COLLECTIVEOPS_TD
#define TTS_DIALECT_TTS_IR_COLLECTIVEOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_AllReduceOp : Tts_Op<"all_reduce", [Tts_InPlaceOpInterface]> {
  let summary = "each value becomes its sum over all ranks, in place";
  let description = [{
    Values of any shapes and of one element type; together they are one vector, so that
    many small ones travel as one. Every rank ends with the same bits. A rank
    that comes here waits for the others: all execute the same collectives in the
    same order.
  }];
  let arguments = (ins Variadic<Tts_FloatTensor>:$values);
  let results = (outs Variadic<Tts_FloatTensor>:$sums);
  let assemblyFormat = "$values attr-dict `:` functional-type($values, $sums)";
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getTiedOperand(unsigned result) { return result; }";
}

#endif // TTS_DIALECT_TTS_IR_COLLECTIVEOPS_TD
