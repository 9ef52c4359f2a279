#!/usr/bin/env bash
# Runs clsviz with the words of $ARGUMENTS, and adds what it prints to the summary of a workflow's step.
set -uo pipefail
mapfile -d '' -t words < <(python -c 'import os, shlex; print(*shlex.split(os.environ["ARGUMENTS"]), sep="\0", end="\0")')
answer=$(clsviz "${words[@]}" 2>&1)
status=$?
printf '%s\n' "$answer"
{ printf '### clsviz, status %s\n\n' "$status"; printf '%s\n' "$answer" | sed 's/^/    /'; } >> "$GITHUB_STEP_SUMMARY"
exit "$status"
