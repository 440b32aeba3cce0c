#!/bin/bash
# usage: networks.sh TENON TESTDATA: Caffe networks answer what OpenCV answered. They are copied so
# that weights are called like their network. Exit status 77: there are none.
set -uo pipefail
tenon=$1 data=${TENON_TESTDATA:-$2}/caffe status=0
if ! [ -d "$data" ]; then
  echo "skipped: there is no folder $data"
  exit 77
fi
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
for net in "$data"/*/deploy.prototxt; do
  dir=$(dirname "$net")
  to=$work/$(basename "$dir")
  mkdir -p "$to/ref"
  cp "$net" "$to/model.prototxt"
  cp "$dir/weights.caffemodel" "$to/model.caffemodel"
  cp "$dir"/ref/set0_* "$to/ref/" # set 1 may be of another size, which the network does not say
done
out=$("$tenon" test "$work") || status=1
echo "$out"
grep -q '^5 passed, 0 failed, 0 skipped$' <<<"$out" || status=1
# of these there are no weights: they are read to that point, and say so
for net in "$data"/prototxt-only/*_{googlenet,alexnet}_deploy.prototxt; do
  "$tenon" info "$net" 2>"$work/err" && status=1
  grep -q "needs weights, and there is no '.*caffemodel'" "$work/err" ||
    { cat "$work/err"; status=1; }
done
exit $status
