#!/usr/bin/env bash
# Jobs that wait for others: prepare, then two trainings at once, then a report, and a note that runs
# only when something failed. Run it as it is: bash examples/chain.sh
set -euo pipefail

prepare=$(tutti submit -q --name prepare -- sleep 1)
small=$(tutti submit -q --name train-small --after "$prepare" -- sleep 1)
large=$(tutti submit -q --name train-large --after "$prepare" -- sleep 2)
report=$(tutti submit -q --name report --after "$small,$large" -- echo "both models are trained")
# What is skipped has not failed, so each job that may fail has a note of its own.
for job in "$prepare" "$small" "$large" "$report"; do
  tutti submit -q --name trouble --after "$job:failure" -- echo "job $job failed" >/dev/null
done

tutti wait "$report"
tutti ls
tutti logs "$report"
