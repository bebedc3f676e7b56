#!/bin/sh
# What a pipeline runs after every merge: deploy what the file says, try it, and take it back if it does not answer.
# Needs MOORAGE_URL and MOORAGE_API_KEY (role developer).
set -eu
cd "$(dirname "$0")"
# Where `moorage` is not installed, the one of this clone.
command -v moorage > /dev/null || moorage() { ../../bin/moorage.js "$@"; }

moorage deploy --message "${1:-by hand}"
if ! moorage invoke berths "which berth is free?" | grep -q 'are free'; then
  echo 'It does not answer as it should: rolling back' >&2
  moorage rollback berths --message 'smoke test failed'
  exit 1
fi
