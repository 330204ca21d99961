//===- TtsOpBase.td - shared shapes of tts ops ----------------------------===//

#ifndef TTS_DIALECT_TTS_IR_TTSOPBASE_TD
#define TTS_DIALECT_TTS_IR_TTSOPBASE_TD

include "tts/Dialect/Tts/IR/TtsDialect.td"
include "tts/Dialect/Tts/IR/TtsInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

/// A tensor of exactly `size` numbers.
class Tts_Vector<list<Type> elements, int size>
    : Type<And<[1DTensorOf<elements>.predicate,
                CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getDimSize(0) == " # size>]>,
           "vector of " # size # " numbers", "::mlir::RankedTensorType">;

def Tts_Float : AnyTypeOf<[F32, F64, F16, BF16]>;
def Tts_FloatTensor : RankedTensorOf<[F32, F64, F16, BF16]>;
def Tts_HalfTensor : RankedTensorOf<[F16, BF16]>;
def Tts_IntTensor : RankedTensorOf<[I32, I64]>;
def Tts_AnyTensor : RankedTensorOf<[F32, F64, F16, BF16, I32, I64]>;

/// [batch] lengths along time, i32.
def Tts_Lengths : 1DTensorOf<[I32]>;
/// [batch] global utterance ids, i64; -1 in an empty slot.
def Tts_Utterances : 1DTensorOf<[I64]>;
/// {seed, update}, i64.
def Tts_Draw : Tts_Vector<[I64], 2>;
/// A single number.
def Tts_Scalar : 0DTensorOf<[F32, F64]>;

def Tts_Differentiable
    : DeclareOpInterfaceMethods<Tts_DifferentiableOpInterface>;
def Tts_Cost : DeclareOpInterfaceMethods<Tts_CostOpInterface>;
def Tts_CostOfMany
    : DeclareOpInterfaceMethods<Tts_CostOpInterface, ["getWorkspaceBytes", "getNumCalls"]>;
def Tts_TimeMixing : DeclareOpInterfaceMethods<Tts_TimeMixingOpInterface>;

/// Every float operand and result has one type: half, if none of them must be f32.
def Tts_Follows : DeclareOpInterfaceMethods<Tts_PrecisionOpInterface>;
def Tts_Precision : DeclareOpInterfaceMethods<Tts_PrecisionOpInterface,
    ["getOperandPrecision", "getResultPrecision"]>;

/// Results take the storage of these operands, in order (-1: none).
class Tts_InPlace<list<int> operands> {
  code body = "int64_t getTiedOperand(unsigned result) { constexpr int64_t tied[] = {"
              # !interleave(operands, ", ") # "}; return tied[result]; }";
}

class Tts_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tts_Dialect, mnemonic, !listconcat([Pure], traits)>;

/// y[i] = f(x[i]).
class Tts_Unary<string mnemonic, list<Trait> traits = []>
    : Tts_Op<mnemonic, !listconcat([SameOperandsAndResultType, Tts_Pointwise],
                                   traits)> {
  let arguments = (ins Tts_FloatTensor:$x);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

/// z[i] = f(x[i], y[i]), shapes equal.
class Tts_Binary<string mnemonic, list<Trait> traits = []>
    : Tts_Op<mnemonic, !listconcat([SameOperandsAndResultType, Tts_Pointwise],
                                   traits)> {
  let arguments = (ins Tts_FloatTensor:$x, Tts_FloatTensor:$y);
  let results = (outs Tts_FloatTensor:$z);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
}

#endif // TTS_DIALECT_TTS_IR_TTSOPBASE_TD
