#pragma once

#include <string>

#include "cli/output/screen.h"
#include "cli/verb.h"

namespace tutti {

// Everything that is written about the verbs, made from the command table.

// The list of verbs, for `tutti` and `tutti help`.
std::string overview_text(const Screen& screen);
// One verb in full, for `tutti help VERB` and `tutti VERB --help`.
std::string verb_text(const Verb& verb, const Screen& screen);
// The whole reference in Markdown, for docs/cli.md.
std::string reference_markdown();
// The manual page tutti(1).
std::string manual_page();

// "-n, --name NAME": an option as help writes it.
std::string option_names(const Option& option);

}  // namespace tutti
