#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tutti {

class Arguments;
class Session;

// One option of a verb. Part of the constant command table: parsing, help, completions, man page
// and reference are all made from it.
struct Option {
  // kList: a value, repeatable; kWords: likewise, and all words up to the next option are values.
  enum class Kind { kFlag, kValue, kList, kWords };

  std::string_view name;  // the long one, without dashes
  char letter = 0;        // the short one; 0: none
  Kind kind = Kind::kFlag;
  std::string_view value;    // what help calls the value
  std::string_view help;     // a phrase without a full stop
  std::string_view choices;  // for completions: words, or "<file>", "<folder>"; empty: free text
};

// Options that help shows under one heading, and that several verbs may share.
struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};

// A call that help shows, and what it does.
struct Example {
  std::string_view command;
  std::string_view what;
};

// What may follow a verb's options.
enum class Tail {
  kWords,    // words, mixed with options
  kCommand,  // a command: everything from the first word that is not an option
};

// One verb of the command line. Constant; lives as long as the program.
struct Verb {
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view summary;             // a phrase for the list of verbs
  std::string_view description;         // paragraphs, separated by empty lines
  std::string_view usage;               // what stands after the verb and its options
  std::string_view word_choices;        // for completions, as Option::choices; "<job>": jobs,
                                        // "<one-job>": a single one
  std::string_view later_choices = {};  // of the words after the first; empty: as of that one
  Tail tail = Tail::kWords;
  std::size_t least_words = 0;
  std::size_t most_words = 0;
  std::span<const OptionGroup> groups;
  std::span<const Example> examples;
  int (*run)(Session& session, const Arguments& arguments) = nullptr;
};

// Verbs that are also called by links to the program with their name.
inline constexpr std::string_view kLinkNames[] = {"execute_batch", "execute_remote"};

// Every verb, in the order in which help shows them.
std::span<const Verb* const> all_verbs();

// The verb with that name or alias, or null.
const Verb* find_verb(std::string_view name);

// The option of a verb with that long name, or null.
const Option* find_option(const Verb& verb, std::string_view name);
// Likewise by its short name.
const Option* find_option(const Verb& verb, char letter);

}  // namespace tutti
