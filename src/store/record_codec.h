#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/store.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "core/model/profile.h"

namespace tutti {

// Encodings of the blobs in the tables: see docs/formats/database.md. The encoders overwrite `out`.
// The decoders answer whether the bytes were exactly what an encoder of this version writes.

// Version of every blob's encoding: its first byte.
inline constexpr std::uint8_t kRecordVersion = 7;

// All of a task's row but its id and state.
void encode_task(const TaskRow& row, std::string& out);
bool decode_task(std::string_view bytes, TaskRow& row);

void encode_counts(const TaskCounts& counts, std::string& out);
bool decode_counts(std::string_view bytes, TaskCounts& counts);

// What few jobs have: devices, labels and ports of the request, the ranks of a gang, limits for
// nodes, configurations and the model.
void encode_rare_facts(const JobFacts& facts, std::string& out);
bool decode_rare_facts(std::string_view bytes, JobFacts& facts);

void encode_dependencies(const std::vector<Dependency>& after, std::string& out);
bool decode_dependencies(std::string_view bytes, std::vector<Dependency>& after);

// What of a spec is neither in the jobs table nor in the environments or lines tables.
void encode_spec(const JobSpec& spec, std::string& out);
bool decode_spec(std::string_view bytes, JobSpec& spec);

// An environment, or a run of a batch's lines.
void encode_texts(std::span<const std::string> texts, std::string& out);
bool decode_texts(std::string_view bytes, std::vector<std::string>& texts);

void encode_node(const Node& node, std::string& out);
// The node comes back with all of it free.
bool decode_node(std::string_view bytes, Node& node);

void encode_profile(const Profile& profile, std::string& out);
bool decode_profile(std::string_view bytes, Profile& profile);

// What `ls` shows of a command: one line of at most 200 bytes.
std::string display_text(const JobSpec& spec);

}  // namespace tutti
