#!/bin/bash
# usage: rogue.sh TENON ROGUE.SO MODEL
# Drivers that misbehave: what can be told from their answers is an error in words, and the process
# goes on; what cannot, vetting finds in a process of its own.
set -uo pipefail
tenon=$1 plugin=$2 model=$3
failures=0
good=$("$tenon" run "$model" --random=7 2>/dev/null)
good=${good//[/\\[} # as a pattern

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# says HOW CODE "LINE" COMMAND...: it ends with CODE and prints LINE, which may hold *.
says() {
  local how=$1 code=$2 line=$3 out got
  shift 3
  # what hangs is left alone, its memory too
  out=$(ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 TENON_ROGUE=$how "$@" 2>&1)
  got=$?
  [ $got -eq "$code" ] || fail "$how: exit status $got, not $code"$'\n'"${out:0:2000}"
  # shellcheck disable=SC2053
  [[ $out == *$line* ]] || fail "$how: nobody says: $line"$'\n'"${out:0:2000}"
}
run=("$tenon" run "$model" --random=7 --plugin "$plugin" --device rogue:0)
vet=("$tenon" plugin vet "$plugin" --timeout 3)

says nothing_wrong 0 "$good" "${run[@]}"
says nothing_wrong 0 "rogue: fit: " "${vet[@]}"

device="error: device 'rogue:0': "
says open_nothing 3 "${device}open() answers TN_OK, but gives nothing" "${run[@]}"
says queue_nothing 3 "${device}queue_new() answers TN_OK, but gives nothing" "${run[@]}"
says recording_nothing 3 "${device}*: record_begin() answers TN_OK, but gives nothing" "${run[@]}"
says program_nothing 1 "program_new() answers TN_OK, but gives nothing" "${run[@]}"
says program_nothing 0 "$good" "${run[@]}" --fallback warn
says describe_long 3 "${device}its name is longer than 65536 bytes" "${run[@]}"
says describe_lines 0 "hardware  two lines?\[31m" "$tenon" device info rogue:0 --plugin "$plugin"
says describe_wide 3 "${device}its offset_alignment 4294967296 is more than 1 MiB" "${run[@]}"
says refuse_long 1 "rrrrr..." "${run[@]}"
says wait_no_status 3 "it answered 7, which is no status it may answer" "${run[@]}"
says wait_no_status 0 "$good" "${run[@]}" --fallback warn
says wait_early 3 "${device}*: it has not ended after " "${run[@]}"
says wait_early 0 "$good" "${run[@]}" --fallback warn

part="rogue: driver 'rogue', "
says open_nothing 1 "${part}opening rogue:0: *open() answers TN_OK, but gives nothing" "${vet[@]}"
says program_nothing 0 "it takes none of * operators: *gives nothing" "${vet[@]}"
says map_nowhere 1 "${part}Add, case 1 on rogue:0: crashed with SIG*" "${vet[@]}"
says describe_crash 1 "${part}opening rogue:0: crashed with SIGABRT*describe()" "${vet[@]}"
says copy_nothing 1 "${part}Add, case 1 on rogue:0: element 0 is " "${vet[@]}"
says wait_early 1 "${part}Add, case 1 on rogue:0: *it has not ended after " "${vet[@]}"
says wait_never 1 "${part}Add, case 1 on rogue:0: hangs in a callback" "${vet[@]}"

[ $failures = 0 ] || exit 1
