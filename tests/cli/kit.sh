# shellcheck shell=bash disable=SC2034
# What the tests of the command share; sourced with: TENON DATA WORK JSON_GET.
# WORK is an empty folder of the test's own. A test ends with `finish`.
set -uo pipefail
tenon=$1 data=$2 work=$3 json_get=$4
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
rm -rf "$work" && mkdir -p "$work" || exit 1
failures=0 checks=0
unset TENON_PLUGIN_PATH

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# says CODE PATTERN ARGUMENTS...: `tenon ARGUMENTS` ends with CODE, and a line that it prints
# matches the extended regular expression PATTERN ("": none is asked for). What it printed is in
# $out.
says() {
  local code=$1 pattern=$2 got
  shift 2
  checks=$((checks + 1))
  out=$("$tenon" "$@" 2>&1)
  got=$?
  if [ "$got" -ne "$code" ]; then
    fail "tenon $*: exit status $got, not $code"$'\n'"$out"
  elif [ -n "$pattern" ] && ! grep -qE -- "$pattern" <<<"$out"; then
    fail "tenon $*: no line matches '$pattern'"$'\n'"$out"
  fi
}

# also PATTERN, never PATTERN: the last output has such a line, or none.
also() {
  checks=$((checks + 1))
  grep -qE -- "$1" <<<"$out" || fail "no line matches '$1'"$'\n'"$out"
}
never() {
  checks=$((checks + 1))
  ! grep -qE -- "$1" <<<"$out" || fail "a line matches '$1'"$'\n'"$out"
}

# json FILE PATH PATTERN: the value at PATH (outputs.0.name) of a JSON file matches.
json() {
  local value
  checks=$((checks + 1))
  value=$("$json_get" "$1" "$2") || fail "$1 has no $2"$'\n'"$(head -c 600 "$1")"
  grep -qE -- "$3" <<<"$value" || fail "$1: $2 is '$value', which does not match '$3'"
}

# A file is not there, or an unfinished one lies in a folder.
no_file() {
  checks=$((checks + 1))
  [ ! -e "$1" ] || fail "$1 was written"
}

finish() {
  if [ "$failures" -gt 0 ]; then
    echo "$failures of $checks checks failed"
    exit 1
  fi
  echo "$checks checks passed"
}
