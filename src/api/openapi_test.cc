#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "api/encode.h"
#include "api/routes.h"
#include "api/testing/fake_services.h"

// docs/api/openapi.yaml against the code. The document is written in plain block style with two
// spaces for each level, so that lines alone tell its structure.
namespace tutti {
namespace {

namespace json = boost::json;

std::vector<std::string> document() {
  const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  std::ifstream file(root / "docs/api/openapi.yaml");
  EXPECT_TRUE(file) << root;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The key of a line with exactly this indentation; empty when it has none.
std::string key_at(const std::string& line, std::size_t indentation) {
  if (line.find_first_not_of(' ') != indentation || line[indentation] == '-') return {};
  const std::size_t colon = line.find(':', indentation);
  return colon == line.npos ? std::string() : line.substr(indentation, colon - indentation);
}

// "get /v1/status getStatus" for each operation.
std::set<std::string> documented_operations() {
  constexpr std::string_view kMark = "      operationId: ";
  std::set<std::string> found;
  std::string path;
  std::string method;
  for (const std::string& line : document()) {
    if (const auto key = key_at(line, 2); key.starts_with('/')) path = key;
    if (const auto key = key_at(line, 4); !key.empty()) method = key;
    if (line.starts_with(kMark))
      found.insert(method + " " + path + " " + line.substr(kMark.size()));
  }
  return found;
}

std::set<std::string> documented_properties(const std::string& schema) {
  std::set<std::string> found;
  std::string section;
  std::string part;
  for (const std::string& line : document()) {
    if (!key_at(line, 4).empty()) section = key_at(line, 4);
    if (!key_at(line, 6).empty()) part = key_at(line, 6);
    if (section != schema || part != "properties") continue;
    if (const auto key = key_at(line, 8); !key.empty()) found.insert(key);
  }
  return found;
}

// The names of the first enum of a schema, or of its property.
std::set<std::string> documented_names(const std::string& schema, const std::string& property) {
  std::string text;
  bool in_schemas = false;
  bool in_schema = false;
  bool begun = false;
  for (const std::string& line : document()) {
    in_schemas = in_schemas || line == "  schemas:";
    if (in_schemas && !key_at(line, 4).empty()) in_schema = key_at(line, 4) == schema;
    const std::size_t at = line.find_first_not_of(' ');
    begun = begun ||
            (in_schema && (property.empty() ||
                           line.substr(std::min(at, line.size())).starts_with(property + ":")));
    if (begun) text += line;
    if (text.find("enum:") != text.npos && line.find(']') != line.npos) break;
  }
  std::set<std::string> names;
  std::string name;
  for (std::size_t i = text.find('[', text.find("enum:")); i < text.size(); ++i) {
    const bool part = std::isalpha(static_cast<unsigned char>(text[i])) || text[i] == '_';
    if (part) name += text[i];
    if (!part && !name.empty()) names.insert(std::exchange(name, {}));
    if (text[i] == ']') break;
  }
  return names;
}

// The names of all values up to `last`.
template <typename Value, typename Name>
std::set<std::string> names_up_to(Value last, Name name_of) {
  std::set<std::string> names;
  for (int value = 0; value <= static_cast<int>(last); ++value)
    names.insert(name_of(static_cast<Value>(value)));
  return names;
}

std::set<std::string> keys_of(const json::object& object) {
  std::set<std::string> keys;
  for (const auto& member : object) keys.emplace(member.key());
  return keys;
}

TEST(OpenApi, documents_exactly_the_routes) {
  std::set<std::string> served;
  for (const Route& route : routes()) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    served.insert(method + " " + std::string(route.pattern) + " " + std::string(route.name));
  }
  EXPECT_EQ(documented_operations(), served);
}

TEST(OpenApi, documents_exactly_the_fields_of_answers) {
  FakeWorld world;
  auto job = world.job(1);
  set_state(job, TaskState::kFailed);
  EXPECT_EQ(documented_properties("Job"),
            keys_of(job_to_json(job.summary, job.rows[0], world.events.nodes())));
  EXPECT_EQ(documented_properties("Task"),
            keys_of(task_to_json(job.rows[0], {}, world.events.nodes())));
  EXPECT_EQ(documented_properties("Node"), keys_of(node_to_json({})));
  EXPECT_EQ(documented_properties("Status"), keys_of(status_to_json({}, {}, {})));
  EXPECT_EQ(documented_properties("Explanation"), keys_of(explanation_to_json({}, {}, {})));
}

TEST(OpenApi, documents_exactly_the_fields_of_reasons) {
  std::set<std::string> told;
  for (int code = 0; code <= static_cast<int>(ReasonCode::kStarting); ++code) {
    Reason reason;
    reason.code = static_cast<ReasonCode>(code);
    reason.job = JobId(1);
    reason.detail = "x";
    Explanation explanation;
    explanation.reasons = {reason};
    const auto object = explanation_to_json(explanation, {}, {});
    const auto keys = keys_of(object.at("reasons").at(0).as_object());
    told.insert(keys.begin(), keys.end());
  }
  EXPECT_EQ(documented_properties("Reason"), told);
}

TEST(OpenApi, documents_exactly_the_names_of_the_code) {
  EXPECT_EQ(documented_names("Reason", "code"), names_up_to(ReasonCode::kStarting, reason_name));
  EXPECT_EQ(documented_names("Node", "state"), names_up_to(Node::State::kGone, node_state_name));
  EXPECT_EQ(documented_names("State", ""),
            names_up_to(static_cast<TaskState>(kTaskStates - 1), task_state_name));
  auto endings = names_up_to(kLastEnding, ending_name);
  endings.insert("null");
  EXPECT_EQ(documented_names("Ending", ""), endings);
  EXPECT_EQ(documented_names("Error", "code"), names_up_to(ErrorCode::kInternal, error_code_name));
}

}  // namespace
}  // namespace tutti
