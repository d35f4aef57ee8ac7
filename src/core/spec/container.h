#pragma once

#include <string>
#include <vector>

#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "core/model/request.h"
#include "core/spec/launch.h"

namespace tutti {

// Where the script of an attempt, if it has one, is inside its container.
inline constexpr char kScriptInside[] = "/.tutti-script";

// The name of an attempt's container: "tutti-<tag>-<job>-<task>-<attempt>". The tag is made from
// what was submitted, environment and all, so that daemons with different homes do not meet.
std::string container_name(JobId job, const JobSpec& spec, AttemptId attempt);

// Makes of a launch on the node itself one in the container that the spec asks for: a POSIX shell
// that finds the runtime, sees that the image is there and runs the same command in it. Whatever a
// user wrote is a word of its own for that shell, never a part of its text. Of the environment the
// container has the attempt's variables and what the user set for the job (JobSpec::remote_env).
// Sets Launch::cleanup, which removes the container however the attempt ended.
void put_in_container(Launch& launch, JobId job, const JobSpec& spec, AttemptId attempt,
                      const Allocation& allocation, const Node& node);

// The command that builds the image of a container whose ImageBuild is not empty, on this machine.
// One that is there already is not built again; of two at once, one builds.
Command build_command(const Container& container);

// A .dockerignore as rules of a .gitignore: its patterns start at the top of the context.
std::string as_gitignore(const std::string& dockerignore);

// "tutti/<name>:<digest>": how an image is called whose content is known by a digest. `image` is
// the name that the user gave it; of that the last part is taken, without its tag.
std::string built_image_name(const std::string& image, const std::string& digest);

}  // namespace tutti
