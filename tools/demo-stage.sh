#!/usr/bin/env bash
# What the demonstrations share: a private daemon in a temporary folder, commands that are shown before
# they run, and an end that leaves nothing. Source it; then `set_up NAME BINARY`.
name=demo
work=''
bold='' dim='' plain=''
pause=0

set_up() { # NAME BINARY: makes $work with a home, a folder for the project and programs
  local binary
  name=$1
  binary=$(readlink -f "$2")
  if [[ ! -x $binary ]]; then
    printf '%s: no program %s; run make release first\n' "$name" "$binary" >&2
    exit 1
  fi
  work=$(mktemp -d "${TMPDIR:-/tmp}/tutti-$name.XXXXXX")
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  export TUTTI_HOME=$work/home
  unset TUTTI_HOST TUTTI_TOKEN TUTTI_NO_AUTOSTART
  mkdir -p "$work/bin" "$work/project"
  ln -s "$binary" "$work/bin/tutti"
  export PATH=$work/bin:$PATH
  cd "$work/project" || exit 1
  if [[ -t 1 ]]; then
    pause=0.7
    [[ -n ${NO_COLOR-} ]] || bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
  fi
  printf '%s%s%s\n' "$bold" "$(tutti version)" "$plain"
  printf '%sEverything below happens in %s.%s\n' "$dim" "$work" "$plain"
}

field() { # NAME: a number of the daemon's status
  tutti daemon status --json 2>/dev/null | tr ',{}' '\n' |
    sed -n "s/^ *\"$1\": *\([0-9][0-9]*\) *$/\1/p" | head -n 1
}

has_ended() { # PID: waits for it, ten seconds at most
  local tries
  for ((tries = 0; tries < 200; ++tries)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.05
  done
  return 1
}

# For what a demonstration has started beside the daemon.
end_others() { :; }

clean_up() {
  local status=$? daemon keeper pid
  trap - EXIT
  trap '' INT TERM
  export TUTTI_NO_AUTOSTART=1
  daemon=$(field pid || true)
  keeper=$(field keeper_pid || true)
  if [[ -n $daemon ]]; then
    tutti cancel all --yes >/dev/null 2>&1 || true
    tutti wait --timeout 20s all >/dev/null 2>&1 || true
    tutti daemon stop >/dev/null 2>&1 || true
  fi
  for pid in $daemon $keeper; do
    has_ended "$pid" && continue
    kill "$pid" 2>/dev/null || true
    has_ended "$pid" || kill -9 "$pid" 2>/dev/null || true
  done
  end_others
  cd /
  rm -rf "$work"
  if [[ $status -eq 0 ]]; then
    printf '\n%sThe daemon is stopped and %s is gone.%s\n' "$dim" "$work" "$plain"
  else
    printf '\n%s: ended early, with status %d; nothing is left running\n' "$name" "$status" >&2
  fi
  exit "$status"
}

heading() {
  sleep "$pause"
  printf '\n%s── %s%s\n' "$bold" "$1" "$plain"
}

show_command() {
  local word text=''
  for word in "$@"; do
    if [[ $word =~ ^[A-Za-z0-9_./:,=%+@-]+$ ]]; then
      text+=" $word"
    else
      text+=" '${word//\'/\'\\\'\'}'"
    fi
  done
  printf '%s$%s%s\n' "$dim" "$plain$bold$text" "$plain"
}

run() { # shows a command and runs it
  show_command "$@"
  "$@"
}

run_any() { # the same for one that may end with a status that is not 0
  local status=0
  run "$@" || status=$?
  [[ $status -eq 0 ]] || printf '%s(exit status %d)%s\n' "$dim" "$status" "$plain"
}
