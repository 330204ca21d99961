//===- FusionInterfaces.td - what may share a kernel ----------------------===//

#ifndef TTS_DIALECT_TTS_IR_FUSIONINTERFACES_TD
#define TTS_DIALECT_TTS_IR_FUSIONINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tts_PerTensorOpInterface : OpInterface<"PerTensorOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op is done alike to many tensors, whatever their shapes (the states of an
    optimizer). Independent ones run side by side in one kernel. Rules stand in
    `Models/Fusion.cpp` and are attached from there.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether it makes one number, summed over all elements; else one element
      of each result reads one element of each operand.
    }], "bool", "isSum">
  ];
}

def Tts_RowOpInterface : OpInterface<"RowOpInterface"> {
  let cppNamespace = "::tts";
  let description = [{
    The op goes over the rows of its first operand, or down their columns:
    pointwise ops around it can run in its kernel. Rules stand in
    `Models/Fusion.cpp` and are attached from there.
  }];
  let methods = [
    InterfaceMethod<[{
      Numbers of the operands that are rows, all of one shape: of each element
      only its own value is read, so pointwise ops can make it there.
    }], "::llvm::SmallVector<unsigned>", "getRowOperands">,
    InterfaceMethod<[{
      Whether it goes over each row by itself, perhaps several times, and makes a
      row of its first result in the last pass: pointwise ops can go on from there.
      Else it is a sum that reads each element once.
    }], "bool", "isRowwise">
  ];
}

#endif // TTS_DIALECT_TTS_IR_FUSIONINTERFACES_TD
