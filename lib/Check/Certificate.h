//===- Certificate.h - the certificate against the table --------*- C++ -*-===//
//
// Compares every figure and list of the certificate that the table decides.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_CERTIFICATE_H
#define TTS_LIB_CHECK_CERTIFICATE_H

#include "Manifest.h"
#include "Timeline.h"

namespace tts::check {

void checkCertificate(const Json &certificate, const Table &table,
                      const Manifest &manifest, const Peak &peak,
                      const std::string &executableHash, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_CERTIFICATE_H
