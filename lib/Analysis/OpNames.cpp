//===- OpNames.cpp - a name for every op of a program --------------------===//

#include "tts/Analysis/OpNames.h"
#include "tts/Dialect/Tts/IR/Names.h"

using namespace mlir;
using namespace tts;

OpNames::OpNames(Block &block) {
  llvm::StringMap<unsigned> uses;
  for (Operation &op : block) {
    std::string stem = getStableName(op.getLoc());
    unsigned number = uses[stem]++;
    std::string name = number ? stem + "." + std::to_string(number) : stem;
    // A location may have been given such a name by its author.
    while (ops.count(name))
      name = stem + "." + std::to_string(number = uses[stem]++);
    names[&op] = ops.try_emplace(name, &op).first->first();
  }
}
