#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exec/keeper/messages.h"

namespace tutti {

// What the attempts of one job share, in the form in which they are started: the environment as an
// array of pointers, and where their programs were found. Shared by the job's attempts that wait or
// run; keeper thread only.
class JobContext {
 public:
  explicit JobContext(ContextOrder order);
  JobContext(const JobContext&) = delete;
  JobContext& operator=(const JobContext&) = delete;

  const ContextOrder& order() const { return order_; }

  // The umask that its attempts get: TUTTI_UMASK in its environment, or `usual`.
  mode_t umask(mode_t usual) const { return umask_.value_or(usual); }

  // The environment with `extra` in addition and instead, ended by a null pointer. The array stays
  // valid until the next call, its strings as long as `extra` and this object.
  char* const* environment(const std::vector<std::string>& extra, const std::string& mark);

  // The value of PATH in that environment.
  std::string_view search_path(const std::vector<std::string>& extra, bool& from_extra) const;

  // Where `program` was found last, or empty.
  const std::string& found(const std::string& program) const;
  void remember(const std::string& program, const std::string& path) { found_[program] = path; }
  void forget(const std::string& program) { found_.erase(program); }

 private:
  void set(const std::string& variable);

  ContextOrder order_;
  std::optional<mode_t> umask_;
  std::vector<char*> base_;
  std::unordered_map<std::string_view, std::size_t> position_;  // of a name in base_
  std::vector<char*> merged_;
  std::unordered_map<std::string, std::string> found_;
};

}  // namespace tutti
