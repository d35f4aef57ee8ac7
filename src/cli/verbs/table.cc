#include <algorithm>

#include "cli/verb.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

constexpr const Verb* kVerbs[] = {
    &kSubmitVerb,      &kRunVerb,      &kBatchVerb, &kExecuteBatchVerb, &kExecuteRemoteVerb,
    &kLsVerb,          &kShowVerb,     &kLogsVerb,  &kExplainVerb,      &kCancelVerb,
    &kWaitVerb,        &kRetryVerb,    &kPruneVerb, &kNodesVerb,        &kGpusVerb,
    &kProfileVerb,     &kSimulateVerb, &kPlanVerb,  &kDoctorVerb,       &kDaemonVerb,
    &kCompletionsVerb, &kCompatVerb,   &kHelpVerb,  &kVersionVerb};

}  // namespace

std::span<const Verb* const> all_verbs() {
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : kVerbs) {
    const auto& aliases = verb->aliases;
    if (verb->name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
      return verb;
    }
  }
  return nullptr;
}

const Option* find_option(const Verb& verb, std::string_view name) {
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      if (option.name == name) return &option;
    }
  }
  return nullptr;
}

const Option* find_option(const Verb& verb, char letter) {
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      if (option.letter == letter) return &option;
    }
  }
  return nullptr;
}

}  // namespace tutti
