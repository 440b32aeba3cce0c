#!/bin/bash
# usage: models.sh TENON PLUGIN FOLDER
# Four runs of each model give what the micro interpreter gave. Without the plug-in the operator is
# named.
set -uo pipefail
tenon=$1 plugin=$2 folder=$3
out=$("$tenon" test --plugin "$plugin" "$folder" 2>&1)
grep -q "^2 passed, 0 failed, 0 skipped" <<<"$out" || { echo "$out"; exit 1; }
out=$("$tenon" run "$folder/front_end/model.tflite" 2>&1) && exit 1
grep -q "SignalFramer" <<<"$out" || { echo "$out"; exit 1; }
