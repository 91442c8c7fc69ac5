#!/bin/sh
# The quick round: the format is checked beside the rest, because it is the slowest part on a cold cache.
npm run --silent format:check &
format=$!
npm run --silent lint && npm run --silent build && mocha --config .mocharc.check.json
rest=$?
wait "$format" && exit "$rest"
