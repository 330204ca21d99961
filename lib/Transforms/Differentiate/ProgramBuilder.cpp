//===- ProgramBuilder.cpp - functions with roles -------------------------===//

#include "ProgramBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

ProgramBuilder::ProgramBuilder(Operation *before, StringRef name)
    : builder(before) {
  func = func::FuncOp::create(builder, before->getLoc(), name,
                              builder.getFunctionType({}, {}));
  func->setAttr(kProgramAttr, builder.getStringAttr(name));
  builder.setInsertionPointToStart(&func.getBody().emplaceBlock());
}

ProgramBuilder::~ProgramBuilder() {
  if (finished)
    return;
  func.getBody().dropAllReferences();
  func.erase();
}

DictionaryAttr ProgramBuilder::makeRole(StringRef role, StringRef name) {
  return builder.getDictionaryAttr(
      builder.getNamedAttr(role, builder.getStringAttr(name)));
}

Value ProgramBuilder::addArgument(Type type, DictionaryAttr attributes,
                                  Location loc) {
  return insertArgument(getBody().getNumArguments(), type, attributes, loc);
}

Value ProgramBuilder::insertArgument(unsigned index, Type type,
                                     DictionaryAttr attributes, Location loc) {
  argumentAttributes.insert(argumentAttributes.begin() + index, attributes);
  return getBody().insertArgument(index, type, loc);
}

Value ProgramBuilder::addArgument(Type type, StringRef role, StringRef name,
                                  Location loc) {
  return addArgument(type, makeRole(role, name), loc);
}

void ProgramBuilder::addResult(Value value, DictionaryAttr attributes) {
  // Results are storage of their own: a value that is returned twice is made
  // twice, and the attributes keep the two from being merged again.
  if (llvm::is_contained(results, value) && value.getDefiningOp()) {
    Operation *again = builder.clone(*value.getDefiningOp());
    again->setDiscardableAttrs(attributes);
    value = again->getResult(cast<OpResult>(value).getResultNumber());
  }
  resultAttributes.push_back(attributes);
  results.push_back(value);
}

void ProgramBuilder::addResult(Value value, StringRef role, StringRef name) {
  addResult(value, makeRole(role, name));
}

void ProgramBuilder::addReturn() {
  func::ReturnOp::create(builder, func.getLoc(), results);
}

func::FuncOp ProgramBuilder::finish() {
  if (getBody().empty() || !getBody().back().hasTrait<OpTrait::IsTerminator>())
    addReturn();
  func.setType(builder.getFunctionType(getBody().getArgumentTypes(),
                                       ValueRange(results).getTypes()));
  func.setAllArgAttrs(argumentAttributes);
  func.setAllResultAttrs(resultAttributes);
  finished = true;
  return func;
}

void tts::dropDeadOps(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void tts::dropUnused(func::FuncOp func) {
  dropDeadOps(func.getBody().front());
  llvm::BitVector unused(func.getNumArguments());
  for (BlockArgument argument : func.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  LogicalResult erased = func.eraseArguments(unused);
  assert(succeeded(erased));
  (void)erased;
}
