#!/bin/sh
# The agent at the other end of an SSH connection: functions that a POSIX shell is given on its standard
# input, followed by calls of them. docs/design/0003-ssh.md says what each does and answers. Comments and
# indentation are stripped when this is built into the program, with probe.sh after it.
#
# Rules of this file: no bashism; what every start does forks as little as possible; nothing but the
# functions named in the design reads arguments of the caller; nothing reads standard input, which is
# the shell's. Descriptor 8 is where messages go. Processes that outlive an order do not hold it, unless
# they have a message to write.
#
# Words are split on purpose where a variable is a list; -m of mkdir is for the root alone; a variable
# may be used by eval.
# shellcheck disable=SC2015,SC2034,SC2086,SC2174,SC2217

trap '' HUP PIPE
exec 8>&1
tutti_patience=0
tutti_starts=0
tutti_smi_pid=
tutti_greeted=

# One line, one write. Nobody may be there to read it.
tutti_say() {
  printf '%s\n' "$*" >&8
} 2>/dev/null

# Why the attempt cannot be started: the first line of a text, short enough for a message.
tutti_refuse() {
  printf 'X %s %.1000s\n' "$1" "${2%%
*}" >&8
} 2>/dev/null

# Not every sleep knows fractions.
tutti_nap() {
  sleep "$1" || sleep 1
} </dev/null >/dev/null 2>&1

