//===- TtsDialect.td - the tts dialect, its types and attributes ----------===//

#ifndef TTS_DIALECT_TTS_IR_TTSDIALECT_TD
#define TTS_DIALECT_TTS_IR_TTSDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/OpBase.td"

def Tts_Dialect : Dialect {
  let name = "tts";
  let cppNamespace = "::tts";
  let summary = "Text-to-speech training graphs on tensor values";
  let description = [{
    Target-free tensor operations of a text-to-speech training step: no side
    effects, no memory, no hardware. A model file is written in it; every phase
    up to Select keeps to it.

    Sizes known only at run time are `?` with a name in the tensor type's
    encoding (`#tts.dims<batch, frames, _>`); a `?` never broadcasts
    implicitly. Tensors that carry time have the layout [batch, time, channel].
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

class Tts_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tts_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Tts_DimsAttr : Tts_Attr<"Dims", "dims",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding, ["verifyEncoding"]>]> {
  let summary = "names of a tensor's symbolic dimensions";
  let description = [{
    One name per dimension, `_` for a static one. Two `?` with the same name
    have the same size at run time. Specialize replaces the names by a bucket's
    sizes and drops the encoding.

    Example: `tensor<?x?x80xf32, #tts.dims<batch, frames, _>>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
}

def Tts_InitAttr : Tts_Attr<"Init", "init"> {
  let summary = "how a parameter starts";
  let description = [{
    Kinds: `zeros`, `ones`, `constant, c`, `normal, std`, `uniform, lo, hi`,
    `xavier_uniform`, `linspace, lo, hi`. Random ones draw from the counter
    RNG keyed by the seed and the parameter's name, so the values depend on
    neither the order of parameters nor the number of ranks.

    Example: `#tts.init<normal, 0.02>`
  }];
  let parameters = (ins "::mlir::StringAttr":$kind,
                        "::mlir::DenseF64ArrayAttr":$args);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tts_BucketAttr : Tts_Attr<"Bucket", "bucket"> {
  let summary = "one static shape: dimension names with their sizes";
  let description = [{
    Example: `#tts.bucket<text = 64, frames = 300>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The size of `name`, or nothing.
    std::optional<int64_t> lookup(llvm::StringRef name) const;
  }];
}

def Tts_RecomputeAttr : Tts_Attr<"Recompute", "recompute"> {
  let summary = "an op of forward that backward computes again";
  let description = [{
    `op` of the forward program is cloned in backward in front of `before`; both
    are names by `OpNames.h`. Whoever reads its results from there on takes the
    clone's.

    Example: `#tts.recompute<"encoder.0.ffn.relu", before = "encoder.0.ffn.conv2.grad">`
  }];
  let parameters = (ins "::mlir::StringAttr":$op, "::mlir::StringAttr":$before);
  let assemblyFormat = "`<` $op `,` `before` `=` $before `>`";
}

def Tts_StoreAttr : Tts_Attr<"Store", "store"> {
  let summary = "a value of forward that is kept for backward in a half type";
  let description = [{
    Result `result` of `op`, a name of the forward program by `OpNames.h`, is
    kept in `type` (bf16 or f16) from forward to backward, which turns it into
    f32 again where it reads it. Nothing is computed in the half type.

    Example: `#tts.store<"encoder.0.ffn.relu", bf16>`, `#tts.store<"norm"[1], f16>`
  }];
  let parameters = (ins "::mlir::StringAttr":$op,
                        DefaultValuedParameter<"unsigned", "0">:$result,
                        "::mlir::FloatType":$type);
  let assemblyFormat = "`<` $op (`[` $result^ `]`)? `,` $type `>`";
  let genVerifyDecl = 1;
}

def Tts_PlanAttr : Tts_Attr<"Plan", "plan"> {
  let summary = "what Plan decided; every later phase obeys it";
  let description = [{
    `micro_batches[i]` utterances at a time for bucket i of `tts.buckets`.
    `recompute[i]` are the `#tts.recompute`s of bucket i in the order in which
    backward runs them, `store[i]` the `#tts.store`s of what forward keeps in a
    half type; without them there are none. Stands on the module as `tts.plan`.

    Example: `#tts.plan<precision = "fp32", threads = 2, micro_batches = [8, 4]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$precision, "int64_t":$threads,
                        "::mlir::DenseI64ArrayAttr":$micro_batches,
                        OptionalParameter<"::mlir::ArrayAttr">:$recompute,
                        OptionalParameter<"::mlir::ArrayAttr">:$store);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The #tts.recompute of one bucket, in order.
    llvm::ArrayRef<mlir::Attribute> getRecompute(int64_t bucket) const;
    /// The #tts.store of one bucket.
    llvm::ArrayRef<mlir::Attribute> getStore(int64_t bucket) const;
  }];
}

#endif // TTS_DIALECT_TTS_IR_TTSDIALECT_TD
