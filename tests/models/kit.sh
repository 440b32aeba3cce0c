# shellcheck shell=bash disable=SC2034
# What the cases of all formats share; sourced with: TENON FOLDER. A test ends with `exit $status`.
set -uo pipefail
tenon=$1 folder=$2 status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*"
  status=1
}

# passes COUNTS: the models in the folder answer what is stored beside them; that is the last line.
passes() {
  out=$("$tenon" test "$folder") || fail "tenon test: exit status $?"
  grep -q "^$1\$" <<<"$out" || fail "unexpected: $(grep -v '^pass' <<<"$out")"
}

# notices MODEL FROM TO: if output file TO of a model is exchanged for FROM, its test fails. What it
# says is in $out.
notices() {
  mkdir "$work/wrong"
  cp -r "$folder/$1" "$work/wrong/$1"
  cp "$folder/$1/ref/$2.npy" "$work/wrong/$1/ref/$3.npy"
  out=$("$tenon" test "$work/wrong") && fail "wrong outputs pass"
}

# fails [-F] PATTERN ARGUMENTS...: `tenon ARGUMENTS` fails, and a line of what it says matches the
# pattern, or with -F holds that text.
fails() {
  local how=-e
  [ "$1" = -F ] && how=$1 && shift
  local pattern=$1
  shift
  out=$("$tenon" "$@" 2>&1) && fail "no failure: $*"
  grep -q "$how" "$pattern" <<<"$out" || fail "no line matches '$pattern': $out"
}
