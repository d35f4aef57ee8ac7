#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest.h"
#include "cli/arguments.h"

namespace tutti {
namespace {

// Where the words that belong to the verb's options end and its command begins.
struct Split {
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool dashes = false;  // "--" stood before it
};

// How many words an option takes, its own included.
std::size_t words_of(const Verb& verb, const std::string& word) {
  if (word.starts_with("--")) {
    if (word.find('=') != std::string::npos) return 1;
    const Option* option = find_option(verb, word.substr(2));
    return option != nullptr && option->kind != Option::Kind::kFlag ? 2 : 1;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Option* option = find_option(verb, word[i]);
    if (option == nullptr) return 1;
    if (option->kind != Option::Kind::kFlag) return i + 1 == word.size() ? 2 : 1;
  }
  return 1;
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

bool takes_words(const Verb& verb, const std::string& word) {
  const Option* option = word.starts_with("--") ? find_option(verb, word.substr(2)) : nullptr;
  return option != nullptr && option->kind == Option::Kind::kWords;
}

Split split_words(const Verb& verb, const std::vector<std::string>& words) {
  Split split;
  std::size_t at = 0;
  while (at < words.size()) {
    const std::string& word = words[at];
    if (word == "--") {
      split.dashes = true;
      ++at;
      break;
    }
    if (!is_option(word) && verb.tail == Tail::kCommand) break;
    const std::size_t count =
        is_option(word) ? std::min(words_of(verb, word), words.size() - at) : 1;
    split.own.insert(split.own.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                     words.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
    if (!takes_words(verb, word)) continue;
    for (; at < words.size() && !is_option(words[at]); ++at)
      split.own.insert(split.own.end(), {word, words[at]});
  }
  split.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return split;
}

std::string names_of(const Option& option) {
  const std::string name = "--" + std::string(option.name);
  return option.letter == 0 ? name : "-" + std::string(1, option.letter) + "," + name;
}

void declare(CLI::App& app, const Verb& verb) {
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      if (option.kind == Option::Kind::kFlag) {
        app.add_flag(names_of(option))->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        continue;
      }
      app.add_option(names_of(option))
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
}

Error unknown_option(const Verb& verb, std::string word) {
  word = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) names.push_back("--" + std::string(option.name));
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return invalid_input("unknown option '" + word + "'" + did_you_mean(word, candidates));
}

Result<void> check_count(const Verb& verb, const Arguments& arguments) {
  if (arguments.has("help")) return {};
  const std::size_t count = arguments.words().size();
  if (count < verb.least_words) {
    return invalid_input("something is missing: tutti " + std::string(verb.name) + " " +
                         std::string(verb.usage));
  }
  if (verb.tail == Tail::kWords && count > verb.most_words) {
    return invalid_input("'" + arguments.words()[verb.most_words] + "' is too much: tutti " +
                         std::string(verb.name) + " " + std::string(verb.usage));
  }
  return {};
}

Result<Arguments> collect(const CLI::App& app, const Verb& verb, const Split& split) {
  Arguments arguments;
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      const CLI::Option* given = app.get_option("--" + std::string(option.name));
      for (const std::string& value : given->results()) {
        if (option.kind == Option::Kind::kFlag && value != "true") {
          return invalid_input("option '--" + std::string(option.name) + "' takes no value");
        }
        arguments.add(option.name, value);
      }
    }
  }
  std::vector<std::string> words;
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') return unknown_option(verb, word);
    words.push_back(word);
  }
  words.insert(words.end(), split.command.begin(), split.command.end());
  arguments.set_words(std::move(words), split.dashes);
  return arguments;
}

}  // namespace

std::string Arguments::value(std::string_view option) const {
  const auto found = given_.find(std::string(option));
  return found == given_.end() ? std::string() : found->second.back();
}

std::vector<std::string> Arguments::list(std::string_view option) const {
  const auto found = given_.find(std::string(option));
  return found == given_.end() ? std::vector<std::string>() : found->second;
}

void Arguments::add(std::string_view option, std::string value) {
  given_[std::string(option)].push_back(std::move(value));
}

Result<Arguments> parse_arguments(const Verb& verb, const std::vector<std::string>& words) {
  const Split split = split_words(verb, words);
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  declare(app, verb);
  try {
    app.parse(std::vector<std::string>(split.own.rbegin(), split.own.rend()));
  } catch (const CLI::ArgumentMismatch&) {
    const std::string& last = split.own.empty() ? std::string() : split.own.back();
    return invalid_input("option '" + last.substr(0, last.find('=')) + "' needs a value");
  } catch (const CLI::Error& error) {
    return invalid_input(error.what());
  }
  auto arguments = collect(app, verb, split);
  if (!arguments) return arguments;
  if (auto counted = check_count(verb, *arguments); !counted) return counted.error();
  return arguments;
}

}  // namespace tutti
