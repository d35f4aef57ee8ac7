#include <boost/json.hpp>
#include <filesystem>

#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/autostart.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr Option kOptions[] = {kJsonOption, kHelpOption};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr std::string_view kActions[] = {"install"};
constexpr Example kExamples[] = {
    {"tutti compat install ~/.local/bin", "execute_batch and execute_remote, for old scripts"},
};

// Another program of that name, such as ml-scheduler's own, is left alone.
Result<void> make_link(const fs::path& link, const fs::path& program) {
  std::error_code failure;
  if (fs::exists(link, failure) && !fs::equivalent(link, program, failure))
    return conflict(shown(link.string()) +
                    " is there already, and is not Tutti's; remove it first");
  fs::remove(link, failure);
  fs::create_symlink(program, link, failure);
  if (failure) return io_error("cannot make the link " + shown(link.string()), failure.value());
  return {};
}

int run(Session& session, const Arguments& arguments) {
  const std::string& action = arguments.words()[0];
  if (action != kActions[0])
    return session.usage_error("unknown action " + shown(action) + did_you_mean(action, kActions));
  const std::string& folder = arguments.words()[1];
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    return session.fail(io_error("cannot make the folder " + shown(folder), failure.value()));
  json::array links;
  for (const std::string_view name : kLinkNames) {
    const fs::path link = fs::path(folder) / name;
    if (auto made = make_link(link, own_program()); !made) return session.fail(made.error());
    if (!session.json()) session.screen().out("Made " + printable(link.string()) + ".\n");
    links.push_back(text_to_json(link.string()));
  }
  if (session.json()) print_json(session.screen(), json::object{{"links", std::move(links)}});
  return kExitOk;
}

}  // namespace

const Verb kCompatVerb{
    .name = "compat",
    .aliases = kNoAliases,
    .summary = "make links with the names of ml-scheduler's commands",
    .description =
        "Makes links to this program in a folder: execute_batch and execute_remote. Called by such "
        "a name it is that verb. 'make install' makes them too. The commands of GLB, glb-start and "
        "glb-run, are in the Python package sdk/glb.",
    .usage = "install FOLDER",
    .word_choices = "install",
    .tail = Tail::kWords,
    .least_words = 2,
    .most_words = 2,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
