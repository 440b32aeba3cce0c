#!/bin/bash
# usage: cases.sh TENON WORK FOLDER LEAST EVERY
# The ONNX cases pass on the shadow device as they do on the CPU: what passes there passes here.
# One of EVERY cases is looked at, other ones in each run; fails if fewer than LEAST pass.
set -uo pipefail
tenon=$1 work=$2 folder=$3 least=$4 every=$5
if [ ! -d "$folder" ]; then
  echo "skipped: there is no folder $folder"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work" || exit 1
first=$((RANDOM % every))
echo "cases $first, $((first + every)) ..."
mapfile -t cases < <(find "$folder" -name 'test_data_set_*' -printf '%h\n' | sort -u |
  awk -v every="$every" -v first="$first" 'NR % every == first')
"$tenon" test "${cases[@]}" >"$work/cpu"
TENON_SHADOW=delay=0 "$tenon" test --device shadow --fallback warn "${cases[@]}" >"$work/device"
failed() { sed -n "s|^FAIL $folder/||p" "$1" | cut -d: -f1 | sort; }
tail -1 "$work/device"
if ! diff <(failed "$work/cpu") <(failed "$work/device"); then
  grep '^FAIL' "$work/device" | cut -c1-300 | head -40
  exit 1
fi
passed=$(tail -1 "$work/device" | cut -d' ' -f1)
[ "$passed" -ge "$least" ] || { echo "only $passed cases pass; $least are wanted"; exit 1; }
