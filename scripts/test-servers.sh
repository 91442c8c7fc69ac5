#!/bin/sh
# The same suites on real servers: `shared` only uses them, `faults` stops and kills them, one after the other. Without a word: both.
# Servers: npm run servers -- up
name=${ONYM_SERVERS_NAME:-default}
with() {
  ONYM_TEST_SERVERS=1 ONYM_SERVERS_NAME="$name" node dist/scripts/servers/main.js with --name "$name" -- "$@"
}
PATH=node_modules/.bin:$PATH
case ${1:-all} in
shared) with mocha --config .mocharc.servers.json ;;
faults) with mocha --config .mocharc.faults.json ;;
all)
  with mocha --config .mocharc.servers.json
  shared=$?
  with mocha --config .mocharc.faults.json && [ "$shared" -eq 0 ]
  ;;
*)
  echo "test-servers.sh: shared, faults or nothing" >&2
  exit 2
  ;;
esac