# Milliseconds since the boot into tutti_ms.
tutti_now() {
  if read -r tutti_up tutti_x </proc/uptime; then
    tutti_ms=${tutti_up%.*}${tutti_up#*.}0
  else
    tutti_ms=$(date +%s)000
  fi
} 2>/dev/null

# The fields of a process that matter. Its name may contain blanks and parentheses; what follows the
# last parenthesis does not.
tutti_stat() {
  read -r tutti_line <"/proc/$1/stat" || return 1
  tutti_self=${tutti_line%% *}
  set -- ${tutti_line##*) }
  tutti_state=$1 tutti_parent=$2 tutti_session=$4 tutti_birth=${20}
} 2>/dev/null

tutti_lives() {
  tutti_stat "$1" && [ "$tutti_state" != Z ] && test "$tutti_birth" "$2" "$3"
}

# CPU milliseconds of this shell's children that it has waited for, into tutti_cpu. `times` goes through
# a file because a pipe would need a process, which has other children.
tutti_measure() {
  tutti_cpu=0
  { times; } >"$1" || return
  { read -r tutti_x && read -r tutti_u tutti_s; } <"$1" || return
  for tutti_x in "$tutti_u" "$tutti_s"; do
    tutti_x=${tutti_x%s}
    tutti_f=${tutti_x#*[.,]}000
    tutti_f=1${tutti_f%"${tutti_f#???}"}
    tutti_m=${tutti_x%%m*}
    tutti_x=${tutti_x#*m}
    tutti_x=${tutti_x%%[.,]*}
    # Some write two digits, and 08 is no number.
    case $tutti_x in 0?*) tutti_x=${tutti_x#0} ;; esac
    tutti_cpu=$((tutti_cpu + tutti_m * 60000 + tutti_x * 1000 + tutti_f - 1000))
  done
} 2>/dev/null

# Reads the pid file of an attempt's folder: process, its birth, boot, supervisor.
tutti_read_pid() {
  read -r tutti_pid tutti_since tutti_then tutti_keeper <"$1/pid"
} 2>/dev/null

tutti_read_rc() {
  read -r tutti_rc <"$1/rc"
} 2>/dev/null

# What became of an attempt, into tutti_is. It lives as long as its process or its supervisor, which was
# there before the process; a younger one has inherited the number. Between the making of the folder and
# the writing of pid are milliseconds in which nothing is known.
tutti_look() {
  tutti_d=$tutti_root/a/$1 tutti_is=gone
  until tutti_read_pid "$tutti_d" || [ ! -d "$tutti_d" ] || [ $tutti_patience -eq 0 ]; do
    tutti_patience=$((tutti_patience - 1))
    tutti_nap 0.1
  done
  if ! tutti_read_rc "$tutti_d" && tutti_read_pid "$tutti_d" && [ "$tutti_then" = "$tutti_boot" ]; then
    if tutti_lives "$tutti_pid" -eq "$tutti_since" || tutti_lives "$tutti_keeper" -le "$tutti_since"; then
      tutti_is="running $tutti_pid"
      return
    fi
  fi
  # Once more: it may have ended while it was looked at.
  if tutti_read_rc "$tutti_d"; then tutti_is="ended $tutti_rc"; fi
}

# Attempts of earlier connections end without a word on this one.
tutti_watch() {
  while [ $# -gt 0 ] && kill -0 $$; do
    tutti_nap 1
    for tutti_id in "$@"; do
      shift
      tutti_look "$tutti_id"
      case $tutti_is in
        running*) set -- "$@" "$tutti_id" ;;
        ended*) tutti_say "E $tutti_id $tutti_rc" ;;
        *) tutti_say "A $tutti_id gone" ;;
      esac
    done
  done
}

# Removes what is old: attempts that ended, and staged files that nobody used. The time of a staged folder
# is what its sender made it, so that it starts to age when it is first seen here.
tutti_sweep() {
  cd "$tutti_root/a" || return
  find . -path './*/*' -prune -name rc -mtime "+$1" | while read -r tutti_x; do
    if tutti_read_rc "${tutti_x%/rc}"; then tutti_remove "${tutti_x%/rc}"; fi
  done
  cd "$tutti_root/files" || return
  for tutti_x in *; do
    [ -e "$tutti_x" ] || continue
    if [ ! -e "../used/$tutti_x" ]; then
      printf '' >"../used/$tutti_x"
    elif [ -n "$(find "../used/$tutti_x" -prune -mtime "+$1")" ]; then
      tutti_remove "$tutti_x" && rm -f "../used/$tutti_x"
    fi
  done
}

tutti_remove() {
  rm -rf "$@" || { chmod -R u+rwx "$@" && rm -rf "$@"; }
}

# On NFS a file that is removed while it is open stays under another name until it is closed, and so does
# its folder. Whoever has it open ends soon.
tutti_remove_patiently() {
  for tutti_rest in 0.1 0.5 2 10 60; do
    if tutti_remove "$@"; then return; fi
    tutti_nap $tutti_rest
  done
}

# Makes the root, and ends the shell of an earlier connection that does not know yet that it is lost:
# orders that it still had to read must not be carried out any more.
tutti_take_root() {
  mkdir -p -m 700 "$tutti_root" "$tutti_root/a" "$tutti_root/files" "$tutti_root/used" || return
  if ! read -r tutti_key <"$tutti_root/key"; then
    read -r tutti_key </proc/sys/kernel/random/uuid || tutti_key=$$.$(date +%s)
    printf '%s\n' "$tutti_key" >"$tutti_root/key" || return
  fi 2>/dev/null
  if read -r tutti_pid tutti_since tutti_then <"$tutti_root/agent" && [ "$tutti_pid" != $$ ] &&
    [ "$tutti_then" = "$tutti_boot" ] && tutti_lives "$tutti_pid" -eq "$tutti_since"; then
    kill -s KILL "$tutti_pid"
  fi 2>/dev/null
  tutti_stat $$
  printf '%s\n' "$$ $tutti_birth $tutti_boot" >"$tutti_root/agent"
}

# What this host has. Programs by their path: an attempt may have another PATH. Background processes of
# a shell ignore SIGINT and SIGQUIT, which attempts must not; only env can undo that in every shell.
tutti_find_tools() {
  tutti_env=$(command -v env) tutti_setsid=$(command -v setsid) tutti_signals=
  if "$tutti_env" --default-signal=INT,QUIT true; then
    tutti_signals=--default-signal=INT,QUIT
  fi
  tutti_tools=0
  if [ -x /bin/bash ]; then tutti_tools=1; fi
  if [ -n "$tutti_setsid" ]; then tutti_tools="$tutti_tools 1"; else tutti_tools="$tutti_tools 0"; fi
  if command -v rsync; then tutti_tools="$tutti_tools 1"; else tutti_tools="$tutti_tools 0"; fi
  # Whether files with holes can be unpacked as such.
  case $(tar --version) in
    *GNU* | bsdtar*) tutti_tools="$tutti_tools 1" ;;
    *) tutti_tools="$tutti_tools 0" ;;
  esac
} </dev/null >/dev/null 2>&1

