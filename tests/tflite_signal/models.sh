#!/bin/bash
# usage: models.sh TENON PLUGIN FOLDER
# Four runs of each model give what the micro interpreter gave. Without the plug-in the operator is
# named. Options that do not go with the input are refused where the file is read.
set -uo pipefail
tenon=$1 plugin=$2 folder=$3
out=$("$tenon" test --plugin "$plugin" "$folder" 2>&1)
grep -q "^2 passed, 0 failed, 0 skipped" <<<"$out" || { echo "$out"; exit 1; }
out=$("$tenon" run "$folder/front_end/model.tflite" 2>&1) && exit 1
grep -q "SignalFramer" <<<"$out" || { echo "$out"; exit 1; }
out=$("$tenon" run --plugin "$plugin" "$folder/../no_step.tflite" 2>&1) && exit 1
grep -q "SignalFramer): has options that do not go with its input" <<<"$out" ||
  { echo "$out"; exit 1; }
