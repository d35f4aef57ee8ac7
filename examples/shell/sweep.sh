#!/usr/bin/env bash
# A plain loop: every job waits for its share of a GPU by itself. Run it as it is.
# The command stands for yours; on emulated GPUs it allocates 10 GiB for a moment.
set -euo pipefail

# shellcheck disable=SC2016  # the job's shell is to look, not this one
command='echo "learning rate $LR"
         test -z "${TUTTI_EMULATED_GPUS-}" || tutti-gpu-emulator work --mem 10G --seconds 0.5'

pids=()
for lr in 0.1 0.03 0.01 0.003 0.001; do
  tutti run --gpus 1 --kind sweep --name "lr-$lr" --env "LR=$lr" -- sh -c "$command" &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid"
done
echo "all learning rates are done"
