#include "cli/image_builds.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>

#include "cli/gang_request.h"
#include "cli/submission.h"
#include "cli/tool_answer.h"
#include "client/image_digest.h"
#include "core/spec/container.h"
#include "wire/job_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr Duration kLongestLook = seconds(30);
constexpr Duration kLongestBuild = seconds(6 * 3600);

// The container of a job that has one whose image is to be built.
Result<Container> built_container(const json::value& job) {
  if (!job.as_object().contains("container")) return Container();
  auto spec = spec_from_json(job);
  if (!spec) return spec.error();
  return spec->container.build == ImageBuild() ? Container() : spec->container;
}

Result<bool> has_image(const Container& container) {
  const bool any = container.runtime.empty();
  for (const char* name : {"podman", "docker"}) {
    if (!any && container.runtime != name) continue;
    const auto found = ask_tool({name, "image", "inspect", container.image}, kLongestLook);
    if (found) return found->status == 0;
    if (found.error().code != ErrorCode::kNotFound) return found.error();
  }
  return Error{ErrorCode::kUnavailable,
               fmt::format("no container runtime here: install {}, or use --no-container",
                           any ? "podman or docker" : container.runtime)};
}

json::object build_job(const json::object& job, const Container& container) {
  JobSpec spec;
  spec.name = "build " + container.image;
  spec.command = build_command(container);
  spec.workdir = container.build.context;
  spec.time_limit = kLongestBuild;
  json::object build = spec_to_json(spec, false).as_object();
  for (const char* same : {"env", "project", "priority"}) {
    if (job.contains(same)) build[same] = job.at(same);
  }
  return build;
}

void start_after(json::object& job, std::uint64_t id) {
  json::array after;
  if (job.contains("after")) after = job.at("after").as_array();
  after.emplace_back(std::to_string(id));
  job["after"] = std::move(after);
}

}  // namespace

Result<void> name_built_images(JobRequests& requests) {
  for (json::value& job : requests.jobs) {
    const auto container = built_container(job);
    if (!container) return container.error();
    if (container->image.empty()) continue;
    const auto digest = image_digest(container->build, digest_file());
    if (!digest) return digest.error();
    auto& object = job.as_object();
    object["container"].as_object()["image"] =
        text_to_json(built_image_name(container->image, *digest));
  }
  return {};
}

Result<std::vector<std::uint64_t>> submit_builds(Session& session, JobRequests& requests) {
  std::map<std::string, std::uint64_t> building;
  for (json::value& job : requests.jobs) {
    const auto container = built_container(job);
    if (!container) return container.error();
    auto& object = job.as_object();
    if (container->image.empty() || wants_labels(object)) continue;
    const auto there = has_image(*container);
    if (!there) return there.error();
    if (*there) continue;
    if (building.empty()) {
      // Nothing is built for jobs that would be refused then.
      if (auto checked = check_jobs(session, requests); !checked) return checked.error();
    }
    auto& id = building[container->image];
    if (id == 0) {
      const auto submission = submit_jobs(session, {build_job(object, *container)});
      if (!submission) return submission.error();
      id = submission->ids.front();
      session.screen().err(fmt::format(
          "tutti: job {0} builds the image {1}; see 'tutti logs -f {0}'\n", id, container->image));
    }
    start_after(object, id);
  }
  std::vector<std::uint64_t> ids;
  for (const auto& [image, id] : building) ids.push_back(id);
  return ids;
}

}  // namespace tutti
