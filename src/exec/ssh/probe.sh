#!/bin/sh
# What the agent tells of its machine. It is the second half of agent.sh, whose rules hold for it.
# shellcheck disable=SC2015,SC2034,SC2086

# Ticks that all cores spent and those that they worked, and how many cores there are.
tutti_load() {
  tutti_total=0 tutti_busy=0
  while read -r tutti_x tutti_line; do
    case $tutti_x in
      cpu)
        set -- $tutti_line
        tutti_busy=$(($1 + $2 + $3 + ${6:-0} + ${7:-0} + ${8:-0}))
        tutti_total=$((tutti_busy + $4 + ${5:-0}))
        if [ $tutti_cpus -gt 0 ]; then return; fi
        ;;
      cpu*) tutti_cpus=$((tutti_cpus + 1)) ;;
      *) return ;;
    esac
  done </proc/stat
} 2>/dev/null

# probe SMI
tutti_probe() {
  tutti_total_then=$tutti_total tutti_busy_then=$tutti_busy tutti_milli=0
  tutti_load
  if [ $((tutti_total - tutti_total_then)) -gt 0 ]; then
    tutti_milli=$(((tutti_busy - tutti_busy_then) * 1000 * tutti_cpus / (tutti_total - tutti_total_then)))
  fi
  if [ $tutti_milli -lt 0 ]; then tutti_milli=0; fi
  tutti_memory=0 tutti_available=0
  while read -r tutti_x tutti_line tutti_u; do
    case $tutti_x in
      MemTotal:) tutti_memory=$tutti_line ;;
      MemFree:) tutti_available=$tutti_line ;;
      MemAvailable:) tutti_available=$tutti_line && break ;;
      Active:) break ;;
    esac
  done </proc/meminfo
  tutti_say "P $tutti_cpus $tutti_milli $tutti_memory $tutti_available"
  jobs >/dev/null
  if [ "$1" != 1 ]; then
    tutti_say S
  elif [ -n "$tutti_smi_pid" ] && kill -0 "$tutti_smi_pid"; then
    # The last one hangs, as it does when a driver is broken; another would too.
    tutti_say "G none 124"
    tutti_say S
  else
    tutti_smi </dev/null >/dev/null &
    tutti_smi_pid=$!
  fi
} 2>/dev/null

# The other vendor's tool. Its list of cards may be one long line. $1: how nvidia-smi ended.
tutti_rocm() {
  tutti_gpus=$(rocm-smi --showid --showuniqueid --showproductname --showbus --showmeminfo vram --showuse --json 8>&- | fold -b -w 2000)
  case $tutti_gpus in
    *"{"*) ;;
    *)
      tutti_say "G none $1"
      tutti_say S
      return
      ;;
  esac
  tutti_apps=$(rocm-smi --showpids --showpidgpus 8>&-)
  set -f
  IFS='
'
  for tutti_x in $tutti_gpus; do tutti_say "G card $tutti_x"; done
  for tutti_x in $tutti_apps; do
    tutti_session=0
    tutti_u=${tutti_x%%[!0-9]*}
    IFS=' '
    if [ -n "$tutti_u" ]; then tutti_stat "$tutti_u"; fi
    tutti_say "G kfd $tutti_session $tutti_x"
  done
  tutti_say S
}

tutti_smi() {
  tutti_gpus=$(nvidia-smi --query-gpu=index,uuid,name,pci.bus_id,memory.total,memory.used,utilization.gpu,ecc.errors.uncorrected.volatile.total,temperature.gpu --format=csv,noheader,nounits 8>&-) &&
    tutti_apps=$(nvidia-smi --query-compute-apps=pid,gpu_uuid,used_memory --format=csv,noheader,nounits 8>&-) ||
    {
      tutti_rocm $?
      return
    }
  set -f
  IFS='
'
  for tutti_x in $tutti_gpus; do tutti_say "G gpu $tutti_x"; done
  for tutti_x in $tutti_apps; do
    tutti_session=0
    IFS=' '
    tutti_stat "${tutti_x%%,*}"
    tutti_say "G app $tutti_session $tutti_x"
  done
  tutti_say S
}
