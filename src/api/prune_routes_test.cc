#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <future>

#include "api/routes.h"
#include "api/testing/fake_services.h"
#include "control/prune_desk.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Knows the jobs that are listed.
class FakeSource : public PruneSource {
 public:
  FakeSource(std::vector<PruneRequest>& asked, Prunable& prunable, std::set<JobId>& known)
      : asked_(asked), prunable_(prunable), known_(known) {}
  Result<Prunable> prunable(const PruneRequest& request) override {
    asked_.push_back(request);
    return prunable_;
  }
  Result<Remaining> remaining(const std::set<JobId>& without) override {
    Remaining remaining;
    if (without.empty()) remaining.halves = {JobId(2)};
    remaining.environments = {7, 8};
    remaining.snapshots = {"needed"};
    remaining.newest = JobId(3);
    return remaining;
  }
  bool is_known(JobId job) override { return known_.contains(job); }

 private:
  std::vector<PruneRequest>& asked_;
  Prunable& prunable_;
  std::set<JobId>& known_;
};

class FakeHomeFiles : public HomeFiles {
 public:
  Result<Files> remove_of(const Test& gone, const Removal& removal) override {
    was_dry = removal.dry_run;
    removed.clear();
    for (const JobId job : {JobId(1), JobId(2), JobId(3)})
      if (removal.goes_on() && gone(job)) removed.push_back(job);
    return Files{.count = removed.size(), .bytes = 100};
  }
  Result<Files> remove_snapshots(const std::set<std::string>& needed, const Removal&) override {
    kept = needed;
    return Files{.count = 1, .bytes = 11, .stuck = 5};
  }
  bool was_dry = false;
  std::vector<JobId> removed;
  std::set<std::string> kept;
};

class PruneRoutes : public testing::Test {
 protected:
  HttpResponse ask(const std::string& body, const std::string& query = {}) {
    Services services = world.services();
    services.prunes = &desk;
    std::promise<HttpResponse> answer;
    const Threads threads{[](auto work) { work(); }, [](auto work) { work(); }};
    dispatch(services, threads, {"POST", "/v1/prune" + query, body, {"ann", "/home/ann"}},
             [&](HttpResponse response) { answer.set_value(std::move(response)); });
    return answer.get_future().get();
  }

  FakeWorld world;
  FakeHomeFiles files;
  std::vector<PruneRequest> asked;
  std::set<JobId> known{JobId(3)};
  Prunable prunable{.jobs = {{JobId(1), 5}}, .unfinished = 2, .needed = 3, .recent = 4};
  PruneDesk desk{world.front, files, [this](const GoesOn&) -> Result<std::unique_ptr<PruneSource>> {
                   return std::unique_ptr<PruneSource>(new FakeSource(asked, prunable, known));
                 }};
};

TEST_F(PruneRoutes, rows_go_before_files_and_what_was_left_goes_too) {
  const auto response = ask(R"({"jobs":[1,4],"older_than_s":60})");
  EXPECT_EQ(response.body,
            "{\"dry_run\":false,\"jobs\":[1],\"tasks\":5,\"files\":3,\"bytes\":111,"
            "\"stuck_files\":5,\"kept\":{\"unfinished\":2,\"needed\":3,\"recent\":4}}\n");
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(asked[0].jobs, ElementsAre(JobId(1), JobId(4)));
  EXPECT_EQ(asked[0].before, world.clock.now() - seconds(60));
  ASSERT_THAT(world.front.pruned, SizeIs(3));
  EXPECT_THAT(world.front.pruned[0].jobs, ElementsAre(JobId(1)));
  EXPECT_EQ(world.front.pruned[0].before, asked[0].before);
  EXPECT_THAT(world.front.pruned[1].jobs, ElementsAre(JobId(2)));
  EXPECT_THAT(world.front.pruned[2].environments, ElementsAre(7, 8));
  EXPECT_EQ(world.front.pruned[2].newest, JobId(3));
  EXPECT_THAT(files.removed, ElementsAre(JobId(1), JobId(2)));
  EXPECT_THAT(files.kept, ElementsAre("needed"));
}

TEST_F(PruneRoutes, a_job_that_is_retried_meanwhile_stays) {
  known.insert(JobId(1));
  EXPECT_THAT(ask(R"({"all":true})").body,
              HasSubstr("\"jobs\":[],\"tasks\":0,\"files\":2,\"bytes\":111"));
  EXPECT_THAT(ask(R"({"all":true})").body, HasSubstr("\"unfinished\":3"));
  EXPECT_THAT(files.removed, ElementsAre(JobId(2)));
}

TEST_F(PruneRoutes, a_dry_run_counts_as_if_they_were_gone) {
  known.insert(JobId(1));
  const auto response = ask(R"({"all":true})", "?dry_run=1");
  EXPECT_THAT(response.body, HasSubstr("\"dry_run\":true,\"jobs\":[1],\"tasks\":5,\"files\":3"));
  EXPECT_TRUE(files.was_dry);
  EXPECT_THAT(files.removed, ElementsAre(JobId(1), JobId(2)));
  EXPECT_THAT(world.front.pruned, IsEmpty());
  EXPECT_THAT(asked[0].jobs, IsEmpty());
  EXPECT_EQ(asked[0].before, world.clock.now() - seconds(30 * 24 * 3600));
}

TEST_F(PruneRoutes, no_step_is_large) {
  prunable.jobs.clear();
  for (std::uint64_t id = 1; id <= 500; ++id) prunable.jobs.push_back({JobId(id), 1});
  prunable.jobs.push_back({JobId(501), 100'000});
  prunable.jobs.push_back({JobId(502), 1});
  EXPECT_EQ(ask(R"({"all":true})").status, 200);
  std::vector<std::size_t> sizes;
  for (const PruneStep& step : world.front.pruned)
    if (step.jobs != std::vector{JobId(2)}) sizes.push_back(step.jobs.size());
  EXPECT_THAT(sizes, ElementsAre(200, 200, 101, 1, 0));
}

TEST_F(PruneRoutes, files_stay_when_rows_could_not_go) {
  world.front.error = Error{ErrorCode::kExhausted, "the disk is full"};
  EXPECT_THAT(ask(R"({"all":true})").body, HasSubstr("the disk is full"));
  EXPECT_THAT(files.removed, IsEmpty());
}

TEST_F(PruneRoutes, a_desk_that_was_stopped_says_so) {
  desk.stop();
  EXPECT_THAT(ask(R"({"all":true})").body, HasSubstr("the daemon was stopped"));
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(PruneRoutes, vague_requests_are_refused) {
  for (const char* body :
       {"{}", R"({"all":false})", R"({"jobs":[]})", R"({"jobs":[0]})", R"({"jobs":[{"id":3}]})",
        R"({"all":true,"jobs":[3]})", R"({"all":true,"older_than_s":-1})",
        R"({"all":true,"older_than_s":"7d"})", R"({"all":true,"age":1})", "[]", ""}) {
    EXPECT_EQ(ask(body).status, 400) << body;
  }
  EXPECT_EQ(ask(R"({"all":true})", "?dry_run=maybe").status, 400);
  EXPECT_THAT(asked, IsEmpty());
}

}  // namespace
}  // namespace tutti
