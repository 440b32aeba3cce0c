#!/bin/bash
# usage: cases.sh TENON WORK FOLDER LEAST
# The ONNX cases pass on the shadow device as they do on the CPU: what passes there passes here.
set -uo pipefail
tenon=$1 work=$2 folder=$3 least=$4
if [ ! -d "$folder" ]; then
  echo "skipped: there is no folder $folder"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work" || exit 1
"$tenon" test "$folder" >"$work/cpu"
TENON_SHADOW=delay=0 "$tenon" test --device shadow --fallback warn "$folder" >"$work/device"
failed() { sed -n "s|^FAIL $folder/||p" "$1" | cut -d: -f1 | sort; }
tail -1 "$work/device"
if ! diff <(failed "$work/cpu") <(failed "$work/device"); then
  grep '^FAIL' "$work/device" | cut -c1-300 | head -40
  exit 1
fi
passed=$(tail -1 "$work/device" | cut -d' ' -f1)
[ "$passed" -ge "$least" ] || { echo "only $passed cases pass; $least are wanted"; exit 1; }
