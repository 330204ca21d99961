//===- PlanReport.h - the plan for people and for programs --*- C++ -*-===//

#ifndef TTS_LIB_DRIVER_PLANREPORT_H
#define TTS_LIB_DRIVER_PLANREPORT_H

#include "Compilation.h"
#include "llvm/Support/raw_ostream.h"

namespace tts {

/// Utterances per update, over all ranks.
int64_t getBatch(Compilation &compilation);
/// What the ranks' sums travel on, or "none".
std::string linkName(Compilation &compilation);

/// The plan table.
void printPlanTable(llvm::raw_ostream &os, Compilation &compilation);

/// --explain: every candidate and joint choice, and why the winner won.
void printCandidates(llvm::raw_ostream &os, Compilation &compilation);

/// The certificate (CONTRACT.md, docs/certificate.md); without an executable
/// the plan alone.
std::string planJson(Compilation &compilation, llvm::StringRef executableHash);

/// Adds to rt.manifest what Memory does not know.
void completeManifest(Compilation &compilation, mlir::ModuleOp lowered);

} // namespace tts

#endif // TTS_LIB_DRIVER_PLANREPORT_H