tutti_hello() {
  case $1 in
    /*) tutti_root=$1 ;;
    *) tutti_root=$HOME/.cache/tutti/$1 ;;
  esac
  tutti_boot=-
  read -r tutti_boot </proc/sys/kernel/random/boot_id
  # In a shell of its own first: a redirection that fails may end a shell.
  tutti_why=$(tutti_take_root 2>&1) || {
    tutti_refuse - "cannot use $tutti_root: ${tutti_why:-it cannot be written}"
    return
  }
  read -r tutti_key <"$tutti_root/key"
  tutti_find_tools
  tutti_cpus=0 tutti_total=0 tutti_busy=0
  tutti_load
  # Who reached this host, and where: address and port there, address and port here.
  tutti_x=${SSH_CONNECTION:-- - - -}
  tutti_id=${tutti_x%% *} tutti_x=${tutti_x#* * }
  tutti_say "H 1 $(id -u) $tutti_boot $tutti_tools $tutti_id ${tutti_x%% *} $tutti_root"
  tutti_patience=10
  set -- "$2"
  for tutti_x in "$tutti_root"/a/*; do
    if [ ! -e "$tutti_x/err" ]; then
      # Room for an attempt that was not started.
      rm -rf "$tutti_x" </dev/null
      continue
    fi
    tutti_id=${tutti_x##*/}
    tutti_look "$tutti_id"
    tutti_say "A $tutti_id $tutti_is"
    case $tutti_is in running*) set -- "$@" "$tutti_id" ;; esac
  done
  tutti_say Z
  tutti_sweep "$1" </dev/null >/dev/null 2>&1 8>&- &
  shift
  if [ -z "$tutti_greeted" ] && [ $# -gt 0 ]; then tutti_watch "$@" </dev/null >/dev/null & fi
  tutti_greeted=1
} 2>/dev/null

# room ID...
tutti_room() {
  for tutti_id in "$@"; do
    shift
    set -- "$@" "$tutti_root/a/$tutti_id" "$tutti_root/a/$tutti_id/work"
  done
  mkdir "$@"
} </dev/null >/dev/null 2>&1

# Who makes `err` starts the attempt.
tutti_claim() {
  set -C
  printf '' >"$tutti_d/err"
  tutti_x=$?
  set +C
  return $tutti_x
} 2>/dev/null

# prepare ID STAGED PORT...: whether nothing is missing for a start, and nobody listens on the ports.
tutti_prepare() {
  tutti_id=$1 tutti_x=$2
  shift 2
  if [ -n "$tutti_x" ] && [ ! -d "$tutti_root/files/$tutti_x" ]; then
    tutti_refuse "$tutti_id" "no staged files $tutti_x"
    return
  fi
  for tutti_x in "$@"; do
    if grep -qi "$(printf ':%04X [0-9A-F]*:[0-9A-F]* 0A ' "$tutti_x")" /proc/net/tcp /proc/net/tcp6; then
      tutti_refuse "$tutti_id" "port $tutti_x is taken by another program"
      return
    fi </dev/null 2>/dev/null
  done
  tutti_say "Y $tutti_id"
}

# start ID WORKDIR STAGED TIME_LIMIT GRACE MERGE SCRIPT CLEANUP N NAME=value... -- ARGV...
tutti_start() {
  tutti_d=$tutti_root/a/$1 tutti_why=
  if [ -n "$2" ]; then tutti_x=$tutti_d; else tutti_x=$tutti_d/work; fi
  if [ ! -d "$tutti_x" ]; then tutti_why=$(mkdir -p "$tutti_x" 2>&1 </dev/null); fi
  if ! tutti_claim; then
    if [ -e "$tutti_d/err" ]; then
      tutti_again "$1"
    else
      tutti_why=${tutti_why:-$( (printf '' >"$tutti_d/err") 2>&1)}
      tutti_refuse "$1" "cannot make $tutti_d: $tutti_why"
      rm -rf "$tutti_d" </dev/null 2>/dev/null
    fi
    return
  fi
  tutti_supervise "$@" </dev/null >/dev/null 2>&1 &
  # Some shells remember each process that ended until somebody asks.
  tutti_starts=$(((tutti_starts + 1) % 16))
  if [ $tutti_starts -eq 0 ]; then jobs >/dev/null 2>&1; fi
}

