#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// How a command line is executed. A line of plain and simply quoted words becomes argv and needs no
// shell, as make does it: "python train.py --name 'a b'". Everything else is left to the shell: a
// line with an unquoted quote-, expansion-, pattern-, redirection- or list character or a newline,
// with "$", "`", "\" or "!" in double quotes, with VAR=value first, or whose first word is a
// keyword or a builtin that has no program or behaves differently from it (cd, export, time, test,
// …).
Command command_of_line(std::string_view line);

// The text as exactly one word of a POSIX shell, wherever a word may stand.
// Words that mean themselves stay bare, for reading. The text must not hold NUL.
std::string shell_quote(std::string_view text);

// The same, in quotes even where none are needed: for a place directly beside other text.
std::string single_quoted(std::string_view text);

// The words quoted and joined by blanks.
std::string shell_join(const std::vector<std::string>& words);

// The words of one line, with quotes and backslashes removed as a shell does, but without any
// expansion; an unquoted # at the start of a word begins a comment. Fails when a quote is open.
Result<std::vector<std::string>> split_words(std::string_view text);

// What a user sees of a command: the shell line itself, or the quoted words; of a script its name
// and arguments.
std::string command_text(const Command& command);

}  // namespace tutti
