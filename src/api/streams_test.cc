#include "api/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "api/log_file.h"
#include "api/testing/fake_services.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using Next = ByteSource::Next;
using testing::ElementsAre;

class StreamsTest : public testing::Test {
 protected:
  StreamsTest() {
    std::string pattern = (fs::temp_directory_path() / "tutti-streams-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    world.log_folder = folder.string();
  }
  ~StreamsTest() override { fs::remove_all(folder); }

  void write(const std::string& name, std::string_view bytes) {
    const fs::path path = folder / name;
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::app);
    file << bytes;
  }
  std::unique_ptr<JobStream> follow(std::uint64_t id, std::vector<std::uint32_t> tasks,
                                    std::optional<std::uint64_t> tail = {},
                                    std::optional<std::uint32_t> until = {}) {
    services.emplace(world.services());
    const auto job = world.history.get(JobId(id));
    return std::make_unique<JobStream>(*services, world.events.watch(JobId(id)), job.summary,
                                       job.spec, JobStream::Options{std::move(tasks), tail, until});
  }
  // Publishes a job as it now is.
  void publish(const FakeHistory::Job& job) {
    world.history.put(job);
    Round round;
    round.jobs = {job.summary.row};
    world.events.published(round);
    world.events.deliver(EventHub::Haste::kNextPause);
  }
  // All that the source says until it waits or ends.
  static std::string pull(ByteSource& source, Next* last = nullptr) {
    std::string out;
    Next next = Next::kMore;
    while (next == Next::kMore) next = source.pull(out);
    if (last != nullptr) *last = next;
    return out;
  }
  static std::vector<std::string> names(const std::string& text) {
    std::vector<std::string> found;
    for (std::size_t at = text.find("event: "); at != text.npos;
         at = text.find("event: ", at + 1)) {
      found.push_back(text.substr(at + 7, text.find('\n', at) - at - 7));
    }
    return found;
  }
  // The output in a stream: "stream attempt: text" joined.
  static std::map<std::string, std::string> output(const std::string& text) {
    std::map<std::string, std::string> found;
    const std::string mark = "event: log\ndata: ";
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
      const std::size_t begin = at + mark.size();
      const auto value = parse_json(text.substr(begin, text.find('\n', begin) - begin));
      EXPECT_TRUE(value);
      const std::string key = std::string(value->at("stream").as_string()) + " " +
                              std::to_string(value->at("attempt").as_int64());
      found[key] += *text_from_json(value->at("text"), "text");
    }
    return found;
  }

  FakeWorld world;
  fs::path folder;
  std::optional<Services> services;
};

TEST_F(StreamsTest, an_event_is_a_name_and_a_line_of_json) {
  EXPECT_EQ(event_text("job", "{}"), "event: job\ndata: {}\n\n");
}

TEST_F(StreamsTest, a_final_job_is_dumped_and_ended) {
  auto job = world.job(1);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  write("0/1.out", "hello\n");
  write("0/1.err", "oops\n");
  const auto stream = follow(1, {0});
  Next last{};
  const std::string text = pull(*stream, &last);
  EXPECT_EQ(last, Next::kEnd);
  EXPECT_THAT(names(text), ElementsAre("job", "log", "log", "end"));
  const auto out = output(text);
  EXPECT_EQ(out.at("stdout 1"), "hello\n");
  EXPECT_EQ(out.at("stderr 1"), "oops\n");
}

TEST_F(StreamsTest, without_logs_only_changes_are_told) {
  auto job = world.job(1);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  write("0/1.out", "hello\n");
  EXPECT_THAT(names(pull(*follow(1, {}))), ElementsAre("job", "end"));
}

TEST_F(StreamsTest, a_queued_job_is_waited_for_without_polling) {
  world.history.put(world.job(1));
  const auto stream = follow(1, {0});
  Next last{};
  EXPECT_THAT(names(pull(*stream, &last)), ElementsAre("job"));
  EXPECT_EQ(last, Next::kWait);
  EXPECT_FALSE(stream->poll_after());
}

TEST_F(StreamsTest, output_is_followed_and_all_of_it_comes_before_the_end) {
  auto job = world.job(1);
  world.history.put(job);
  const auto stream = follow(1, {0});
  int woken = 0;
  stream->on_wake([&] { ++woken; });
  pull(*stream);
  set_state(job, TaskState::kRunning);
  publish(job);
  EXPECT_EQ(woken, 1);
  write("0/1.out", "one\n");
  EXPECT_THAT(names(pull(*stream)), ElementsAre("job", "log"));
  EXPECT_TRUE(stream->poll_after());
  EXPECT_EQ(pull(*stream), "");
  write("0/1.out", "two\n");
  EXPECT_EQ(output(pull(*stream)).at("stdout 1"), "two\n");
  write("0/1.out", "last");
  set_state(job, TaskState::kSucceeded);
  publish(job);
  Next last{};
  const std::string text = pull(*stream, &last);
  EXPECT_EQ(last, Next::kEnd);
  EXPECT_THAT(names(text), ElementsAre("job", "log", "end"));
  EXPECT_EQ(output(text).at("stdout 1"), "last");
}

