#include "core/spec/model_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/spec/field.h"
#include "core/spec/job_file.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Configurations, they_are_read_and_written) {
  const auto list = parse_configurations("4xA100, 8xV100-32G");
  ASSERT_TRUE(list);
  EXPECT_THAT(*list, ElementsAre(Configuration{"A100", 4}, Configuration{"V100-32G", 8}));
  EXPECT_EQ(format_configurations(*list), "4xA100,8xV100-32G");
}

TEST(Configurations, what_is_none_is_refused) {
  for (const char* text : {"", "A100", "x", "0xA100", "4x", "4xA100,", "4xA100,4xA100", "4xA 1",
                           "99999xA100", "A100:4"})
    EXPECT_FALSE(parse_configurations(text)) << text;
}

TEST(Configurations, one_of_several_nodes_is_refused_with_what_is_possible) {
  for (const char* text : {"2x4xA100", "4xV100,2x4xA100"})
    EXPECT_EQ(parse_configurations(text).error().message,
              "'2x4xA100' is on several nodes, but a configuration is on one, such as 4xA100; for "
              "several nodes, give workers");
  EXPECT_TRUE(parse_configurations("4xRTX-6000,2x3090,1xmax"));
}

TEST(Configurations, a_job_file_may_list_them_and_name_its_model) {
  const auto file = parse_job_file(
      "command: train\nconfigurations: [4xA100, 8xV100]\n"
      "model: {name: bert, params: 1.3B, batch: 256}\n",
      "f.yaml");
  ASSERT_TRUE(file) << file.error().message;
  const JobSpec& spec = file->front().spec;
  EXPECT_EQ(spec.request.configurations.size(), 2u);
  EXPECT_EQ(spec.request.devices.count, 4u);
  EXPECT_EQ(spec.request.devices.type, "A100");
  EXPECT_EQ(spec.model, (ModelRun{"bert", 1'300'000'000, 256}));
  const auto texts = parse_job_file(
      "command: train\nconfigurations: 4xA100,8xV100\nmodel: bert_1.3B_256\n", "f.yaml");
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ(texts->front().spec, spec);
}

TEST(Configurations, errors_in_a_job_file_name_the_place) {
  const auto error = [](const std::string& text) {
    return parse_job_file("command: train\n" + text, "f.yaml").error().message;
  };
  EXPECT_THAT(error("configurations: [4]\n"), HasSubstr("f.yaml:2"));
  EXPECT_THAT(error("model: {name: bert, params: 1.3B}\n"), HasSubstr("batch"));
  EXPECT_THAT(error("model: {name: bert, size: 1.3B}\n"), HasSubstr("f.yaml:2"));
  EXPECT_THAT(error("model: bert\n"), HasSubstr("MODEL_SIZE_BATCH"));
}

JobSpec configured() {
  JobSpec spec;
  spec.user = "ann";
  spec.workdir = "/";
  spec.command.argv = {"train"};
  EXPECT_TRUE(set_field(spec, "configurations", "4xA100,8xV100"));
  fill_defaults(spec);
  return spec;
}

TEST(Configurations, errors_name_the_field_once) {
  JobSpec spec;
  EXPECT_EQ(set_field(spec, "configurations", "4xA100,4xA100").error().message,
            "configurations: 4xA100 stands twice");
  std::string many = "1xA";
  for (int i = 2; i <= 17; ++i) many += "," + std::to_string(i) + "xA";
  EXPECT_EQ(set_field(spec, "configurations", many).error().message,
            "configurations: at most 16 are allowed");
  spec = configured();
  spec.request.configurations.push_back({"A100", 4});
  EXPECT_EQ(validate(spec).error().message, "configurations: 4xA100 stands twice");
}

TEST(Configurations, unless_more_is_said_their_gpus_are_not_shared) {
  EXPECT_EQ(configured().request.devices.sharing, Sharing::kNever);
  JobSpec spec = configured();
  spec.request.devices.sharing = Sharing::kAuto;
  EXPECT_TRUE(set_field(spec, "gpu_mem", "20G"));
  fill_defaults(spec);
  EXPECT_EQ(spec.request.devices.sharing, Sharing::kAuto);
  JobSpec modelled;
  modelled.request.devices.count = 2;
  EXPECT_TRUE(set_field(modelled, "model", "bert_1.3B_256"));
  fill_defaults(modelled);
  EXPECT_EQ(modelled.request.devices.sharing, Sharing::kNever);
}

TEST(Configurations, they_cannot_be_combined_with_gpus) {
  JobSpec spec = configured();
  EXPECT_TRUE(validate(spec));
  EXPECT_THAT(set_field(spec, "gpus", "2").error().message, HasSubstr("gpus and configurations"));
  JobSpec other;
  EXPECT_TRUE(set_field(other, "gpus", "2"));
  EXPECT_FALSE(set_field(other, "configurations", "4xA100"));
  spec.request.devices.count = 2;
  EXPECT_FALSE(validate(spec));
}

TEST(Configurations, workers_that_start_together_have_none) {
  JobSpec spec = configured();
  spec.gang.workers.emplace_back();
  spec.tasks.shape = TaskSet::Shape::kGang;
  spec.gang.workers[0].ranks.request = spec.request;
  EXPECT_FALSE(validate(spec));
}

}  // namespace
}  // namespace tutti
