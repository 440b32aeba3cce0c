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
vet=("$tenon" plugin vet "$plugin")

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
# The device itself tells that work has ended: where constants are copied, in the first run of a
# model, and before anything of it is freed. In later runs outputs that have not come tell that
# it has not.
lie="wait() says that all has ended, but a word that is filled and copied at its end has not come: "
TENON_SHADOW=delay=3000 says wait_not 3 "${device}copying constants: $lie" "${run[@]}"
TENON_SHADOW=delay=3000 says wait_not 0 "$good" "${run[@]}" --fallback warn
first="error: device 'rogue:0' is lost, segment 1 of 1, *: "
TENON_SHADOW=delay=3000 says wait_last 3 "$first$lie" \
  "${run[@]}" --repeat 5
TENON_SHADOW=delay=3000 says wait_last 0 "$good" "${run[@]}" --repeat 5 --fallback warn
# how long a run may take depends on what the first one took
says wait_slow 0 "$good" "${run[@]}" --repeat 3

# An answer that is no memory and no loss is one that the device refuses what is needed of it: the
# CPU takes over, if the policy lets it.
for member in count open describe buffer_new buffer_map record_begin record_copy record_dispatch \
  record_barrier record_end queue_new submit; do
  for damage in fails status; do
    says $member.$damage 3 "$device" "${run[@]}"
    says $member.$damage 0 "$good" "${run[@]}" --fallback warn
  done
done
for how in describe.nothing describe_infinite describe_narrow count_many submit_late; do
  says $how 0 "$good" "${run[@]}"
done
says open_gone 3 "${device}it was unplugged" "${run[@]}"
says open_gone 0 "$good" "${run[@]}" --fallback warn
says count_less 0 "rogue:0: device 'rogue:0': driver 'rogue' sees 0 devices" "$tenon" device list \
  --plugin "$plugin"
says program_again 0 "$good" "${run[@]}" --fallback warn

part="rogue: driver 'rogue', "
says open_nothing 1 "${part}opening rogue:0: *open() answers TN_OK, but gives nothing" "${vet[@]}"
says program_nothing 0 "it takes none of * operators: *gives nothing" "${vet[@]}"
says map_nowhere 1 "${part}Add, case 1 on rogue:0: crashed with SIG*" "${vet[@]}"
says describe_crash 1 "${part}opening rogue:0: crashed with SIGABRT*describe()" "${vet[@]}"
says copy_nothing 1 "${part}Add, case 1 on rogue:0: *$lie" "${vet[@]}"
says wait_early 1 "${part}Add, case 1 on rogue:0: *it has not ended after " "${vet[@]}"
says wait_never 1 "${part}Add, case 1 on rogue:0: hangs in a callback" "${vet[@]}" --timeout 3

# what models ask for seldom or never, conform does
conform=("$tenon" conform rogue:0 --plugin "$plugin")
says nothing_wrong 0 "rogue:0: 43 of 43 cases taken, 0 failed" "${conform[@]}"
fails="FAILED    driver: "
says copy_words 1 "${fails}copies of odd bytes at odd offsets: 1 bytes from 1 over 2 to 3: byte 0 \
is 238, not " "${conform[@]}"
says fill_bytes 1 "${fails}fills: a word that was filled: byte " "${conform[@]}"
says barrier_nothing 1 "${fails}barriers keep order: 60 copies with a barrier each: byte " \
  "${conform[@]}"
says memory_any 1 "${fails}memory that is not there: buffer_new() of 2^60 bytes answers 0 (" \
  "${conform[@]}"
says describe_other 1 "${fails}name and stamp: describe() gives another stamp the second time" \
  "${conform[@]}"
says describe_narrow 1 "${fails}name and stamp: describe() gives other limits or flags" \
  "${conform[@]}"
says copy_part 1 "${fails}long copies and fills: * bytes, the second half filled: byte 65539 is " \
  "${conform[@]}"
says fill_part 1 "${fails}long copies and fills: * bytes, the second half filled: byte 528419 is " \
  "${conform[@]}"
says submit_late 1 "${fails}many submissions before a wait: 16 submissions that nobody waited for" \
  "${conform[@]}"
says map_moves 1 "${fails}buffers stay where they are: buffer_map() of a buffer that is mapped" \
  "${conform[@]}"
says buffer_new.nothing 1 "FAILED    Add *: * gives nothing; the model is planned \
without it" "${conform[@]}"
says submit_once 1 "FAILED    Add *: element 1 is " "${conform[@]}"
says open.fails 3 "${device}TN_ERR_INVALID" "${conform[@]}"
# wrong numbers, or a crash
says wait_not 1 "${part}Add, case 1 on rogue:0: " "${vet[@]}"
says wait_short 1 "${fails}time that is up: wait() for 1 us answers TN_OK: byte " "${conform[@]}"
says wait_short 1 "${part}driver: time that is up, case 40 on rogue:0: wait() for 1 us" "${vet[@]}"

[ $failures = 0 ] || exit 1
