//===- FrontFile.h - what the planner found, kept between runs ------------===//

#ifndef TTS_LIB_DRIVER_FRONTFILE_H
#define TTS_LIB_DRIVER_FRONTFILE_H

#include "Failure.h"
#include "mlir/IR/BuiltinOps.h"
#include "tts/Pipelines/Planning.h"

namespace tts {

/// SHA-256 of all that a front is made from: the differentiated module, the
/// request without its budgets, the tool and its library.
std::string keyOfFront(mlir::ModuleOp differentiated,
                       const PlanRequest &request);

/// The front in a file; an empty one where there is no file or it has another
/// key. A file that is something else is bad input: it would be written over.
llvm::Expected<PlanFront> readFront(llvm::StringRef path, llvm::StringRef key,
                                    mlir::MLIRContext &context);

std::string frontJson(const PlanFront &front, llvm::StringRef key);

} // namespace tts

#endif // TTS_LIB_DRIVER_FRONTFILE_H
