// Machines, as addresses, as patterns and as files. Invariants: an address that is read is written
// and read again as itself, and none of its parts could be an option or end an argument; a pattern
// names a bounded number of machines; an error is one line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/machine.h"

namespace {

using namespace tutti;

void check_part(const std::string& part) {
  TUTTI_CHECK(!part.starts_with('-'));
  const bool plain = std::all_of(part.begin(), part.end(), [](char c) {
    return c > ' ' && c < 0x7f &&
           std::string_view("'\"`$\\;&|<>(){}[]*?~#!,/").find(c) == std::string_view::npos;
  });
  TUTTI_CHECK(plain);
}

void check_address(const MachineAddress& address) {
  TUTTI_CHECK(!address.host.empty());
  check_part(address.user);
  check_part(address.host);
  TUTTI_CHECK(!machine_name(address).empty() && !machine_name(address).starts_with('-'));
  const auto again = parse_machine_address(format_machine_address(address));
  TUTTI_CHECK(again && *again == address);
}

void check_error(const Error& error) {
  TUTTI_CHECK(error.message.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = expand_machines(text);
  if (!names) check_error(names.error());
  if (names) TUTTI_CHECK(!names->empty() && names->size() <= kMaxMachines);
  const auto address = parse_machine_address(text);
  if (!address) check_error(address.error());
  if (address) check_address(*address);
  const auto file = parse_machine_file(text, "f.yaml");
  if (!file) TUTTI_CHECK(file.error().message.starts_with("f.yaml:"));
  if (!file) check_error(file.error());
  if (file) check_address(file->address);
  return 0;
}
