#!/bin/bash
# usage: gpu_programs.sh TENON WORK MODEL DRIVER
# A second start builds no program; what is damaged, or could have been put there by others, is
# built anew. Skipped where the driver gives no binaries: lavapipe has a cache of its own.
set -uo pipefail
tenon=$1 work=$2 model=$3 device=$4:0
# Files in /tmp are never trusted, those of the build folder are if its folders are ours alone.
rm -rf "$work" && mkdir -p "$work" && chmod 700 "$work" || exit 1
export TENON_PROGRAM_CACHE=$work/programs
if ! "$tenon" device info "$device" >"$work/info" 2>&1; then
  echo "skipped: no $device (docs/accelerators.md says what makes one): $(cat "$work/info")"
  exit 77
fi
failures=0
explain() { "$tenon" explain "$model" --dim batch=3 --device "$device" --brief 2>&1; }
# What is said of programs, and what shall be.
start() {
  local said
  said=$(explain | grep "  programs: ")
  echo "$1: $said"
  [ "$said" = "  programs: $2" ] && return
  echo "FAILED: $1: not '$2'"
  failures=$((failures + 1))
}
explain >"$work/first" || cat "$work/first"
n=$(ls "$TENON_PROGRAM_CACHE" 2>/dev/null | wc -l)
if [ "$n" = 0 ]; then
  echo "skipped: $device gives no binaries, or $work could be written by others"
  exit 77
fi
grep -q "  programs: $n built, 0 from the cache" "$work/first" || failures=$((failures + 1))
start "second start" "0 built, $n from the cache"
one=$(ls "$TENON_PROGRAM_CACHE"/* | head -1)
printf 'X' | dd of="$one" bs=1 seek=300 conv=notrunc status=none
start "damaged" "1 built, $((n - 1)) from the cache"
start "mended" "0 built, $n from the cache"
truncate -s 100 "$one"
start "cut off" "1 built, $((n - 1)) from the cache"
if [ "$n" -gt 1 ]; then
  two=$(ls "$TENON_PROGRAM_CACHE"/* | tail -1)
  cp "$two" "$one"
  start "mixed up" "1 built, $((n - 1)) from the cache"
fi
chmod 777 "$TENON_PROGRAM_CACHE"
start "a folder of everybody" "$n built, 0 from the cache"
chmod 700 "$TENON_PROGRAM_CACHE"
TENON_PROGRAM_CACHE='' start "no cache" "$n built, 0 from the cache"
here=(--dim batch=3 --random=5)
"$tenon" run "$model" "${here[@]}" --device "$device" --output "$work/there" >/dev/null 2>&1 &&
  "$tenon" compare "$model" "${here[@]}" --with "$work/there" --rtol 1e-5 --atol 1e-5 ||
  failures=$((failures + 1))
echo "$failures failures"
[ $failures -eq 0 ]
