#!/bin/bash
# Makes packages by scripts/package and uses them as people do.
# usage: run.sh archive|sdist|python SOURCE-DIR BUILD-DIR WORK-DIR
set -euo pipefail
part=$1 source=$2 build=$3 work=$4
model=$source/tests/data/net.onnx
rm -rf "$work" && mkdir -p "$work/a place" "$work/home"
cd "$work/a place"
fail() { echo "$*"; exit 1; }
# Nothing of the clone is found by chance.
alone() { env -i PATH=/usr/bin:/bin HOME="$work/home" "$@"; }

use_archive() {
  "$source/scripts/package" -b "$build" "$work/out" source archive
  (cd "$work/out" && sha256sum -c SHA256SUMS)
  tar xzf "$work"/out/tenon-*-linux-*.tar.gz
  local tenon version
  tenon=$(echo "$PWD"/tenon-*-linux-*)
  version=$(basename "$work"/out/*-source.tar.gz -source.tar.gz)
  ! grep -rlI -e "$build" -e "$work/out" --include='*.cmake' --include='*.pc' "$tenon" ||
    fail "the archive names the folder where it was made"
  echo "== the command"
  alone "$tenon/bin/tenon" run "$model" --random >run.log || fail "$(cat run.log)"
  alone "$tenon/bin/tenon" plugin list >plugins.log
  grep -q contrib plugins.log || fail "contrib is not found: $(cat plugins.log)"
  echo "== a program, by CMake and by pkg-config"
  local example library flags
  example=$(find "$tenon" -type d -path '*/examples/run_model')
  library=$(dirname "$(find "$tenon" -name libtenon.so)")
  alone cmake -S "$example" -B cmake -DCMAKE_PREFIX_PATH="$tenon" >cmake.log
  alone cmake --build cmake >>cmake.log || fail "$(cat cmake.log)"
  alone cmake/run_model "$example/layer.onnx" >program.log || fail "$(cat program.log)"
  grep -q "= 5.5 7.5 0" program.log || fail "$(cat program.log)"
  flags=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --cflags --libs tenon)
  eval "cc -std=c11 '$example/main.c' -o program $flags"
  alone LD_LIBRARY_PATH="$library" ./program "$example/layer.onnx" >again.log
  cmp program.log again.log || fail "the two programs say different things"
  echo "== the sources"
  tar xzf "$work/out/$version-source.tar.gz"
  (cd "$source" && git ls-files | LC_ALL=C sort) >tracked
  (cd "$version" && find . ! -type d | sed 's,^./,,' | LC_ALL=C sort) >packed
  cmp tracked packed || fail "the source archive has not the files that git tracks"
  cmake -S "$version" -B configured -DTENON_TESTS=OFF >configured.log 2>&1 ||
    fail "$(tail -20 configured.log)"
}

# What the source distribution leaves out, the build must not ask for.
use_sdist() {
  python3 "$source/python/build_backend/sdist_files.py" "$PWD/sdist"
  [ ! -e sdist/docs/python.md ] || fail "all of the project was copied"
  cmake -S sdist -B configured -DTENON_TESTS=OFF >configured.log 2>&1 ||
    fail "$(grep -A8 Error configured.log)"
}

use_python() {
  python3 -m venv look && look/bin/pip download -q --no-deps -d . "numpy>=2" 2>look.log ||
    { echo "skipped: PyPI cannot be reached: $(tail -1 look.log)"; exit 77; }
  "$source/scripts/package" "$work/out" sdist wheel
  (cd "$work/out" && sha256sum -c SHA256SUMS)
  python3 -m venv env
  env/bin/pip install -q "$work"/out/python/tenon-*.whl pytest ml_dtypes
  [ "$(uname -m)" != x86_64 ] || [ -e "$(find "$work/out/python" -name '*manylinux_2_28*')" ] ||
    fail "the wheel is for none but this system"
  echo "== a model, the command, the plug-ins"
  alone env/bin/python -c "
import numpy, tenon
model = tenon.load('$model')
print(model(numpy.ones((2, 3, 4, 4), numpy.float32)).shape)
names = {p['name'] for p in tenon.Runtime().plugins() if not p['refused']}
assert {'contrib', 'image_decoder', 'ort_custom_ops'} <= names, names" >model.log ||
    fail "$(cat model.log)"
  [ "$(cat model.log)" = "(2, 5)" ] || fail "$(cat model.log)"
  alone env/bin/tenon run "$model" --random >run.log || fail "$(cat run.log)"
  echo "== the package's tests"
  alone TENON_BUILD="$build" env/bin/python -m pytest -q -p no:cacheprovider \
    "$source/python/tests" --ignore="$source/python/tests/slow" \
    --ignore="$source/python/tests/hosts"
}

"use_$part"
echo "what is packed works"
