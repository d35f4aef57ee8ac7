#!/bin/sh
# What stands between an attempt and its container: a POSIX shell is given this text with -c, and words.
# container.cc makes the words; docs/user/containers.md says what comes of them. Comments and indentation
# are stripped when this is built into the program.
#
#   run NAME NODE RUNTIME IMAGE CPUS MEMORY VENDOR DEVICES NUMBERS SCRIPT OWN_FOLDER
#       DOCKERFILE CONTEXT RELATIVE TARGET N ARG... OPTION... IMAGE WORD...
#   build NODE RUNTIME IMAGE DOCKERFILE CONTEXT TARGET ARG...
#   remove NODE RUNTIME NAME
#
# Rules of this file: no bashism; whatever a user wrote is a word, never text of this script. Exit status
# 126: nothing was run, and the reason stands on standard error.

tutti_stopped=

tutti_give_up() {
  printf 'tutti: %s\n' "$*" >&2
  exit 126
}

# A shell that waits for a program acts on a signal when that has ended. The program has the same signal,
# because it is of the same process group, and hands it on to the container.
tutti_check_stopped() {
  if [ -n "$tutti_stopped" ]; then exit 143; fi
}

# The runtime into tutti_runtime, and which one it is into tutti_kind: a program named docker may be podman.
tutti_find_runtime() {
  PATH=${PATH:-/bin}:/usr/local/bin:/usr/bin:/bin
  for tutti_kind in ${1:-podman docker}; do
    if tutti_runtime=$(command -v "$tutti_kind"); then break; fi
  done
  if [ -z "$tutti_runtime" ]; then
    tutti_give_up "no container runtime on $tutti_node: install ${1:-podman or docker}, or use --no-container"
  fi
  case $("$tutti_runtime" --version 2>/dev/null) in podman*) tutti_kind=podman ;; esac
}

# Whether the image is here; its work directory into tutti_folder.
tutti_has_image() {
  tutti_folder=$("$tutti_runtime" image inspect --format '{{.Config.WorkingDir}}' "$tutti_image" 2>/dev/null)
}

# A runtime that does not work knows no image either: the reason is another then.
tutti_check_runtime() {
  tutti_why=$("$tutti_runtime" info 2>&1 >/dev/null) || {
    tutti_check_stopped
    tutti_give_up "$tutti_kind does not work on $tutti_node: ${tutti_why##*
}"
  }
}

# dockerfile, context, target, arguments. One at a time builds an image; who waited finds it built. The
# name is given when the build is complete, so that a build that is cut off leaves no image of that name.
tutti_build() {
  tutti_dockerfile=$1 tutti_context=$2 tutti_target=$3
  shift 3
  [ -d "$tutti_context" ] || tutti_give_up "cannot build $tutti_image: $tutti_node has no folder $tutti_context"
  [ -f "$tutti_dockerfile" ] || tutti_give_up "cannot build $tutti_image: $tutti_node has no file $tutti_dockerfile"
  for tutti_x in "$@"; do
    shift
    set -- "$@" --build-arg "$tutti_x"
  done
  if [ -n "$tutti_target" ]; then set -- "$@" --target "$tutti_target"; fi
  tutti_locks=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tutti/builds
  if mkdir -p "$tutti_locks" && command -v flock >/dev/null; then
    exec 9>"$tutti_locks/${tutti_image##*[/:]}"
    flock 9
    tutti_check_stopped
    if tutti_has_image; then return 0; fi
  fi
  printf 'tutti: building %s on %s with %s\n' "$tutti_image" "$tutti_node" "$tutti_kind" >&2
  "$tutti_runtime" build --network host --tag "$tutti_image" --file "$tutti_dockerfile" "$@" "$tutti_context" 9>&-
  tutti_code=$?
  exec 9>&-
  tutti_check_stopped
  if [ $tutti_code -ne 0 ]; then
    tutti_give_up "building $tutti_image on $tutti_node failed ($tutti_kind said $tutti_code); what it wrote stands above"
  fi
  tutti_has_image || tutti_give_up "$tutti_kind built $tutti_image on $tutti_node, but does not find it"
}

