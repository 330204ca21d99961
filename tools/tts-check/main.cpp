// tts-check train.plan.json --executable train: re-proves a certificate
// (docs/certificate.md).
#include "Check.h"

#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>

int main(int argc, char **argv) {
  CLI::App app("Re-proves a memory certificate from the step table in the "
               "executable; exit 0 only if it holds.");
  std::string certificate, executable;
  app.add_option("certificate", certificate, "train.plan.json")->required();
  app.add_option("--executable", executable,
                 "the executable or library that tts-compile wrote with it")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr,
                 "error: tts-check: %s; tts-check train.plan.json "
                 "--executable train\n",
                 error.what());
    return 2;
  }
  tts::check::Report report;
  const tts::check::Summary summary =
      tts::check::checkFiles(certificate, executable, report);
  for (const std::string &line : report.errors())
    std::fprintf(stderr, "%s\n", line.c_str());
  if (!report.ok())
    return 1;
  std::printf("%s holds: peak %" PRIu64 " bytes, arena %" PRIu64
              " bytes (lower bound %" PRIu64 "), %zu buffers, %zu accesses\n",
              certificate.c_str(), summary.peakBytes, summary.arenaBytes,
              summary.lowerBoundBytes, summary.buffers, summary.accesses);
  return 0;
}
