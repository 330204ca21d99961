//===- ElementwiseOps.td - pointwise arithmetic ---------------------------===//

#ifndef TTS_DIALECT_TTS_IR_ELEMENTWISEOPS_TD
#define TTS_DIALECT_TTS_IR_ELEMENTWISEOPS_TD

include "tts/Dialect/Tts/IR/TtsOpBase.td"

def Tts_AddOp : Tts_Binary<"add", [Commutative, Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "z = x + y";
}
def Tts_SubOp : Tts_Binary<"sub", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "z = x - y";
}
def Tts_MulOp : Tts_Binary<"mul", [Commutative, Tts_Differentiable, Tts_Precision]> {
  let summary = "z = x · y";
}
def Tts_DivOp : Tts_Binary<"div", [Tts_Differentiable]> {
  let summary = "z = x / y";
}

def Tts_NegOp : Tts_Unary<"neg", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = -x";
}
def Tts_AbsOp : Tts_Unary<"abs", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = |x|; the derivative at 0 is 0";
}
def Tts_SignOp : Tts_Unary<"sign", [Tts_KeepsPaddingZero, Tts_Follows]> {
  let summary = "y = -1, 0 or 1";
}
def Tts_ReluOp : Tts_Unary<"relu", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = max(x, 0); a NaN stays one; the derivative at 0 is 0";
}
def Tts_ReluGradOp : Tts_Binary<"relu_grad", [Tts_KeepsPaddingZero, Tts_Follows]> {
  let summary = "z = y where x > 0, else 0; x is relu's result, y its gradient";
}
def Tts_GeluOp : Tts_Unary<"gelu", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³)))";
  let description = "The tanh form of Hendrycks and Gimpel (arXiv:1606.08415).";
}
def Tts_GeluGradOp : Tts_Binary<"gelu_grad", [Tts_Follows]> {
  let summary = "z = y · gelu'(x); x is gelu's operand, y its result's gradient";
}
def Tts_TanhOp : Tts_Unary<"tanh", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = tanh x";
}
def Tts_SigmoidOp : Tts_Unary<"sigmoid", [Tts_Differentiable, Tts_Follows]> {
  let summary = "y = 1 / (1 + e^-x)";
}
def Tts_SiluOp : Tts_Unary<"silu", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = x / (1 + e^-x)";
}
def Tts_MishOp : Tts_Unary<"mish", [Tts_KeepsPaddingZero, Tts_Differentiable, Tts_Follows]> {
  let summary = "y = x · tanh(ln(1 + e^x))";
  let description = "Misra (arXiv:1908.08681); y = x for x > 20, where nothing else can be told apart.";
}
def Tts_MishGradOp : Tts_Binary<"mish_grad", [Tts_Follows]> {
  let summary = "z = y · mish'(x); x is mish's operand, y its result's gradient";
}
def Tts_ExpOp : Tts_Unary<"exp", [Tts_Differentiable]> {
  let summary = "y = e^x";
}
def Tts_LogOp : Tts_Unary<"log", [Tts_Differentiable]> {
  let summary = "y = ln x";
}
def Tts_Log1pOp : Tts_Unary<"log1p", [Tts_KeepsPaddingZero, Tts_Differentiable]> {
  let summary = "y = ln(1 + x)";
}
def Tts_SqrtOp : Tts_Unary<"sqrt", [Tts_KeepsPaddingZero, Tts_Differentiable]> {
  let summary = "y = √x";
}
def Tts_RsqrtOp : Tts_Unary<"rsqrt", [Tts_Differentiable]> {
  let summary = "y = 1/√x";
}
def Tts_SinOp : Tts_Unary<"sin", [Tts_KeepsPaddingZero, Tts_Differentiable]> {
  let summary = "y = sin x";
}
def Tts_CosOp : Tts_Unary<"cos", [Tts_Differentiable]> {
  let summary = "y = cos x";
}

def Tts_AccumulateOp : Tts_Op<"accumulate",
    [Tts_InPlaceOpInterface, SameOperandsAndResultType, Tts_Pointwise]> {
  let summary = "result = acc + x, in place of acc";
  let description = [{
    Made by Differentiate: `acc` is a gradient summed over the micro-batches of
    an update and its storage is the result's. Folds into the op that makes `x`
    where that can accumulate by itself (`AccumulatingOpInterface`).
  }];
  let arguments = (ins Tts_FloatTensor:$acc, Tts_FloatTensor:$x);
  let results = (outs Tts_FloatTensor:$result);
  let assemblyFormat = "$acc `,` $x attr-dict `:` type($acc)";
  let hasCanonicalizer = 1;
  let extraClassDeclaration = Tts_InPlace<[0]>.body;
}

def Tts_CastOp : Tts_Op<"cast", [Tts_Pointwise, Tts_KeepsPaddingZero,
    AllShapesMatch<["x", "y"]>, Tts_Differentiable]> {
  let summary = "the same numbers in another element type";
  let description = "Integer to float, or float to float (rounded to nearest even).";
  let arguments = (ins Tts_AnyTensor:$x);
  let results = (outs Tts_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
  let hasFolder = 1;
}

def Tts_RoundToIntOp : Tts_Op<"round_to_int", [Tts_Pointwise, Tts_KeepsPaddingZero,
    AllShapesMatch<["x", "y"]>]> {
  let summary = "the nearest integer, ties to even";
  let description = [{
    Predicted durations and the lengths they add up to, in `infer`. A NaN is 0;
    what lies beyond ±(2³¹ - 128), the largest magnitude that f32 has inside
    i32, becomes that. No gradient passes.

    Example: `%d = tts.round_to_int %x : tensor<8x64xf32> to tensor<8x64xi32>`
  }];
  let arguments = (ins Tts_FloatTensor:$x);
  let results = (outs RankedTensorOf<[I32]>:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($y)";
}

#endif // TTS_DIALECT_TTS_IR_ELEMENTWISEOPS_TD
