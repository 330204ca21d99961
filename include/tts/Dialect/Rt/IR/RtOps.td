//===- RtOps.td - one op per entry of the step table ----------------------===//

#ifndef TTS_DIALECT_RT_IR_RTOPS_TD
#define TTS_DIALECT_RT_IR_RTOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::tts::rt";
  let summary = "Entries of the step table, destination-passing";
  let description = [{
    Two forms. After Select, a program is a `func.func` of `rt.launch`,
    `rt.gemm`, `rt.conv1d`, `rt.empty` and `rt.slice` on tensors: each result names the
    operand whose storage it takes, or gets storage of its own. After Memory, a
    program is an `rt.program` of `rt.entry`s: offsets into the arena, nothing
    else.

    A kernel is a `func.func` with the unit attribute `rt.kernel`; its body is
    tts ops on tensors until TtsToKernels makes loops over a range of it. Its
    memory operands are its arguments in order, then its results in order but
    for those that `rt.tied` ties to an argument.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Rt_Attr<string name, string attrMnemonic> : AttrDef<Rt_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Rt_GemmAttr : Rt_Attr<"Gemm", "gemm"> {
  let summary = "shape of a (batched, strided) matrix product, in elements";
  let description = "The scalars of `rt.gemm`, see TtsGemmScalar in Format.h.";
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k,
                        "int64_t":$lda, "int64_t":$ldb, "int64_t":$ldc,
                        "bool":$transposeA, "bool":$transposeB, "int64_t":$beta,
                        "int64_t":$batch, "int64_t":$strideA, "int64_t":$strideB,
                        "int64_t":$strideC);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rt_AccessAttr : Rt_Attr<"Access", "access"> {
  let summary = "bytes [offset, offset+size) of the arena, how they are touched, whose they are, what they hold";
  let description = "`mode` is a TtsAccess, `dtype` a TtsDType of Format.h, F32 if it is not said.";
  let parameters = (ins "int64_t":$offset, "int64_t":$size,
                        "uint32_t":$mode, "uint32_t":$buffer,
                        DefaultValuedParameter<"uint32_t", "0">:$dtype);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Rt_BufferAttr : Rt_Attr<"Buffer", "buffer"> {
  let summary = "one live range: class, bytes, and the entries it is live over";
  let description = [{
    `program` and `last_program` index the module's `rt.program`s in order; -1
    is persistent. See TtsBuffer in Format.h.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::StringAttr":$loc,
                        "uint32_t":$klass, "int64_t":$program, "int64_t":$last_program,
                        "int64_t":$first_entry, "int64_t":$last_entry,
                        "int64_t":$offset, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

def Rt_EmptyOp : Rt_Op<"empty"> {
  let summary = "storage whose contents nobody has written yet";
  let description = "Two of them are two storages: its effect keeps CSE from merging them.";
  let results = (outs Res<AnyRankedTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Rt_SliceOp : Rt_Op<"slice", [Pure]> {
  let summary = "consecutive rows of dimension 0, the operand's own bytes";
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$first);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x `[` $first `]` attr-dict `:` type($x) `to` type($y)";
  let hasVerifier = 1;
}

def Rt_AliasOp : Rt_Op<"alias", [Pure]> {
  let summary = "the operand's own bytes under another shape";
  let description = [{
    With `after`, readers of the result run after the entry that makes `after`,
    whose storage is not touched.
  }];
  let arguments = (ins AnyRankedTensor:$x, Optional<AnyRankedTensor>:$after);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = "$x (`after` $after^ `:` type($after))? attr-dict `:` type($x) `to` type($y)";
}

def Rt_LaunchOp : Rt_Op<"launch", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a generated kernel";
  let description = [{
    `tied[i]` is the operand whose storage result i takes over (read and
    written), or -1; `in_place[i]` is an operand whose storage result i may take
    if nobody needs the operand afterwards, or -1.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$operands,
                       DenseI64ArrayAttr:$tied, DenseI64ArrayAttr:$in_place);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type($operands, $outputs)";
}

def Rt_GemmOp : Rt_Op<"gemm", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "C[i] = beta·C[i] + op(A[i])·op(B[i]), in the storage of c";
  let description = [{
    Element offsets place each matrix inside its tensor, so a convolution's tap
    and a block of attention's queries are views, never copies. With beta = 0 only the
    addressed elements of c are overwritten; the others stay. A bias is a row that is
    added to every row of a single product, before c's old value.
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, AnyRankedTensor:$c,
                       Optional<1DTensorOf<[AnyFloat]>>:$bias,
                       Rt_GemmAttr:$shape, DefaultValuedAttr<I64Attr, "0">:$offset_a,
                       DefaultValuedAttr<I64Attr, "0">:$offset_b,
                       DefaultValuedAttr<I64Attr, "0">:$offset_c);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `into` $c (`bias` $bias^)? $shape attr-dict `:` type($a) `,`
    type($b) `,` type($c) (`,` type($bias)^)?
  }];
}

def Rt_Conv1dOp : Rt_Op<"conv1d", [Pure, AttrSizedOperandSegments]> {
  let summary = "a library's convolution over time";
  let description = [{
    y[b, t] = Σ_j x[b, t + j - left] · w[j], x [batch, time, in], w [taps, in, out];
    with `transpose` the gradient of the input: y[b, t] = Σ_j x[b, t - j + left] ·
    w[j]ᵀ, w [taps, out, in]. `rt.scratch` has the bytes the library asks for. A
    bias is a row that is added to every row of y; then `c` is added, whose storage y
    takes.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, Optional<AnyRankedTensor>:$c,
                       Optional<1DTensorOf<[AnyFloat]>>:$bias, I64Attr:$left, UnitAttr:$transpose);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $w (`transpose` $transpose^)? (`onto` $c^)? (`bias` $bias^)? attr-dict `:`
    type($x) `,` type($w) (`onto` type($c)^)? (`bias` type($bias)^)? `to` type($y)
  }];
}

def Rt_AllReduceOp : Rt_Op<"all_reduce", [Pure]> {
  let summary = "each value becomes its sum over all ranks, in its own storage";
  let description = "`rt.scratch` has the bytes of the room for messages; `among` is that of `tts.all_reduce`.";
  let arguments = (ins Variadic<AnyRankedTensor>:$values, OptionalAttr<StrAttr>:$among);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let assemblyFormat = "$values (`among` $among^)? attr-dict `:` functional-type($values, $sums)";
}

def Rt_SendOp : Rt_Op<"send"> {
  let summary = "gives a value to another stage of this replica";
  let description = "`rt.scratch` has the value's bytes: it is sent from a copy, which nothing else writes.";
  let arguments = (ins AnyRankedTensor:$value, I64Attr:$stage, I64Attr:$channel);
  let assemblyFormat = "$value `to` $stage `by` $channel attr-dict `:` type($value)";
}

def Rt_ReceiveOp : Rt_Op<"receive"> {
  let summary = "the value that another stage of this replica sends, in storage of its own";
  let arguments = (ins I64Attr:$stage, I64Attr:$channel);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "`from` $stage `by` $channel attr-dict `:` type($value)";
}

def Rt_ShardOp : Rt_Op<"shard", [Pure]> {
  let summary = "this rank's shard of each value, in storage of its own";
  let description = "See `tts.shard`.";
  let arguments = (ins Variadic<AnyRankedTensor>:$values, I64Attr:$ranks);
  let results = (outs Variadic<AnyRankedTensor>:$shards);
  let assemblyFormat = "$values `over` $ranks attr-dict `:` functional-type($values, $shards)";
}

def Rt_ReduceScatterOp : Rt_Op<"reduce_scatter", [Pure, AttrSizedOperandSegments]> {
  let summary = "shards of the values' sums, in the storage of the accumulators or at the front of the values'";
  let description = "The values are used up. `rt.scratch` has the bytes of the room for messages.";
  let arguments = (ins Variadic<AnyRankedTensor>:$values, Variadic<AnyRankedTensor>:$accumulators, I64Attr:$ranks);
  let results = (outs Variadic<AnyRankedTensor>:$shards);
  let assemblyFormat = [{
    $values (`into` $accumulators^)? `over` $ranks attr-dict `:` type($values)
    (`into` type($accumulators)^)? `to` type($shards)
  }];
}

def Rt_AllGatherOp : Rt_Op<"all_gather", [Pure]> {
  let summary = "the values that the shards of all ranks make up, in storage of their own";
  let description = "`rt.scratch` has the bytes of the room for messages.";
  let arguments = (ins Variadic<AnyRankedTensor>:$shards, I64Attr:$ranks);
  let results = (outs Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$shards `over` $ranks attr-dict `:` functional-type($shards, $values)";
}

def Rt_ProgramOp : Rt_Op<"program", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "one program of the timeline after Memory: entries in order";
  let description = [{
    In a pipeline stage several micro-batches are under way at a time: forward and backward exist
    once for each `slot`, that differ in where they keep what lives between them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$kind, I64Attr:$bucket,
                       DefaultValuedAttr<I64Attr, "0">:$slot);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Rt_EntryOp : Rt_Op<"entry"> {
  let summary = "one row of the step table";
  let description = "`function` is a kernel's symbol or the name of a library function such as `rt.gemm`.";
  let arguments = (ins StrAttr:$function, TypedArrayAttrBase<Rt_AccessAttr, "accesses">:$operands,
                       DenseI64ArrayAttr:$scalars, I64Attr:$range, StrAttr:$stable_name);
  let assemblyFormat = "$function $operands `scalars` $scalars `range` $range $stable_name attr-dict";
}

#endif // TTS_DIALECT_RT_IR_RTOPS_TD
