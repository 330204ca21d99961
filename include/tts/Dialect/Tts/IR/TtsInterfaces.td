//===- TtsInterfaces.td - what a tts op knows about itself ---------------===//

#ifndef TTS_DIALECT_TTS_IR_TTSINTERFACES_TD
#define TTS_DIALECT_TTS_IR_TTSINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tts_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op's reverse-mode derivative rule (its vector-Jacobian product). An op
    without it stops gradients. Rules stand in `Models/Derivatives*.cpp`.
  }];
  let methods = [InterfaceMethod<[{
      Given the gradients of the results (null where the result has none),
      builds the gradient of each operand into `operandGradients`, which comes
      with one null per operand; leave null where the operand has none (integer
      tensors, lengths). A gradient has its operand's type.
    }], "void", "buildAdjoint",
    (ins "::mlir::OpBuilder &":$builder,
         "::mlir::ValueRange":$resultGradients,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>];
}

def Tts_TimeMixingOpInterface : OpInterface<"TimeMixingOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op's result at one time step reads operands at other time steps, so
    what stands in the padding would leak: those operands must be zero there.
    Differentiate inserts `tts.mask` before them.
  }];
  let methods = [InterfaceMethod<
    "Numbers of the operands that are read across time (dimension 1).",
    "::llvm::SmallVector<unsigned>", "getTimeMixedOperands", (ins)>];
}

def Tts_TrainingOnlyOpInterface : OpInterface<"TrainingOnlyOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op acts in training only: it draws random numbers (dropout) or looks at
    the whole batch. Evaluation has something else in its place, made of some of
    its operands.
  }];
  let methods = [
    InterfaceMethod<"Whether this op, with its attributes, does.", "bool",
                    "actsInTrainingOnly", (ins), [{}], [{ return true; }]>,
    InterfaceMethod<"The operands that evaluation reads.",
                    "::llvm::SmallVector<::mlir::Value>", "getEvaluationOperands", (ins)>,
    InterfaceMethod<[{
      The value that stands for the result in evaluation, given the values of
      `getEvaluationOperands` there.
    }], "::mlir::Value", "buildEvaluation",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>
  ];
}

def Tts_StatefulOpInterface : OpInterface<"StatefulOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op keeps something from update to update that no gradient moves (running
    statistics): operands that are parameters with `tts.state`. Differentiate
    takes it apart into pure ops: forward returns each state's next value and
    `update` adopts it, so running an op twice never advances a state twice.
  }];
  let methods = [
    InterfaceMethod<"Numbers of the operands that are states.",
                    "::llvm::SmallVector<unsigned>", "getStateOperands", (ins)>,
    InterfaceMethod<[{
      Builds what stands for the op in training, with ops that are
      differentiable, and the next value of each state, in the order of
      `getStateOperands`. Returns the value that stands for the only result.
    }], "::mlir::Value", "buildTraining",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$next)>
  ];
}

def Tts_AccumulatingOpInterface : OpInterface<"AccumulatingOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op can add its first result into an accumulator in place: it has an
    optional last operand `acc` of the result's type, and its result is
    acc + value. `tts.accumulate` folds into it.
  }];
  let methods = [
    InterfaceMethod<"The accumulator, or null.", "::mlir::Value",
                    "getAccumulator", (ins), [{}], [{ return $_op.getAcc(); }]>,
    InterfaceMethod<"Sets the accumulator of an op without one.", "void",
                    "setAccumulator", (ins "::mlir::Value":$acc), [{}],
                    [{ $_op.getAccMutable().assign(acc); }]>
  ];
}

def Tts_InPlaceOpInterface : OpInterface<"InPlaceOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op overwrites operands: a result takes its operand's storage and the old
    value is gone. Memory orders every other reader before it.
  }];
  let methods = [InterfaceMethod<
    "Number of the operand whose storage result `result` takes, or -1.",
    "int64_t", "getTiedOperand", (ins "unsigned":$result)>];
}

def Tts_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    What the op costs on static shapes; the planner's only knowledge of it. An
    op without the interface costs what its operands and results weigh in
    memory traffic and no flops.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations (a multiply-add counts two).",
                    "int64_t", "getFlops", (ins)>,
    InterfaceMethod<[{
      Bytes that it needs while it runs beside operands and results, about: what
      the planner's estimate adds; the truth comes from the lowered program.
    }], "int64_t", "getWorkspaceBytes", (ins), [{}], [{ return 0; }]>,
    InterfaceMethod<"How many library calls and kernels it becomes, about.",
                    "int64_t", "getNumCalls", (ins), [{}], [{ return 1; }]>
  ];
}

def Tts_PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    In which element type the op takes its float operands and gives its float
    results where the plan computes in bf16 or fp16. An op without the interface
    takes and gives f32. What the methods do not say follows. Rules stand in
    `Models/Precisions.cpp`; the `tts-precision` pass obeys them.
  }];
  let methods = [
    InterfaceMethod<"How the op takes operand number `operand`.",
      "::tts::Precision", "getOperandPrecision", (ins "unsigned":$operand), [{}],
      [{ return ::tts::Precision::Follows; }]>,
    InterfaceMethod<"How the op gives result number `result`.",
      "::tts::Precision", "getResultPrecision", (ins "unsigned":$result), [{}],
      [{ return ::tts::Precision::Follows; }]>
  ];
}

/// A zero at a padded time step of every time-carrying operand stays zero.
def Tts_KeepsPaddingZero : NativeOpTrait<"KeepsPaddingZero"> {
  let cppNamespace = "::tts";
}

/// What the op computes of an update depends on all of its utterances together:
/// they stand in one micro-batch, or the plan is refused by the op's name.
def Tts_NeedsWholeBatch : NativeOpTrait<"NeedsWholeBatch"> {
  let cppNamespace = "::tts";
}

/// One element of the result reads, of each operand that has the result's
/// shape, the element at the same place, and small side operands (lengths,
/// ids, draws): may be computed in place, fused, vectorized freely.
def Tts_Pointwise : NativeOpTrait<"Pointwise"> {
  let cppNamespace = "::tts";
}

/// The result is another way to index the operand (or a constant): costs
/// nothing inside the kernel of a pointwise consumer.
def Tts_Indexing : NativeOpTrait<"Indexing"> {
  let cppNamespace = "::tts";
}

/// The result is the operand's bytes under another shape.
def Tts_Alias : NativeOpTrait<"Alias"> {
  let cppNamespace = "::tts";
}

#endif // TTS_DIALECT_TTS_IR_TTSINTERFACES_TD
