#!/usr/bin/env bash
# A script that says itself what it needs: tutti submit examples/hello.sh [NAME]
# Options on the command line win over these lines.
#TUTTI --name hello --cpus 1 --mem 100M
#TUTTI --time 1m
set -euo pipefail
printf 'Hello, %s, from job %s on %s, attempt %s.\n' \
  "${1:-world}" "$TUTTI_JOB_ID" "$TUTTI_NODE" "$TUTTI_ATTEMPT"
