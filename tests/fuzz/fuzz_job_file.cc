// Job files: whatever the text, an answer or an error with a place. Invariants: the answer does not
// depend on anything but the text; each job has exactly one command; an error names file and line;
// defaults make valid names.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/job_file.h"
#include "core/spec/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto entries = parse_job_file(text, "f.yaml");
  if (!entries) {
    TUTTI_CHECK(entries.error().message.starts_with("f.yaml:"));
    TUTTI_CHECK(entries.error().message.find('\n') == std::string::npos);
    return 0;
  }
  TUTTI_CHECK(*parse_job_file(text, "f.yaml") == *entries);
  TUTTI_CHECK(!entries->empty());
  for (JobFileEntry& entry : *entries) {
    JobSpec& spec = entry.spec;
    const bool direct = entry.script_path.empty() && !spec.command.argv.empty();
    TUTTI_CHECK((direct ? 1 : 0) + (spec.command.shell.empty() ? 0 : 1) +
                    (entry.script_path.empty() ? 0 : 1) + (spec.lines.empty() ? 0 : 1) ==
                1);
    fill_defaults(spec);
    TUTTI_CHECK(!spec.name.empty() && !spec.kind.empty());
    if (!entry.script_path.empty()) spec.command.script = "true\n";
    spec.workdir = "/";
    static_cast<void>(validate(spec));
  }
  return 0;
}