# The answer to a start that had its effect before.
tutti_again() {
  tutti_patience=10
  tutti_look "$1"
  case $tutti_is in
    running*) tutti_say "B $1 $tutti_pid" ;;
    ended*) tutti_say "E $1 $tutti_rc" ;;
    *) tutti_refuse "$1" "it was started before and is gone" ;;
  esac
}

# The copy of staged files may take long: until the attempt has a process, its supervisor stands for it.
tutti_stage() {
  tutti_stat self
  printf '%s\n' "$tutti_self ${tutti_birth:-0} $tutti_boot $tutti_self" >"$tutti_d/pid"
  tutti_from=$tutti_root/files/$1
  if [ ! -d "$tutti_from" ]; then
    echo "no staged files $1"
    return 1
  fi
  printf '' >"$tutti_root/used/$1"
  cp -a --reflink=auto "$tutti_from/." "$tutti_d/work/" 2>/dev/null ||
    cp -a "$tutti_from/." "$tutti_d/work/" 2>&1
}

# Who is refused may be started anew at once, in the same folder.
tutti_cannot() {
  tutti_remove "$tutti_d"
  tutti_refuse "$tutti_id" "$1"
  exit 1
}

# The process that stands by an attempt until nothing of it is left, and then writes down how it ended.
tutti_supervise() {
  tutti_id=$1 tutti_work=${2:-$tutti_d/work} tutti_limit=$4 tutti_grace=$5 tutti_spent=0 tutti_dog=
  if [ -z "$2" ] && [ -n "$3" ]; then
    tutti_stage "$3" >"$tutti_d/err" || {
      read -r tutti_why <"$tutti_d/err"
      tutti_cannot "${tutti_why:-cannot copy the staged files}"
    }
    tutti_measure "$tutti_d/cpu"
    tutti_spent=$tutti_cpu
  fi
  if [ -n "$7" ]; then
    printf '%s' "$7" >"$tutti_d/script" && chmod 700 "$tutti_d/script" ||
      tutti_cannot "cannot write $tutti_d/script"
  fi
  if [ -n "$8" ]; then
    printf '%s\n' "$8" >"$tutti_d/clean" || tutti_cannot "cannot write $tutti_d/clean"
  fi
  CDPATH='' cd -- "$tutti_work" || tutti_cannot "cannot enter the work directory $tutti_work"
  tutti_now
  tutti_began=$tutti_ms
  if [ "$tutti_limit" -gt 0 ]; then
    tutti_watchdog 8>&- &
    tutti_dog=$!
  fi
  tutti_err=$tutti_d/err
  if [ "$6" = 1 ]; then tutti_err=$tutti_d/out; fi
  shift 8
  if [ -n "$tutti_setsid" ]; then
    (tutti_job "$@") >>"$tutti_d/out" 2>>"$tutti_err"
  else
    # Job control gives it at least a process group.
    set -m
    (tutti_job "$@") >>"$tutti_d/out" 2>>"$tutti_err" &
    wait $!
  fi
  tutti_rc=$?
  tutti_now
  tutti_took=$((tutti_ms - tutti_began))
  tutti_measure "$tutti_d/cpu"
  if [ -n "$tutti_dog" ]; then kill "$tutti_dog"; fi
  tutti_read_pid "$tutti_d" && [ "$tutti_pid" != "$tutti_keeper" ] && [ -s "$tutti_d/rc" ] || {
    tutti_why=$( (printf '%s\n' 0 >"$tutti_d/out" && printf '%s\n' 0 >"$tutti_d/err") 2>&1)
    tutti_cannot "cannot write to $tutti_d: ${tutti_why:-is the disk full?}"
  }
  tutti_clear
  tutti_clean
  tutti_finish
}

# Kills a process after half a minute, unless it is ended before. A child that is about to become sleep
# would not hear a SIGTERM.
tutti_fuse() {
  trap 'kill -9 $!; exit' TERM
  sleep 30 &
  wait $!
  kill -s KILL "$1"
}

