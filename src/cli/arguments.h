#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/verb.h"

namespace tutti {

// What a user said after a verb, taken apart by the verb's table. A value.
class Arguments {
 public:
  bool has(std::string_view option) const { return given_.count(std::string(option)) > 0; }
  // The option's last value, or empty.
  std::string value(std::string_view option) const;
  // All values of an option, in their order.
  std::vector<std::string> list(std::string_view option) const;
  const std::vector<std::string>& words() const { return words_; }

  // Whether the words stood after "--".
  bool after_dashes() const { return after_dashes_; }

  void add(std::string_view option, std::string value);
  void set_words(std::vector<std::string> words, bool after_dashes) {
    words_ = std::move(words);
    after_dashes_ = after_dashes;
  }

 private:
  std::map<std::string, std::vector<std::string>> given_;
  std::vector<std::string> words_;
  bool after_dashes_ = false;
};

// Takes the words after a verb's name apart. The error is a usage error: what is wrong and the
// nearest option that exists.
Result<Arguments> parse_arguments(const Verb& verb, const std::vector<std::string>& words);

}  // namespace tutti
