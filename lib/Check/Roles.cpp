// Which ranks run which of an executable's tables.
#include "Roles.h"

#include "Table.h"
#include <cstring>

using namespace tts::check;

static constexpr size_t tableAlignment = 64;

bool tts::check::splitTables(const Bytes &section, Report &report,
                             std::vector<Bytes> &tables) {
  for (size_t at = 0; at < section.size();) {
    TtsTableHeader header;
    const size_t left = section.size() - at;
    uint64_t total = left;
    if (left >= sizeof(header)) {
      std::memcpy(&header, section.data() + at, sizeof(header));
      total = header.total_bytes;
    }
    // What is wrong with a damaged table is told where it is read.
    if (left < sizeof(header) || total < sizeof(header) || total > left)
      total = left;
    tables.emplace_back(section.begin() + at, section.begin() + at + total);
    for (at += total; at % tableAlignment && at < section.size(); ++at)
      if (section[at] != 0) {
        report.fail("step table", "something stands behind a table",
                    Report::recompile);
        return false;
      }
  }
  if (tables.empty())
    tables.push_back(section);
  return true;
}

bool tts::check::checkRoles(const std::vector<Bytes> &tables,
                            const Json &certificate, Report &report) {
  auto fail = [&](const std::string &what) {
    report.fail("certificate", what, Report::recompile);
    return false;
  };
  const Json &roles = member(certificate, "roles");
  if (!roles.is_array() || roles.size() != tables.size())
    return fail("roles has " +
                std::to_string(roles.is_array() ? roles.size() : 0) +
                " parts, the executable " + std::to_string(tables.size()) +
                " step tables");
  const uint64_t ranks = asBytes(member(certificate, "ranks")).value_or(0);
  std::vector<uint64_t> roleOfRank(ranks, tables.size());
  for (size_t role = 0; role < tables.size(); ++role) {
    const Json &own = member(roles[role], "ranks");
    if (!own.is_array() || own.empty())
      return fail("roles[" + std::to_string(role) + "] has no ranks");
    for (const Json &rank : own) {
      const uint64_t number = asBytes(rank).value_or(ranks);
      if (number >= ranks || roleOfRank[number] != tables.size())
        return fail("roles[" + std::to_string(role) +
                    "].ranks has a rank that is no other's");
      roleOfRank[number] = role;
    }
  }
  for (size_t rank = 0; rank < ranks; ++rank)
    if (roleOfRank[rank] == tables.size())
      return fail("rank " + std::to_string(rank) + " has no role");
  for (size_t role = 0; role < tables.size(); ++role) {
    Table table;
    if (!readTable(tables[role], report, table))
      return false;
    const Json manifest = Json::parse(table.manifest, nullptr, false);
    if (member(manifest, "role") != Json(role) ||
        member(manifest, "role_of_rank") != Json(roleOfRank))
      return fail("roles[" + std::to_string(role) +
                  "].ranks are not those of its step table");
  }
  return true;
}

Json tts::check::certificateOfRole(const Json &certificate, size_t role) {
  Json whole = certificate;
  for (const auto &[key, value] : member(certificate, "roles")[role].items())
    if (key != "ranks")
      whole[key] = value;
  whole.erase("roles");
  return whole;
}

void tts::check::checkTopLevel(const Json &certificate, size_t largest,
                               Report &report) {
  for (const auto &[key, value] : member(certificate, "roles")[largest].items())
    if (key != "ranks" && member(certificate, key.c_str()) != value)
      report.fail("certificate", key + " is not that of the largest role",
                  Report::recompile);
}
