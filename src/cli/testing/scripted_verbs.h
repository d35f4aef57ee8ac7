#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cli/dispatch.h"
#include "cli/testing/fake.h"

namespace tutti {

// A signal comes before the first event of each stream.
class InterruptedStream : public FakeClient {
 public:
  using FakeClient::FakeClient;
  Result<void> stream(std::string_view target, StreamListener& listener) override {
    for (int i = 0; i < presses; ++i) {
      ::raise(signal);
      if (listener.on_wake() == StreamListener::Next::kStop) return {};
    }
    return FakeClient::stream(target, listener);
  }
  int signal = SIGINT;
  int presses = 1;
};

// For tests: a command line with a scripted daemon behind it and a folder of its own.
class ScriptedVerbs : public ::testing::Test {
 protected:
  using Words = std::vector<std::string>;

  ScriptedVerbs() {
    auto client = std::make_unique<FakeClient>(asked);
    daemon = client.get();
    session.use_client(std::move(client));
    session.set_now(TimePoint(1'800'000'000'000'000));
    std::string made = "/tmp/tutti-scripted-verbs-XXXXXX";
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    folder = made;
  }
  ~ScriptedVerbs() override { std::filesystem::remove_all(folder); }

  int call(const Words& words) { return dispatch(session, words); }
  boost::json::value body() const { return boost::json::parse(asked.last_body); }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = folder + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  // The stream of job `id`: these events, and the end in this state.
  void stream(const std::string& target, std::vector<ServerEvent> events, const std::string& end) {
    events.push_back({"end", end});
    daemon->streams[target] = std::move(events);
  }

  FakeClient::Log asked;
  FakeClient* daemon = nullptr;
  FakeScreen screen;
  Entries entries;
  Session session{entries, screen};
  std::string folder;
};

}  // namespace tutti
