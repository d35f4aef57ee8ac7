#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "core/model/node.h"
#include "core/model/request.h"

// The amounts that users write, on the command line, in job files and in JSON. All parsers are
// strict: the whole text must be understood. A failure quotes the text and gives an example.
namespace tutti {

inline constexpr std::int32_t kMaxPriority = 1'000'000;

// The error of a parser below, about the field or option whose value it refused: "mem '-5G': ...".
Error of_field(std::string_view field, const Error& error);

// "20G" = "20GiB" = "20GB" = 20480 MiB; suffixes K, M, G, T in either case; a bare number is MiB;
// "1.5G". Rounded up to whole MiB.
Result<MiB> parse_memory(std::string_view text);

// "2", "0.5", "500m" (thousandths). More than zero; rounded up to thousandths.
Result<MilliCpu> parse_cpus(std::string_view text);

// "90" and "90s" (seconds), "1.5h", "1h30m", "2d", "250ms", "100us", largest unit first; or as
// Slurm writes it: "30:00" (minutes:seconds), "01:30:00", "1-12", "1-02:03:04". At most 100 years.
Result<Duration> parse_duration(std::string_view text);

// A part of a GPU's compute: "0.5" or "50%"; more than zero, at most 1.
Result<MilliGpu> parse_share(std::string_view text);

// A whole number between -kMaxPriority and kMaxPriority; larger is sooner.
Result<std::int32_t> parse_priority(std::string_view text);

// A whole number from `least` to `most`; `what` names it in the message, such as "retries".
Result<std::uint32_t> parse_count(std::string_view what, std::string_view text, std::uint32_t least,
                                  std::uint32_t most);

// "20000-29999": TCP ports that work may be granted.
Result<PortRange> parse_port_range(std::string_view text);

// "2", "A100" (one of that type) or "A100:2": the count and the type.
Result<DeviceRequest> parse_gpus(std::string_view text);

// For tables: "512M", "20G", "1.5G"; "-" for zero.
std::string format_memory(MiB memory);
// "2", "0.5".
std::string format_cpus(MilliCpu cpus);
// Two units at most: "340ms", "2.4s", "1h30m", "3d4h".
std::string format_duration(Duration duration);

}  // namespace tutti
