#!/bin/bash
# usage: arena.sh TENON FOLDER LEAST
# Plans every network in FOLDER. Fails if the arena of one is larger than 1.05 times what is alive
# at once, or if fewer than LEAST can be planned without values and other plug-ins.
set -uo pipefail
tenon=$1 folder=$2 least=$3
if [ ! -d "$folder" ]; then
  echo "skipped: there is no folder $folder"
  exit 77
fi
status=0 n=0
member() { grep -o "\"$1\":[[:space:]]*[0-9]*" <<<"$2" | head -1 | grep -o '[0-9]*$'; }
for model in "$folder"/*/model.onnx; do
  plan=$("$tenon" explain --json "$model" 2>/dev/null) || continue
  arena=$(member arena "$plan") bound=$(member arena_lower_bound "$plan")
  if [ -z "$arena" ] || [ -z "$bound" ]; then
    echo "$model: the plan says no arena or no lower bound"
    status=1
  elif [ $((arena * 100)) -gt $((bound * 105)) ]; then
    echo "$model: an arena of $arena bytes, where $bound are alive at once"
    status=1
  fi
  n=$((n + 1))
done
echo "$n networks planned"
if [ "$n" -lt "$least" ]; then
  echo "$least are wanted"
  status=1
fi
exit $status
