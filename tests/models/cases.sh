#!/bin/bash
# usage: cases.sh TENON PLUGIN FOLDER LEAST KNOWN      (PLUGIN may be empty)
# Runs all cases in FOLDER. Fails if fewer than LEAST pass, or if one fails that is not in KNOWN
# (one case per line, with its reason behind a #), or if one of KNOWN passes.
set -uo pipefail
tenon=$1 plugin=$2 folder=$3 least=$4 known=$5
if [ ! -d "$folder" ]; then
  echo "skipped: there is no folder $folder"
  exit 77
fi
options=()
[ -z "$plugin" ] || options+=(--plugin "$plugin")
out=$("$tenon" test "${options[@]}" "$folder")
status=0
failed=$(sed -n "s|^FAIL $folder/||p" <<<"$out" | cut -d: -f1 | sort)
expected=$(sed -e 's/ *#.*//' -e '/^$/d' "$known" | sort)
if [ "$failed" != "$expected" ]; then
  echo "cases that fail, against $(basename "$known")" \
    "(<: fails unexpectedly, >: passes unexpectedly):"
  diff <(echo "$failed") <(echo "$expected") | grep '^[<>]'
  grep '^FAIL' <<<"$out" | cut -c1-400
  status=1
fi
passed=$(tail -1 <<<"$out" | cut -d' ' -f1)
tail -1 <<<"$out"
if [ "$passed" -lt "$least" ]; then
  echo "only $passed cases pass; $least are wanted"
  status=1
fi
exit $status
