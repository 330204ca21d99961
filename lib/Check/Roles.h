//===- Roles.h - the tables of ranks that differ ----------------*- C++ -*-===//
//
// Where ranks differ (stages of a pipeline, budgets) an executable has a table
// for each role and the certificate a part for each in `roles`.
//
//===----------------------------------------------------------------------===//

#ifndef TTS_LIB_CHECK_ROLES_H
#define TTS_LIB_CHECK_ROLES_H

#include "Check.h"
#include "Json.h"

namespace tts::check {

/// The tables that lie one after another in a section, each at a multiple of 64
/// bytes with nothing but zeros between.
bool splitTables(const Bytes &section, Report &report,
                 std::vector<Bytes> &tables);

/// There is a part for each table, and every rank has one role, the same one in
/// certificate and tables.
bool checkRoles(const std::vector<Bytes> &tables, const Json &certificate,
                Report &report);

/// What the certificate says of one role: its part, and of the rest what is the
/// same for all.
Json certificateOfRole(const Json &certificate, size_t role);

/// What stands outside `roles` is what the role of the largest peak has.
void checkTopLevel(const Json &certificate, size_t largest, Report &report);

} // namespace tts::check

#endif // TTS_LIB_CHECK_ROLES_H
