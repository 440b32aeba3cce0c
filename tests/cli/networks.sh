#!/bin/bash
# All subcommands on real networks: they lie beside the project, or where TENON_TESTDATA says.
# Skipped where they are not.
. "$(dirname "$0")/kit.sh"
models=${TENON_TESTDATA:-$here/../../../shared/testdata}/onnx-models
if [ ! -d "$models" ]; then
  echo "skipped: there is no folder $models"
  exit 77
fi
n=0
for model in "$models"/*/model.onnx; do
  dir=$(dirname "$model")
  says 0 '^nodes ' info "$model"
  if ! "$tenon" check -q "$model" >"$work/said"; then
    grep -q 'no plug-in offers it' "$work/said" || fail "$(cat "$work/said")"
    continue
  fi
  [ -f "$dir/test_data_set_0/output_0.pb" ] || continue
  says 0 '^equal ' \
    compare "$model" -i "$dir/test_data_set_0" --with "$dir/test_data_set_0" --rtol 1e-2 --atol 1e-3
  says 0 '^memory: activations ' explain "$model" -b -i "$dir/test_data_set_0"
  says 0 '^1 runs, 1 thread' bench "$model" -n 1 --warm-up 1 -i "$dir/test_data_set_0"
  n=$((n + 1))
done
[ "$n" -ge 20 ] || fail "only $n networks were run"
finish
