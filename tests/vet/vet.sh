#!/bin/bash
# `tenon plugin vet` as a command: its report, its exit status, its manners. What it finds wrong
# with plug-ins is tests/zoo's business (zoo_test --vet); this test takes the plug-in of the zoo.
# usage: vet.sh TENON ZOO.SO [ACME.SO]
set -uo pipefail
tenon=$1 plugin=$2 acme=${3:-} failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

out=$("$tenon" plugin vet "$plugin") || fail "the sound plug-in is not fit: $out"
grep -q '^zoo: fit: [0-9]* tests passed, 0 breaches' <<<"$out" || fail "the sound plug-in: $out"
out=$(TENON_ZOO=init_fails "$tenon" plugin vet "$plugin")
[ "$(grep -c . <<<"$out")" = 3 ] || fail "a plug-in that cannot be used is tried nevertheless: $out"

# Names that a format hands over are any bytes; documents and terminals get text.
file=$(mktemp)
printf 'ZOO!\4\0\0\0data' >"$file"
out=$(TENON_ZOO=read_bytes "$tenon" info --plugin "$plugin" "$file")
grep -q '^k? *v??\[2J$' <<<"$out" || fail "read_bytes: $out"
if out=$(TENON_ZOO=read_bytes "$tenon" info --plugin "$plugin" "$file" --json); then
  iconv -f UTF-8 -t UTF-8 <<<"$out" >/dev/null || fail "read_bytes, --json: no UTF-8"
  grep -q '"k?"' <<<"$out" || fail "read_bytes, --json: $out"
fi
rm -f "$file"

# Whoever ends the command ends all that it runs: the inner pipe is open until they are gone.
hanging=$(mktemp -u)
TENON_ZOO=init_forks_hangs TENON_ZOO_HANGING=$hanging timeout -s KILL 60 bash -c '
  out=$("$0" plugin vet "$1" --only init --timeout 100 2>&1 &
    until [ -e "$2" ]; do sleep 0.1; done
    kill $!)' "$tenon" "$plugin" "$hanging" ||
  fail "processes of a plug-in outlive the command that is ended"
[ -e "$hanging" ] || fail "init_forks_hangs: no process was made"
rm -f "$hanging"

# A process that a shell has started before it became the command is not the plug-in's.
out=$(bash -c 'sleep 100 >/dev/null 2>&1 & echo "process $!"
  exec "$0" plugin vet "$1" --only init' "$tenon" "$plugin") ||
  fail "a process of somebody else: $out"
kill "$(sed -n 's/^process //p' <<<"$out")" || fail "a process of somebody else was ended"

# Limits that are there already stay: what is lower than vetting's own is no fault of the plug-in.
# (A command with the address sanitizer cannot even start under one.)
if (ulimit -v 4000000 && "$tenon" --version) >/dev/null 2>&1; then
  out=$(ulimit -v 4000000 && "$tenon" plugin vet "$plugin" --only init) ||
    fail "under a limit of address space the sound plug-in is not fit: $out"
fi

# The command's own manners.
out=$(TENON_ZOO=probe_answer "$tenon" plugin vet "$plugin" --only zoo --json) &&
  fail "--json: exit status 0"
grep -q '"fit":.*false' <<<"$out" || fail "--json: no verdict: $out"
grep -q '"part":.*"format .zoo.' <<<"$out" || fail "--json: no breach: $out"
"$tenon" plugin vet "$plugin" --only nobody 2>/dev/null
[ $? = 3 ] || fail "--only of a part that is not there"
[ -z "$acme" ] || "$tenon" plugin vet "$acme" --only acme >/dev/null || fail "--only of a compiler"
"$tenon" plugin vet "$plugin.none" 2>/dev/null
[ $? = 3 ] || fail "a file that is not there"
"$tenon" plugin vet 2>/dev/null
[ $? = 2 ] || fail "no file"
"$tenon" plugin vet "$plugin" --timeout 0 2>/dev/null
[ $? = 2 ] || fail "--timeout 0"
"$tenon" plugin vet "$0" >/dev/null
[ $? = 1 ] || fail "a file that is no library"
TENON_ZOO=birth_crashes "$tenon" plugin info "$plugin" >/dev/null
[ $? = 1 ] || fail "info of what crashes"
TENON_ZOO=init_crashes "$tenon" plugin info "$plugin" |
  grep -q '^kernel twice_f32_c' || fail "info runs init"

echo "$failures failures"
[ "$failures" -eq 0 ]
