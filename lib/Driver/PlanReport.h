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

/// "bucket 0: 7 activations are kept in bf16 between forward and backward", or
/// "".
std::string halfStorageText(PlanAttr plan, unsigned bucket);

/// --explain: the choices considered, why the winner won, and what other
/// budgets get.
void printExplanation(llvm::raw_ostream &os, Compilation &compilation);

/// Its last table: the same update by other uses of several ranks.
void printScale(llvm::raw_ostream &os, Compilation &compilation);

/// "none", "element-wise", "partial" or "most" is computed again.
llvm::StringRef rematText(ConsideredChoice::Remat remat);
/// Whether another choice is no larger and no slower.
bool isDominated(const PlanResult &plan, size_t choice);

/// The certificate (CONTRACT.md, docs/certificate.md); without an executable
/// the plan alone.
std::string planJson(Compilation &compilation, llvm::StringRef executableHash);

/// Adds to a role's rt.manifest what Memory does not know.
void completeManifest(Compilation &compilation, size_t role);

} // namespace tts

#endif // TTS_LIB_DRIVER_PLANREPORT_H
