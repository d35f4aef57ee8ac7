#include "sim/arena/arena_speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <span>

#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "core/spec/yaml_tree.h"

namespace tutti {
namespace {

// A time that is not in the database is that of the next larger model; each step of size is taken
// to cost this factor.
constexpr double kSizeStep = 1.8;
constexpr double kLongestIterationS = 300;
// A job may run on all of them.
constexpr std::uint32_t kMostPoolNodes = kMaxRanks;

constexpr std::array<std::string_view, 6> kWideResnet{"500M", "1B", "2B", "4B", "6.8B", "13B"};
constexpr std::array<std::string_view, 6> kBert{"760M", "1.3B", "2.6B", "6.7B", "15B", "39B"};
constexpr std::array<std::string_view, 6> kMoe{"690M", "1.3B", "2.4B", "10B", "27B", "70B"};

std::span<const std::string_view> sizes_of(std::string_view model) {
  if (model == "wide_resnet") return kWideResnet;
  if (model == "bert") return kBert;
  if (model == "moe") return kMoe;
  return {};
}

double rounded3(double value) {
  return std::nearbyint(value * 1000) / 1000;
}

std::optional<double> decimal(const std::string& text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<ArenaSpeed> speed_of(const ArenaJob& job, const Shape& shape,
                                   std::optional<double> time, double factor) {
  if (!time || *time <= 0 || *time > kLongestIterationS) return std::nullopt;
  const double samples = rounded3(rounded3(job.batch / *time) * factor);
  if (samples <= 0) return std::nullopt;
  const double iteration = rounded3(job.batch / samples);
  if (iteration <= 0) return std::nullopt;
  return ArenaSpeed{shape, samples, iteration};
}

bool is_map(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kMap;
}

std::optional<std::uint32_t> node_size(std::string_view type) {
  if (type == "a100") return 4;
  if (type == "v100") return 16;
  if (type == "a40" || type == "a10") return 2;
  return std::nullopt;
}

}  // namespace

Result<ArenaSpeeds::Key> ArenaSpeeds::parse_key(std::string_view text) {
  // NODES_TYPE_NODES_n_PERNODE_d
  std::vector<std::string_view> parts;
  for (std::string_view rest = text;;) {
    const auto cut = rest.find('_');
    parts.push_back(rest.substr(0, cut));
    if (cut == std::string_view::npos) break;
    rest = rest.substr(cut + 1);
  }
  const Error refused = invalid_input(
      fmt::format("{} is not a shape, such as 2_a100_2_n_4_d for two nodes of four", shown(text)));
  if (parts.size() != 6 || parts[0] != parts[2] || parts[3] != "n" || parts[5] != "d")
    return refused;
  const auto nodes = parse_digits(parts[0], kMostPoolNodes);
  const auto per_node = parse_digits(parts[4], 1024);
  if (!nodes || *nodes == 0 || !per_node || *per_node == 0 || parts[1].empty()) return refused;
  return Key{std::string(parts[1]), static_cast<std::uint32_t>(*nodes),
             static_cast<std::uint32_t>(*per_node)};
}

Result<ArenaSpeeds> ArenaSpeeds::parse(std::string_view text, const std::string& file_name) {
  const auto tree = parse_yaml(text, file_name);
  if (!tree) return tree.error();
  if (!is_map(*tree) || tree->keys.size() != 1 || tree->keys[0].text != "optimal" ||
      !is_map(tree->items[0]))
    return yaml_error(file_name, tree->place, "not {\"optimal\": {MODEL_SIZE_BATCH: {…}, …}}");
  ArenaSpeeds speeds;
  const YamlNode& models = tree->items[0];
  for (std::size_t m = 0; m < models.keys.size(); ++m) {
    const YamlNode& shapes = models.items[m];
    if (!is_map(shapes))
      return yaml_error(file_name, shapes.place, "not a map of shapes to seconds");
    Times& times = speeds.times_[models.keys[m].text];
    for (std::size_t s = 0; s < shapes.keys.size(); ++s) {
      auto key = parse_key(shapes.keys[s].text);
      if (!key) return yaml_error(file_name, shapes.keys[s].place, key.error().message);
      const auto seconds = decimal(shapes.items[s].text);
      if (!seconds)
        return yaml_error(file_name, shapes.items[s].place,
                          shown(shapes.items[s].text) + " is not a number of seconds");
      times.emplace(std::move(*key), *seconds);
    }
  }
  return speeds;
}

std::optional<double> ArenaSpeeds::time(const ArenaJob& job, std::string_view size,
                                        const Key& key) const {
  const auto times = times_.find(fmt::format("{}_{}_{}", job.model, size, job.batch));
  if (times == times_.end()) return std::nullopt;
  const auto found = times->second.find(key);
  if (found == times->second.end()) return std::nullopt;
  return found->second;
}

std::optional<ArenaSpeed> ArenaSpeeds::usual(const ArenaJob& job, const std::vector<Pool>& pools,
                                             std::uint32_t pool, std::uint32_t devices) const {
  const std::uint32_t full = pools[pool].per_node;
  if (devices > full && devices % full != 0) return std::nullopt;
  const Shape shape{pool, std::max(1u, devices / full), devices};
  if (shape.nodes > pools[pool].nodes) return std::nullopt;
  const Key key{pools[pool].type, shape.nodes, devices / shape.nodes};
  if (const auto own = time(job, job.size, key)) return speed_of(job, shape, own, 1);
  const auto sizes = sizes_of(job.model);
  auto larger = std::find(sizes.begin(), sizes.end(), job.size);
  double factor = kSizeStep;
  if (larger != sizes.end()) ++larger;
  for (; larger != sizes.end(); ++larger, factor *= kSizeStep)
    if (const auto other = time(job, *larger, key)) return speed_of(job, shape, other, factor);
  return std::nullopt;
}

void ArenaSpeeds::add_measured(const ArenaJob& job, const std::vector<Pool>& pools,
                               std::vector<ArenaSpeed>& speeds) const {
  const auto times = times_.find(fmt::format("{}_{}_{}", job.model, job.size, job.batch));
  if (times == times_.end()) return;
  for (const auto& [key, seconds] : times->second) {
    for (std::uint32_t p = 0; p < pools.size(); ++p) {
      if (pools[p].type != key.type) continue;
      if (key.nodes > pools[p].nodes || key.per_node > pools[p].per_node) continue;
      const Shape shape{p, key.nodes, key.nodes * key.per_node};
      if (auto speed = speed_of(job, shape, seconds, 1)) speeds.push_back(*speed);
    }
  }
}

std::vector<ArenaSpeed> ArenaSpeeds::all(const ArenaJob& job,
                                         const std::vector<Pool>& pools) const {
  std::vector<ArenaSpeed> found;
  for (std::uint32_t p = 0; p < pools.size(); ++p) {
    for (std::uint32_t devices = 1; devices <= pools[p].devices(); devices *= 2)
      if (auto speed = usual(job, pools, p, devices)) found.push_back(*speed);
    if (std::has_single_bit(job.devices)) continue;
    if (auto speed = usual(job, pools, p, job.devices)) found.push_back(*speed);
  }
  const std::size_t usuals = found.size();
  add_measured(job, pools, found);
  std::map<std::pair<std::uint32_t, std::uint32_t>, ArenaSpeed> best;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Shape& shape = found[i].shape;
    const bool asked = pools[shape.pool].type == job.type && shape.devices == job.devices;
    const auto [place, fresh] = best.try_emplace({shape.pool, shape.devices}, found[i]);
    if (!fresh && !(asked && i >= usuals) && found[i].samples_per_s > place->second.samples_per_s)
      place->second = found[i];
  }
  std::vector<ArenaSpeed> speeds;
  for (const auto& [place, speed] : best) speeds.push_back(speed);
  return speeds;
}

Result<std::vector<Pool>> parse_arena_cluster(std::string_view text, const std::string& file_name) {
  const auto tree = parse_yaml(text, file_name);
  if (!tree) return tree.error();
  if (tree->kind != YamlNode::Kind::kList || tree->items.size() != 1 || !is_map(tree->items[0]))
    return yaml_error(file_name, tree->place, "not [{TYPE: {\"node_num\": N}, …}]");
  std::vector<Pool> pools;
  const YamlNode& types = tree->items[0];
  for (std::size_t t = 0; t < types.keys.size(); ++t) {
    const std::string& type = types.keys[t].text;
    const YamlNode& spec = types.items[t];
    const auto per_node = node_size(type);
    if (!per_node)
      return yaml_error(file_name, types.keys[t].place,
                        shown(type) + " is not a type of this benchmark: a100, v100, a40 or a10");
    if (!is_map(spec) || spec.keys.size() != 1 || spec.keys[0].text != "node_num")
      return yaml_error(file_name, spec.place, "not {\"node_num\": N}");
    const auto nodes = parse_digits(spec.items[0].text, kMostPoolNodes);
    if (!nodes || *nodes == 0)
      return yaml_error(file_name, spec.items[0].place,
                        shown(spec.items[0].text) + " is not a number of nodes");
    pools.push_back({type, static_cast<std::uint32_t>(*nodes), *per_node});
  }
  if (pools.empty()) return yaml_error(file_name, types.place, "the cluster has no nodes");
  return pools;
}

}  // namespace tutti
