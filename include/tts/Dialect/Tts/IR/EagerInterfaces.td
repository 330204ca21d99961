//===- EagerInterfaces.td - what an eager framework keeps of an op --------===//

#ifndef TTS_DIALECT_TTS_IR_EAGERINTERFACES_TD
#define TTS_DIALECT_TTS_IR_EAGERINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tts_EagerOpInterface : OpInterface<"EagerOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    What a framework that runs op by op (PyTorch) keeps of the op until its
    backward pass, and in which width it computes under automatic mixed
    precision. Our programs never ask; the report compares with it. Rules stand
    in `Models/Eager.cpp` and are attached from there, so that no op's
    declaration carries them. An op without the interface keeps the operands it
    computes with and computes in the widest of them.
  }];
  let methods = [InterfaceMethod<[{
      The rule, where `needsGradient` tells whose gradient backward computes: the
      factors of a product are kept for each other's sake.
    }], "::tts::EagerRule", "getEagerRule",
    (ins "::llvm::function_ref<bool(::mlir::Value)>":$needsGradient)>];
}

#endif // TTS_DIALECT_TTS_IR_EAGERINTERFACES_TD
