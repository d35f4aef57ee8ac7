#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <set>

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

}  // namespace
}  // namespace tutti
