// The order of the proof: what a later step relies on was checked by one
// before.
#include "Check.h"

#include "Alike.h"
#include "Certificate.h"
#include "Elf.h"
#include "Messages.h"
#include "Roles.h"
#include "Sha256.h"
#include "Simulate.h"

#include <fstream>
#include <iterator>

using namespace tts::check;

namespace {
/// A table, read, and what was proven of it by itself.
struct Proven {
  Table table;
  Manifest manifest;
  Programs programs;
  Summary summary;
};
} // namespace

static void proveTable(const Bytes &blob, const Json &json,
                       const std::string &executableHash, Report &report,
                       Proven &proven) {
  auto &[table, manifest, programs, summary] = proven;
  if (!readTable(blob, report, table) ||
      !readManifest(table, report, manifest) ||
      !findPrograms(table, manifest, report, programs))
    return;
  checkLibraryCalls(table, manifest.ranks, report);
  const Peak peak = checkTimeline(table, programs, report);
  checkOperands(table, report);
  checkSlots(table, programs, report);
  checkRegions(table, manifest, report);
  checkCertificate(json, table, manifest, peak, executableHash, report);
  if (report.ok()) {
    // These index by what was checked above.
    checkObligations(table, programs, manifest, report);
    checkReductions(table, programs, manifest, report);
    checkMessages({&table, &manifest, &programs}, report);
    if (manifest.updateInBackward)
      checkUpdateOrder(table, programs, report);
    simulate(table, programs, manifest, report);
  }
  summary.peakBytes = manifest.peakBytes;
  summary.arenaBytes = table.header.arena_bytes;
  summary.lowerBoundBytes = peak.bytes;
  summary.buffers = table.buffers.size();
  summary.accesses = table.operands.size();
}

/// Roles that are the stages of a pipeline, in their order, or devices of other
/// budgets.
static void proveTogether(const std::vector<Proven> &roles, Report &report) {
  std::vector<Stage> stages;
  for (const Proven &role : roles)
    stages.push_back({&role.table, &role.manifest, &role.programs});
  checkPipeline(stages, report);
  for (size_t role = 1; role < roles.size(); ++role)
    if (roles[0].manifest.stages.count == 1)
      checkAlike(roles[0].table, roles[0].manifest, roles[role].table,
                 roles[role].manifest, role, report);
}

Summary tts::check::checkTable(const Bytes &section,
                               const std::string &certificate,
                               const std::string &executableHash,
                               Report &report) {
  Json json = Json::parse(certificate, nullptr, false);
  if (!json.is_object()) {
    report.fail("certificate", "is no JSON object",
                "give the train.plan.json that tts-compile wrote");
    return {};
  }
  std::vector<Bytes> tables;
  if (!splitTables(section, report, tables))
    return {};
  if (tables.size() > 1 && !checkRoles(tables, json, report))
    return {};
  std::vector<Proven> roles(tables.size());
  size_t largest = 0;
  for (size_t role = 0; role < tables.size(); ++role) {
    proveTable(tables[role],
               tables.size() == 1 ? json : certificateOfRole(json, role),
               executableHash, report, roles[role]);
    if (roles[role].summary.peakBytes > roles[largest].summary.peakBytes)
      largest = role;
  }
  if (report.ok())
    proveTogether(roles, report);
  if (report.ok() && tables.size() > 1)
    checkTopLevel(json, largest, report);
  return roles[largest].summary;
}

static bool readFile(const std::string &path, Report &report, Bytes &bytes) {
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    report.fail(path, "cannot be read", "give a file that exists");
    return false;
  }
  return true;
}

Summary tts::check::checkFiles(const std::string &certificatePath,
                               const std::string &executablePath,
                               Report &report) {
  Bytes certificate, executable, blob;
  if (!readFile(certificatePath, report, certificate) ||
      !readFile(executablePath, report, executable) ||
      !findSection(executable, TTS_TABLE_SECTION, executablePath, report, blob))
    return {};
  return checkTable(blob, std::string(certificate.begin(), certificate.end()),
                    sha256(executable), report);
}