# What runs elsewhere on behalf of the attempt, which is a container, is ended by a command that came with
# the start. It has half a minute.
tutti_clean() {
  [ -e "$tutti_d/clean" ] || return 0
  sh "$tutti_d/clean" 8>&- &
  tutti_x=$!
  tutti_fuse $tutti_x 8>&- &
  wait $tutti_x
  kill $!
  rm -f "$tutti_d/clean"
} </dev/null >/dev/null 2>&1

# What still reads from a pipe, such as the tee of `> >(tee log)`, may read the rest, for two seconds. The
# first look may come before it has its pipe.
tutti_drain() {
  tutti_now
  tutti_until=$((tutti_ms + 2000)) tutti_first=1
  while [ $tutti_ms -lt $tutti_until ] && [ ! -e "$tutti_d/stop" ] && kill -0 "-$tutti_pid" &&
    tutti_find "$tutti_pid"; do
    tutti_reads=$tutti_first tutti_first=
    for tutti_x in $tutti_found; do
      if [ -p "/proc/$tutti_x/fd/0" ]; then tutti_reads=1; fi
    done
    [ -n "$tutti_reads" ] || return
    tutti_nap 0.05
    tutti_now
  done
} 2>/dev/null

# What the attempt left behind is killed. To look at all processes costs as much as a short attempt: for
# those it is done only if there are signs. A group is named in the one way that all shells understand.
tutti_clear() {
  tutti_drain
  if kill -9 "-$tutti_pid" || [ -e "$tutti_d/stop" ] || [ $tutti_took -ge 1000 ]; then
    while tutti_find "$tutti_pid"; do
      kill -s KILL $tutti_found
      tutti_nap 0.05
    done
  fi
}

tutti_finish() {
  tutti_flags=
  if [ -s "$tutti_d/out" ]; then tutti_flags=o; fi
  if [ -s "$tutti_d/err" ]; then tutti_flags=${tutti_flags}e; fi
  if [ -e "$tutti_d/stop" ]; then
    read -r tutti_x <"$tutti_d/stop"
    if [ "$tutti_x" = t ]; then tutti_flags=${tutti_flags}t; else tutti_flags=${tutti_flags}s; fi
  fi
  tutti_line="$tutti_rc $tutti_took $((tutti_cpu - tutti_spent)) ${tutti_flags:--}"
  # Over what tutti_job wrote, which a full disk does not prevent on most file systems. On others it must
  # not make the end unknown either.
  printf '%s\n' "$tutti_line" 1<>"$tutti_d/rc"
  tutti_say "E $tutti_id $tutti_line"
  until tutti_read_rc "$tutti_d" || [ ! -d "$tutti_d" ]; do
    sleep 5
    printf '%s\n' "$tutti_line" 1<>"$tutti_d/rc"
  done
}

# Becomes the attempt. Values go through env, because to a shell some names are special. What cannot be
# executed ends with 126 or 127 and a text in err.
tutti_job() {
  tutti_stat self || tutti_self=$(exec sh -c 'echo $PPID')
  printf '%s\n' "$tutti_self ${tutti_birth:-0} $tutti_boot ${tutti_parent:-0}" >"$tutti_d/pid" &&
    printf - >"$tutti_d/rc" || exit 1
  if [ -e "$tutti_d/stop" ]; then exit 143; fi
  tutti_say "B $tutti_id $tutti_self"
  tutti_n=$1 tutti_i=0 tutti_list=
  shift
  while [ $tutti_i -lt "$tutti_n" ]; do
    tutti_i=$((tutti_i + 1))
    eval "tutti_e$tutti_i=\$1"
    tutti_list="$tutti_list \"\$tutti_e$tutti_i\""
    shift
  done
  shift
  if [ "$1" = /bin/bash ] && [ ! -x /bin/bash ]; then
    shift
    set -- /bin/sh "$@"
  fi
  if [ -n "$tutti_setsid" ]; then
    set -- "$tutti_setsid" -- "$@"
  fi
  trap - HUP PIPE
  eval "exec \"\$tutti_env\" \$tutti_signals \"TUTTI_ATTEMPT_KEY=\$tutti_key/\$tutti_id/\" $tutti_list \"\$@\" 8>&-"
}

