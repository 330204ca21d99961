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
    same order. Of a pipeline it may say `among "replicas"`, the ranks that have this stage, or
    `among "stages"`, those that make up this replica of the model.
  }];
  let arguments = (ins Variadic<Tts_FloatTensor>:$values, OptionalAttr<StrAttr>:$among);
  let results = (outs Variadic<Tts_FloatTensor>:$sums);
  let assemblyFormat = "$values (`among` $among^)? attr-dict `:` functional-type($values, $sums)";
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getTiedOperand(unsigned result) { return result; }";
}

/// Of a value of n elements over N ranks, rank r's shard has the elements from
/// r·c on, c = ⌈n/N⌉, and zeros behind the last.
class Tts_Sharding<string mnemonic, list<Trait> traits = []>
    : Tts_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def Tts_ShardOp : Tts_Sharding<"shard"> {
  let summary = "this rank's shard of each value, flat, a copy";
  let description = [{
    A value of n elements over N ranks is cut into shards of c = ⌈n/N⌉ elements: rank r
    has those from r·c on, and zeros behind the last. All shards of a value have one
    static type, so one program serves every rank. No rank waits for another here.
  }];
  let arguments = (ins Variadic<Tts_FloatTensor>:$values, I64Attr:$ranks);
  let results = (outs Variadic<Tts_FloatTensor>:$shards);
  let assemblyFormat = "$values `over` $ranks attr-dict `:` functional-type($values, $shards)";
}

def Tts_ReduceScatterOp : Tts_Sharding<"reduce_scatter", [Tts_InPlaceOpInterface, AttrSizedOperandSegments]> {
  let summary = "of each value's sum over all ranks this rank's shard, in place";
  let description = [{
    Shards as of `tts.shard`, one element type. Without accumulators a shard takes the
    first bytes of its value's storage; with them it is added to its accumulator, in
    place. Either way the values are used up: nothing else reads them.
  }];
  let arguments = (ins Variadic<Tts_FloatTensor>:$values, Variadic<Tts_FloatTensor>:$accumulators, I64Attr:$ranks);
  let results = (outs Variadic<Tts_FloatTensor>:$shards);
  let assemblyFormat = [{
    $values (`into` $accumulators^)? `over` $ranks attr-dict `:` type($values)
    (`into` type($accumulators)^)? `to` type($shards)
  }];
  let extraClassDeclaration = [{
    int64_t getTiedOperand(unsigned result) {
      return result + (getAccumulators().empty() ? 0 : getValues().size());
    }
  }];
}

def Tts_AllGatherOp : Tts_Sharding<"all_gather"> {
  let summary = "the values that the shards of all ranks make up";
  let description = "The inverse of `tts.shard`; one element type.";
  let arguments = (ins Variadic<Tts_FloatTensor>:$shards, I64Attr:$ranks);
  let results = (outs Variadic<Tts_FloatTensor>:$values);
  let assemblyFormat = "$shards `over` $ranks attr-dict `:` functional-type($shards, $values)";
}

/// A channel is one value of one program: what is sent there is received there, once in each run of
/// the program. Neither end has a twin that it could be merged with.
def Tts_SendOp : Op<Tts_Dialect, "send"> {
  let summary = "gives a value to another stage of this replica";
  let description = "No rank waits here for the one that receives, but for what it sent last by the same channel.";
  let arguments = (ins AnyRankedTensor:$value, I64Attr:$stage, I64Attr:$channel);
  let assemblyFormat = "$value `to` $stage `by` $channel attr-dict `:` type($value)";
}

def Tts_ReceiveOp : Op<Tts_Dialect, "receive"> {
  let summary = "the value that another stage of this replica sends";
  let arguments = (ins I64Attr:$stage, I64Attr:$channel);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "`from` $stage `by` $channel attr-dict `:` type($value)";
}

#endif // TTS_DIALECT_TTS_IR_COLLECTIVEOPS_TD
