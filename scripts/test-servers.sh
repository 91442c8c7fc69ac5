#!/bin/sh
# The same suites on real servers: first what shares them, then, one after the other, what stops and kills them.
# Servers: npm run servers -- up
name=${ONYM_SERVERS_NAME:-default}
with() {
  ONYM_TEST_SERVERS=1 ONYM_SERVERS_NAME="$name" node dist/scripts/servers/main.js with --name "$name" -- "$@"
}
with mocha --config .mocharc.servers.json
shared=$?
with mocha --config .mocharc.faults.json
faults=$?
[ "$shared" -eq 0 ] && [ "$faults" -eq 0 ]