# Only what has a registry in its name is fetched.
tutti_pull() {
  case ${tutti_image%%/*} in
    "$tutti_image" | localhost) ;;
    *.* | *:*)
      printf 'tutti: fetching %s\n' "$tutti_image" >&2
      "$tutti_runtime" pull --quiet "$tutti_image" >/dev/null
      tutti_code=$?
      tutti_check_stopped
      [ $tutti_code -eq 0 ] || tutti_give_up "image $tutti_image is not on $tutti_node and cannot be fetched"
      tutti_has_image
      return
      ;;
  esac
  tutti_give_up "image $tutti_image is not on $tutti_node: build or fetch it there with $tutti_kind, or name it with its registry"
}

# $1: as in a Dockerfile's place of the submitter, $2: below the work directory, for another machine.
tutti_get_image() {
  tutti_check_runtime
  if [ -z "$1" ]; then
    tutti_pull
    return
  fi
  tutti_dockerfile=$1 tutti_context=$2 tutti_relative=$3 tutti_target=$4
  shift 4
  if [ -n "$tutti_relative" ] && [ -d "$tutti_work/$tutti_relative" ]; then
    case $tutti_dockerfile in
      "$tutti_context"/*) tutti_dockerfile=$tutti_work/$tutti_relative/${tutti_dockerfile#"$tutti_context"/} ;;
    esac
    tutti_context=$tutti_work/$tutti_relative
  fi
  tutti_build "$tutti_dockerfile" "$tutti_context" "$tutti_target" "$@"
}

# The rest of the functions put options in front of the words in "$@", which only the caller has: they
# tell them as a list, a line each.
tutti_own_options() {
  printf '%s\n' --network host --log-driver none --pull never --security-opt no-new-privileges \
    --security-opt label=disable --cap-drop all
  tutti_uid=$(id -u)
  if [ "$tutti_uid" = 0 ]; then
    # What a root of ordinary images does with files and with processes of other users in there.
    for tutti_x in CHOWN DAC_OVERRIDE FOWNER KILL SETGID SETUID; do printf '%s\n' --cap-add "$tutti_x"; done
  fi
  tutti_user=$tutti_uid:$(id -g)
  if [ "$tutti_kind" = podman ]; then
    if [ "$tutti_uid" != 0 ]; then printf '%s\n' --userns keep-id; fi
    for tutti_x in /usr/libexec/podman /usr/local/libexec/podman /usr/lib/podman /usr/local/lib/podman /usr/bin; do
      if [ -x "$tutti_x/catatonit" ]; then echo --init && break; fi
    done
  else
    echo --init
    # There root in the container is who started the daemon.
    case $("$tutti_runtime" info --format '{{.SecurityOptions}}' 2>/dev/null) in *rootless*) tutti_user=0:0 ;; esac
  fi
  printf '%s\n' --user "$tutti_user"
  if [ "${tutti_user%%:*}" != 0 ]; then printf '%s\n' --env HOME=/tmp; fi
}

# CPUs and MiB. Without control groups of its own a user cannot limit containers.
tutti_limit_options() {
  if [ "$(id -u)" != 0 ] && [ "$tutti_kind" = podman ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
    if [ -n "$1$2" ]; then echo "tutti: this user cannot limit containers on $tutti_node: CPUs and memory are not limited" >&2; fi
    return
  fi
  if [ -n "$1" ]; then printf '%s\n' --cpus "$1"; fi
  if [ -n "$2" ]; then printf '%s\n' --memory "$2m" --memory-swap "$2m"; fi
}

# Vendor, devices as the vendor names them, their numbers.
tutti_device_options() {
  tutti_cdi=
  for tutti_x in /etc/cdi/*nvidia* /var/run/cdi/*nvidia*; do
    if [ -e "$tutti_x" ]; then tutti_cdi=1; fi
  done
  tutti_nodes=
  case $1 in
    nvidia)
      if [ "$tutti_kind" = docker ]; then
        printf '%s\n' --gpus "\"device=$2\""
      elif [ -n "$tutti_cdi" ]; then
        for tutti_x in $3; do printf '%s\n' --device "nvidia.com/gpu=$tutti_x"; done
      else
        tutti_nodes="/dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools"
        for tutti_x in $3; do tutti_nodes="$tutti_nodes /dev/nvidia$tutti_x"; done
      fi
      ;;
    amd) tutti_nodes="/dev/kfd /dev/dri" ;;
  esac
  for tutti_x in $tutti_nodes; do
    if [ -e "$tutti_x" ]; then printf '%s\n' --device "$tutti_x"; fi
  done
}

# The work directory is at the same place inside. An image that was built for the job has its own, if it
# names one.
tutti_folder_options() {
  case $tutti_work in
    /) return ;;
    *:*) tutti_give_up "the work directory $tutti_work cannot be used in a container: its name has a ':'" ;;
  esac
  printf '%s\n' --volume "$tutti_work:$tutti_work" --env "TUTTI_WORKDIR=$tutti_work"
  case $1,$tutti_folder in
    1,/?*) ;;
    *) printf '%s\n' --workdir "$tutti_work" ;;
  esac
}

tutti_run() {
  trap 'tutti_stopped=1' TERM INT HUP
  tutti_name=$1 tutti_node=$2 tutti_image=$4 tutti_cpus=$5 tutti_memory=$6
  tutti_vendor=$7 tutti_devices=$8 tutti_numbers=$9
  tutti_find_runtime "$3"
  shift 9
  tutti_script=$1 tutti_own=$2 tutti_dockerfile=$3 tutti_context=$4 tutti_relative=$5 tutti_target=$6 tutti_n=$7
  shift 7
  tutti_work=$(pwd -P)
  tutti_has_image || {
    # The arguments of the build, which stand in front of the rest.
    tutti_i=0 tutti_list=
    for tutti_x in "$@"; do
      if [ $tutti_i -ge "$tutti_n" ]; then break; fi
      tutti_i=$((tutti_i + 1))
      tutti_list="$tutti_list \"\${$tutti_i}\""
    done
    eval "tutti_get_image \"\$tutti_dockerfile\" \"\$tutti_context\" \"\$tutti_relative\" \"\$tutti_target\" $tutti_list"
  }
  shift "$tutti_n"
  tutti_options=$(
    tutti_own_options && tutti_limit_options "$tutti_cpus" "$tutti_memory" &&
      tutti_device_options "$tutti_vendor" "$tutti_devices" "$tutti_numbers" && tutti_folder_options "$tutti_own"
  ) || exit
  if [ -n "$tutti_script" ]; then set -- --volume "$tutti_script:/.tutti-script:ro" "$@"; fi
  # A line is a word: no name may have a line end in it, as a path may.
  case $tutti_work in *"
"*) tutti_give_up "the work directory cannot be used in a container: its name has a line end" ;; esac
  set -f
  IFS='
'
  # shellcheck disable=SC2086
  set -- $tutti_options "$@"
  unset IFS
  set +f
  tutti_check_stopped
  "$tutti_runtime" run --name "$tutti_name" "$@"
  tutti_code=$?
  if [ $tutti_code -eq 137 ] && [ -n "$tutti_memory" ] && [ -z "$tutti_stopped" ]; then
    # exec/keeper/memory_text.cc knows the first of these words.
    case $("$tutti_runtime" inspect --format '{{.State.OOMKilled}}' "$tutti_name" 2>/dev/null) in
      true) echo "tutti: the container exceeded its memory limit of $tutti_memory MiB" ;;
      *) echo "tutti: the container was killed, as happens when it exceeds its memory limit of $tutti_memory MiB" ;;
    esac >&2
  fi
  exit $tutti_code
}

tutti_build_image() {
  trap 'tutti_stopped=1' TERM INT HUP
  tutti_node=$1 tutti_image=$3
  tutti_find_runtime "$2"
  shift 3
  if tutti_has_image; then
    echo "tutti: $tutti_image is there already"
    exit 0
  fi
  tutti_check_runtime
  tutti_build "$@"
}

# The runtime kills and removes it, whatever it is doing. It may be gone already.
tutti_remove() {
  tutti_node=$1
  tutti_find_runtime "$2"
  if [ "$tutti_kind" = podman ]; then
    "$tutti_runtime" rm --force --ignore --time 0 "$3"
  else
    "$tutti_runtime" rm --force "$3"
  fi >/dev/null 2>&1
}

tutti_verb=$1
shift
case $tutti_verb in
  run) tutti_run "$@" ;;
  build) tutti_build_image "$@" ;;
  remove) tutti_remove "$@" ;;
esac
