#!/bin/sh
# The same suites on real servers: `shared` only uses them, `faults` stops and kills them, one after the other, and `measured` holds what
# they take to limits, with nothing else beside it. Without a word: all three. What follows the word goes to mocha.
# Servers: npm run servers -- up
name=${ONYM_SERVERS_NAME:-default}
with() {
  ONYM_TEST_SERVERS=1 ONYM_SERVERS_NAME="$name" node dist/scripts/servers/main.js with --name "$name" -- "$@"
}
PATH=node_modules/.bin:$PATH
suite=${1:-all}
[ $# -gt 0 ] && shift
case $suite in
shared) with mocha --config .mocharc.servers.json "$@" ;;
faults) with mocha --config .mocharc.faults.json "$@" ;;
measured) with mocha --config .mocharc.measured.json "$@" ;;
all)
  failed=0
  for suite in servers faults measured; do
    with mocha --config ".mocharc.$suite.json" || failed=1
  done
  exit $failed
  ;;
*)
  echo "test-servers.sh: shared, faults, measured or nothing" >&2
  exit 2
  ;;
esac
