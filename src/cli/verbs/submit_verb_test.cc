// What `submit` makes of job files.
#include <gmock/gmock.h>

#include "cli/testing/scripted_verbs.h"

namespace tutti {
namespace {

using testing::HasSubstr;

class SubmitVerb : public ScriptedVerbs {};

TEST_F(SubmitVerb, a_fault_of_a_field_names_its_line) {
  const std::string path = file("job.yaml", "command: x\noutput: \"%q\"\nworkdir: /nowhere\n");
  EXPECT_EQ(call({"submit", "-C", folder, path}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:2: output: pattern '%q'"));
  EXPECT_EQ(call({"submit", path}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:3: workdir: "));
}

TEST_F(SubmitVerb, a_fault_of_the_command_line_names_no_field_of_the_file) {
  const std::string path = file("job.yaml", "command: x\noutput: fine\n");
  EXPECT_EQ(call({"submit", "-o", "%q", path}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:1: output: pattern '%q'"));
}

}  // namespace
}  // namespace tutti
