//===- ParseModel.cpp - parses and adds positions ------------------------===//

#include "ParseModel.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace {

/// A position of the file as a location.
Location positionOf(const llvm::SourceMgr &sources, llvm::SMLoc place,
                    MLIRContext &context) {
  auto [line, column] =
      sources.getLineAndColumn(place, sources.getMainFileID());
  StringRef file =
      sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  return FileLineColLoc::get(&context, file, line, column);
}

} // namespace

OwningOpRef<ModuleOp> tts::parseModel(const llvm::SourceMgr &sources,
                                      MLIRContext &context) {
  const llvm::MemoryBuffer *file =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (isBytecode(*file)) // has no lines
    return parseSourceFile<ModuleOp>(sources, &context);
  Block block;
  AsmParserState state;
  if (failed(
          parseAsmSourceFile(sources, &block, ParserConfig(&context), &state)))
    return {};
  for (const AsmParserState::OperationDefinition &definition :
       state.getOpDefs()) {
    auto name = dyn_cast<NameLoc>(definition.op->getLoc());
    if (name && isa<UnknownLoc>(name.getChildLoc()))
      definition.op->setLoc(NameLoc::get(
          name.getName(), positionOf(sources, definition.loc.Start, context)));
  }
  return detail::constructContainerOpForParserIfNecessary<ModuleOp>(
      &block, &context,
      FileLineColLoc::get(&context, file->getBufferIdentifier(), 0, 0));
}
