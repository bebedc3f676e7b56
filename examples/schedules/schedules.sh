#!/bin/sh
# What an agent does by itself: a report on working days, and a look at the harbour every quarter of an hour.
# Needs MOORAGE_URL and MOORAGE_API_KEY (role developer).
set -eu
agent=$1
here=$(dirname "$0")
# Where `moorage` is not installed, the one of this clone.
command -v moorage > /dev/null || moorage() { "$here/../../bin/moorage.js" "$@"; }

existing=$(moorage schedules list "$agent" --limit 100)

# schedule NAME MESSAGE OPTION...
schedule() {
  name=$1 message=$2
  shift 2
  id=$(echo "$existing" | awk -v name="$name" '$2 == name { print $1 }')
  if [ -n "$id" ]; then
    moorage schedules update "$agent" "$id" --message "$message" "$@"
  else
    moorage schedules create "$agent" "$message" --name "$name" "$@"
  fi
}

schedule report 'What happened since yesterday?' --cron '0 9 * * MON-FRI' --timezone Europe/Berlin --catch-up one
schedule watch 'Is a berth free?' --every 15m --session watch