TEST_F(StreamsTest, the_next_attempt_is_followed_where_the_last_one_ended) {
  auto job = world.job(1);
  set_state(job, TaskState::kRunning, 1);
  world.history.put(job);
  write("0/1.out", "try 1\n");
  const auto stream = follow(1, {0});
  EXPECT_EQ(output(pull(*stream)).at("stdout 1"), "try 1\n");
  write("0/1.out", "rest\n");
  write("0/1.a2.out", "try 2\n");
  set_state(job, TaskState::kRunning, 2);
  publish(job);
  const auto out = output(pull(*stream));
  EXPECT_EQ(out.at("stdout 1"), "rest\n");
  EXPECT_EQ(out.at("stdout 2"), "try 2\n");
  set_state(job, TaskState::kSucceeded, 2);
  publish(job);
  Next last{};
  pull(*stream, &last);
  EXPECT_EQ(last, Next::kEnd);
}

TEST_F(StreamsTest, a_tail_is_of_the_newest_attempt) {
  auto job = world.job(1);
  set_state(job, TaskState::kFailed, 2);
  world.history.put(job);
  write("0/1.out", "old\n");
  write("0/1.a2.out", "a\nb\nc\n");
  const auto out = output(pull(*follow(1, {0}, 2)));
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(out.at("stdout 2"), "b\nc\n");
}

TEST_F(StreamsTest, missing_and_special_files_are_empty) {
  auto job = world.job(1);
  job.spec.stdout_pattern = "/dev/zero";
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  EXPECT_THAT(names(pull(*follow(1, {0}))), ElementsAre("job", "end"));
}

TEST_F(StreamsTest, one_file_for_both_streams_is_read_once) {
  auto job = world.job(1);
  job.spec.stdout_pattern = (folder / "own-%j.log").string();
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  write("own-1.log", "both\n");
  EXPECT_EQ(output(pull(*follow(1, {0}))),
            (std::map<std::string, std::string>{{"stdout 1", "both\n"}}));
}

TEST_F(StreamsTest, binary_output_of_many_pieces_arrives_whole) {
  auto job = world.job(1);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  std::string bytes;
  for (std::size_t i = 0; i < 3 * ByteSource::kPiece + 17; ++i) {
    bytes += static_cast<char>(i * 31 + i / 251);
  }
  write("0/1.out", bytes);
  const auto stream = follow(1, {0});
  std::string all;
  Next next = Next::kMore;
  while (next == Next::kMore) {
    std::string piece;
    next = stream->pull(piece);
    EXPECT_LT(piece.size(), 2 * ByteSource::kPiece);
    all += piece;
  }
  EXPECT_EQ(output(all).at("stdout 1"), bytes);
}

TEST_F(StreamsTest, characters_are_not_cut_while_the_file_grows) {
  auto job = world.job(1);
  set_state(job, TaskState::kRunning);
  world.history.put(job);
  write("0/1.out", "a\xc3");
  const auto stream = follow(1, {0});
  EXPECT_EQ(output(pull(*stream)).at("stdout 1"), "a");
  write("0/1.out", "\xa4");
  EXPECT_EQ(output(pull(*stream)).at("stdout 1"), "\xc3\xa4");
  write("0/1.out", "\xc3");
  set_state(job, TaskState::kSucceeded);
  publish(job);
  EXPECT_EQ(output(pull(*stream)).at("stdout 1"), "\xc3");
}

TEST_F(StreamsTest, several_tasks_are_told_apart) {
  auto job = world.job(1, 3, TaskSet::Shape::kArray);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  write("0/1/2.out", "two");
  write("0/1/3.out", "three");
  const std::string text = pull(*follow(1, {1, 2}));
  EXPECT_THAT(names(text), ElementsAre("job", "log", "log", "end"));
  EXPECT_THAT(text, testing::HasSubstr(R"({"task":2,"attempt":1,"stream":"stdout","text":"two"})"));
}

