#!/bin/bash
# usage: models.sh TENON WORK FOLDER LEAST EVERY
# One of EVERY models in FOLDER, other ones in each run, on the shadow device: wholly there, and
# with half of the operators hidden from it, commands shuffled and delayed. With the portable
# kernels, of which there is mostly one for each operator, the bits are those of the CPU. With all
# kernels another one may be chosen, since conversions beside transfers cost something else: then
# outputs are compared with a tolerance. Fails if fewer than LEAST models run.
set -uo pipefail
tenon=$1 work=$2 folder=$3 least=$4 every=$5
if [ ! -d "$folder" ]; then
  echo "skipped: there is no folder $folder"
  exit 77
fi
rm -rf "$work" && mkdir -p "$work" || exit 1
status=0 count=0

run() { # OUT MODEL OPTIONS...
  rm -rf "${work:?}/$1"
  mkdir "$work/$1"
  "$tenon" run "$2" --random=1 --quiet -o "$work/$1" "${@:3}" >"$work/$1.log" 2>&1
}
fail() {
  echo "FAILED: $*"
  grep -v ': note:' "$work/device.log" | head -5
  status=1
}
same() { # WHAT OPTIONS...
  run device "$model" --isa none --device shadow "${@:2}" || fail "$name, $1: exit status $?"
  diff -r "$work/cpu" "$work/device" >/dev/null || fail "$name, $1: other bits than on the CPU"
}
has_sizes() { # of its outputs, before it runs
  local said
  said=$("$tenon" run "$model" --random --device shadow --quiet --on-device '*' 2>&1)
  [[ $said != *"only a run tells"* ]]
}
close() { # WHAT OPTIONS...: of kernels with another order of sums
  "$tenon" compare "$model" --random=1 --with "$work/all" --device shadow "${@:2}" \
    >"$work/device.log" 2>&1 || fail "$name, $1: exit status $?"
}

mapfile -t models < <(find "$folder" -mindepth 2 -maxdepth 2 -name '*.onnx' | sort |
  awk -v every="$every" -v first=$((RANDOM % every)) 'NR % every == first')
for model in "${models[@]}"; do
  name=${model#"$folder/"}
  run cpu "$model" --isa none || continue # not every model runs here; tests/models says which
  run all "$model" || continue
  count=$((count + 1))
  export TENON_SHADOW=delay=100
  same "wholly there"
  has_sizes && same "its ends, too" --on-device '*' --repeat 2
  close "wholly there, all kernels"
  for seed in 1 2; do
    export TENON_SHADOW=hide=50,delay=100,seed=$seed
    same "half hidden, seed $seed" --fallback warn --threads 2
    close "half hidden, all kernels, seed $seed" --fallback warn
  done
done
echo "$count models compared"
[ "$count" -ge "$least" ] || { echo "only $count models ran; $least are wanted"; status=1; }
exit $status
