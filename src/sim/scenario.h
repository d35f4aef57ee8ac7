#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tutti {

// A "key=value" or a bare "flag" of a scenario line.
struct ScenarioOption {
  std::string key;
  std::string value;
};

// "at TIME VERB [NAME] [options]": what happens when. A node line without "at" happens at the
// start.
struct ScenarioAction {
  int line = 0;
  Duration at;
  std::string verb;
  std::string name;
  std::vector<ScenarioOption> options;
};

// "expect …": what must be true of the run.
struct Expectation {
  enum class Kind {
    kStarts,       // NAME starts at T | at T1..T2 | before T | after T
    kStartsFirst,  // NAME starts before OTHER
    kNeverStarts,  // NAME starts never
    kEnds,         // NAME ends at T | at T1..T2 | before T | after T
    kState,        // NAME STATE, all STATE
    kRefused,      // NAME refused
    kAttempts,     // NAME attempts N
    kNode,         // NAME runs on NODE
    kReason,       // reason of NAME at T is CODE
    kRunning,      // running [NAME] at T <= N (also >= and =)
    kOrder,        // order A B C: by first start
  };
  int line = 0;
  std::string text;
  Kind kind = Kind::kState;
  std::string name;  // empty: all
  std::vector<std::string> others;
  Duration from;
  Duration to;
  std::string word;  // state, reason code or comparison
  std::uint32_t count = 0;
};

// A story for the simulator, in words a user could write. Format: one statement a line, '#' begins
// a comment; statements are the three types above.
struct Scenario {
  std::string file;
  std::vector<ScenarioAction> actions;  // in the order of time, then of the file
  std::vector<Expectation> expectations;
};

// Reads a scenario; an error begins with "FILE:LINE: ".
Result<Scenario> parse_scenario(const std::string& file, std::string_view text);

}  // namespace tutti
