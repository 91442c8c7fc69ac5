#!/bin/sh
# The quick round, all at once: the lint takes the processors while the tests wait for the disk.
oxlint --type-aware --deny-warnings &
lint=$!
oxfmt --check . &
format=$!
tsc -p tsconfig.json && mocha --config .mocharc.check.json
rest=$?
wait "$lint" || rest=1
wait "$format" || rest=1
exit "$rest"