# Ends the attempt after its time. The supervisor ends this process when the attempt is faster.
tutti_watchdog() {
  trap 'kill -9 $!; exit' TERM
  sleep "$tutti_limit" &
  wait $!
  trap - TERM
  [ -e "$tutti_d/stop" ] || echo t >"$tutti_d/stop"
  tutti_end "$tutti_id" "$tutti_grace"
}

# All living processes of the attempt whose session or process group is $1, into tutti_found: those of
# that session or group, and those that left it but have the key in their environment.
tutti_find() {
  tutti_found=
  tutti_x=") [^ZX] [0-9-]* \([0-9-]* \)\{0,1\}$1 [0-9 -]*\$"
  tutti_mark=TUTTI_ATTEMPT_KEY=$tutti_key/$tutti_id/
  if printf 'a\0b' | grep -q b; then
    tutti_list=$(LC_ALL=C grep -l -e "$tutti_mark" -e "$tutti_x" /proc/[0-9]*/environ /proc/[0-9]*/stat)
  else
    # This grep sees nothing after a zero byte. Our read skips them.
    tutti_list=$(grep -l -e "$tutti_x" /proc/[0-9]*/stat)
    for tutti_f in /proc/[0-9]*/environ; do
      while read -r tutti_line || [ -n "$tutti_line" ]; do
        case $tutti_line in *"$tutti_mark"*) tutti_list="$tutti_list $tutti_f" ;; esac
      done <"$tutti_f"
    done
  fi
  for tutti_x in $tutti_list; do
    tutti_x=${tutti_x#/proc/}
    case " $tutti_found " in
      *" ${tutti_x%%/*} "*) ;;
      *) tutti_found="$tutti_found ${tutti_x%%/*}" ;;
    esac
  done
  [ -n "$tutti_found" ]
} 2>/dev/null

# SIGTERM once to every process of an attempt, SIGKILL after the grace, until its supervisor has written
# how it ended. Without a supervisor it is over when no process is found.
tutti_end() {
  tutti_id=$1 tutti_d=$tutti_root/a/$1 tutti_told=' ' tutti_rest=0.1
  tutti_now
  tutti_due=$((tutti_ms + $2 * 1000))
  while [ -d "$tutti_d" ] && ! tutti_read_rc "$tutti_d"; do
    if tutti_read_pid "$tutti_d" && [ "$tutti_pid" != "$tutti_keeper" ]; then
      tutti_find "$tutti_pid" || tutti_lives "$tutti_keeper" -le "$tutti_since" || return
      tutti_signal_found
    fi
    tutti_nap $tutti_rest
    tutti_now
    if [ $((tutti_due - tutti_ms)) -gt 2000 ]; then tutti_rest=0.5; else tutti_rest=0.1; fi
  done
}

tutti_signal_found() {
  if [ "$tutti_ms" -ge "$tutti_due" ]; then
    kill -s KILL $tutti_found
    return
  fi
  for tutti_x in $tutti_found; do
    case $tutti_told in *" $tutti_x "*) continue ;; esac
    kill -s TERM "$tutti_x"
    tutti_told="$tutti_told$tutti_x "
  done
}

# stop ID GRACE CAUSE
tutti_stop() {
  [ -d "$tutti_root/a/$1" ] && ! tutti_read_rc "$tutti_root/a/$1" || return 0
  [ -e "$tutti_root/a/$1/stop" ] || printf '%s\n' "$3" >"$tutti_root/a/$1/stop"
  tutti_end "$1" "$2" </dev/null >/dev/null 8>&- &
} 2>/dev/null

# forget ID...
tutti_forget() {
  for tutti_id in "$@"; do
    shift
    tutti_d=$tutti_root/a/$tutti_id
    if tutti_read_pid "$tutti_d" && [ "$tutti_then" = "$tutti_boot" ] &&
      tutti_lives "$tutti_pid" -eq "$tutti_since"; then
      continue
    fi
    # Of one whose supervisor did not live to do it.
    if [ -e "$tutti_d/clean" ]; then (tutti_clean) fi
    # Last what tells how it ended: the removal may be cut off.
    set -- "$@" "$tutti_d/work" "$tutti_d"
  done
  if [ $# -gt 0 ]; then tutti_remove_patiently "$@" </dev/null >/dev/null 8>&- & fi
} 2>/dev/null
