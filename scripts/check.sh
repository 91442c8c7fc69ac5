#!/bin/sh
# The quick round, all at once. The rules that need types see the files that differ from `main`; `npm run lint` and `.ci/run` show them all.
cd "$(dirname "$0")/.." || exit 2
changed() {
  { git diff --name-only --diff-filter=d main && git ls-files --others --exclude-standard; } | grep -E "\.(ts|tsx|mjs)$"
}
oxlint --deny-warnings && changed | xargs -r oxlint --type-aware --deny-warnings --no-error-on-unmatched-pattern &
lint=$!
oxfmt --check . &
format=$!
tsc -p tsconfig.json && mocha --config .mocharc.check.json
rest=$?
wait "$lint" || rest=1
wait "$format" || rest=1
exit "$rest"