TEST_F(StreamsTest, one_task_is_followed_to_its_end_though_its_job_goes_on) {
  auto job = world.job(1, 3, TaskSet::Shape::kArray);
  world.history.put(job);
  const auto stream = follow(1, {1}, {}, 1);
  Next last{};
  pull(*stream, &last);
  EXPECT_EQ(last, Next::kWait);
  write("0/1/2.out", "two");
  job.rows[1].state = TaskState::kFailed;
  job.rows[1].attempts = 1;
  publish(job);
  const std::string text = pull(*stream, &last);
  EXPECT_EQ(last, Next::kEnd);
  EXPECT_THAT(names(text), ElementsAre("job", "log", "end"));
}

TEST_F(StreamsTest, all_jobs_are_told_and_lag_is_admitted) {
  world.history.put(world.job(1));
  world.history.put(world.job(2));
  services.emplace(world.services());
  AllStream stream(*services, world.events.watch_all());
  EXPECT_THAT(names(pull(stream)), ElementsAre());
  publish(world.history.get(JobId(1)));
  publish(world.history.get(JobId(2)));
  std::string out;
  stream.pull(out);
  EXPECT_THAT(names(out), ElementsAre("job", "job"));
  publish(world.history.get(JobId(1)));
  publish(world.history.get(JobId(1)));
  EXPECT_THAT(names(pull(stream)), ElementsAre("lagged", "job"));
}

TEST_F(StreamsTest, a_job_of_which_nothing_is_kept_is_told_as_forgotten) {
  services.emplace(world.services());
  AllStream stream(*services, world.events.watch_all());
  pull(stream);
  Round round;
  round.jobs = {world.job(7).summary.row};
  world.events.published(round);
  world.events.deliver(EventHub::Haste::kNextPause);
  EXPECT_THAT(pull(stream), testing::HasSubstr("event: forgotten\ndata: {\"id\":7}\n"));
}

TEST_F(StreamsTest, a_log_file_that_shrinks_ends_early) {
  write("x", "0123456789");
  LogBytes whole((folder / "x").string(), 3, 7);
  EXPECT_EQ(pull(whole), "3456789");
  LogBytes beyond((folder / "x").string(), 3, 100);
  Next last{};
  EXPECT_EQ(pull(beyond, &last), "3456789");
  EXPECT_EQ(last, Next::kEnd);
}

TEST_F(StreamsTest, tails_count_lines_from_the_end) {
  const std::string path = (folder / "t").string();
  EXPECT_EQ(*tail_offset(path, 3), 0u);
  write("t", "a\nb\nc");
  EXPECT_EQ(*tail_offset(path, 0), 5u);
  EXPECT_EQ(*tail_offset(path, 1), 4u);
  EXPECT_EQ(*tail_offset(path, 2), 2u);
  EXPECT_EQ(*tail_offset(path, 9), 0u);
  write("t", "\n");
  EXPECT_EQ(*tail_offset(path, 1), 4u);
  const std::string big(100000, 'x');
  write("t", big + "\n" + big + "\n");
  EXPECT_EQ(*tail_offset(path, 1), 6u + 100001u);
  EXPECT_EQ(*tail_offset(path, 3), 4u);
}

// A link to itself: there, and nobody can open it, not even root.
TEST_F(StreamsTest, a_log_that_cannot_be_opened_is_not_taken_for_an_empty_one) {
  const std::string path = (folder / "x").string();
  fs::create_symlink("x", path);
  EXPECT_FALSE(read_log(path, 0, 10));
  EXPECT_FALSE(log_size(path));
  EXPECT_FALSE(tail_offset(path, 3));
  EXPECT_EQ(*log_size((folder / "none").string()), 0u);
}

TEST_F(StreamsTest, output_that_cannot_be_read_yet_is_waited_for) {
  auto job = world.job(1);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  fs::create_directories(folder / "0");
  fs::create_symlink("1.out", folder / "0/1.out");
  const auto stream = follow(1, {0}, 5);
  Next last{};
  EXPECT_THAT(names(pull(*stream, &last)), ElementsAre("job"));
  EXPECT_EQ(last, Next::kWait);
  EXPECT_TRUE(stream->poll_after());
  fs::remove(folder / "0/1.out");
  write("0/1.out", "hello");
  const std::string text = pull(*stream, &last);
  EXPECT_EQ(output(text).at("stdout 1"), "hello");
  EXPECT_EQ(last, Next::kEnd);
}

TEST_F(StreamsTest, output_that_can_never_be_read_is_not_waited_for_for_ever) {
  auto job = world.job(1);
  set_state(job, TaskState::kSucceeded);
  world.history.put(job);
  fs::create_directories(folder / "0");
  fs::create_symlink("1.out", folder / "0/1.out");
  const auto stream = follow(1, {0});
  Next last = Next::kWait;
  for (int i = 0; i < 1000 && last == Next::kWait; ++i) pull(*stream, &last);
  EXPECT_EQ(last, Next::kEnd);
}

}  // namespace
}  // namespace tutti
