#!/bin/bash
# TENON_MESSAGES=OFF: the library compiles, a selected program gives the outputs of the whole, and
# its errors name status, file and node, and hold no other text; functions that say a message are
# found, new ones too. Programs built so are no larger than docs/small.md promises.
# usage: messages.sh TENON GEN WHOLE SOURCE WORK      WHOLE: hello.c with the whole library
set -euo pipefail
tenon=$1 gen=$2 whole=$3 source=$4 work=$5
fail() { echo "FAILED: $*"; exit 1; }
rm -rf "$work" && mkdir -p "$work"

mkdir -p "$work/new/src" "$work/new/formats"
cat >"$work/new/src/new.h" <<'END'
int(new_fail)(const int *reader, int code, const char *format,
              ...) __attribute__((format(printf, 3, 4)));
void(new_rule)(int code, const char *rule) __attribute__((format(printf, 2, 0)));
char *new_format(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
END
cat >"$work/new/src/new.c" <<'END'
static __attribute__((format(printf, 1, 2)))
const char *(new_reason)(const char *format, ...) { return format; }
END
cat >"$work/new/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(new LANGUAGES NONE)
include($source/cmake/TenonTerse.cmake)
tenon_write_terse($work/new/found.h)
END
cmake -S "$work/new" -B "$work/new/build" >"$work/log" || { cat "$work/log"; exit 1; }
[ "$(grep -o 'define new_[a-z]*(.*[.])' "$work/new/found.h")" = "define new_fail(a1, a2, ...)
define new_rule(a1, ...)
define new_reason(...)" ] || fail "found are: $(cat "$work/new/found.h")"
model=$source/tests/data/net.onnx
"$tenon" select "$model" --target none -o "$work/parts" >/dev/null
kws=${TENON_TESTDATA:-$source/../shared/testdata}/onnx-models/micro-kws-fp32/model.onnx
[ ! -f "$kws" ] || "$tenon" select "$kws" --target none -o "$work/kws" >/dev/null
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(terse LANGUAGES C)
add_subdirectory($source tenon EXCLUDE_FROM_ALL)
tenon_add_selected(parts PARTS $work/parts/parts.txt)
add_executable(hello $source/tests/select/hello.c)
target_link_libraries(hello PRIVATE parts)
if(EXISTS $work/kws/parts.txt)
  tenon_add_selected(kws_parts PARTS $work/kws/parts.txt)
  add_executable(kws $source/tests/select/hello.c)
  target_link_libraries(kws PRIVATE kws_parts)
endif()
END
cmake -S "$work" -B "$work/build" -DCMAKE_BUILD_TYPE=MinSizeRel -DTENON_PORTABLE=ON \
  -DTENON_TESTS=OFF -DTENON_MESSAGES=OFF -DTENON_HOST_GEN="$gen" >"$work/log" ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" --target all -j2 >"$work/log" 2>&1 ||
  { tail -n 40 "$work/log"; exit 1; }

hello=$work/build/hello
[ "$("$hello" "$model")" = "$("$whole" "$model")" ] || fail "other outputs"
says() { # MODEL TEXT
  said=$("$hello" "$1" 2>&1) && fail "$1 runs"
  [[ $said = *"$2"* ]] || fail "$1: $said, not $2"
}
head -c 300 "$model" >"$work/cut.onnx"
says "$work/cut.onnx" "$work/cut.onnx: "
says "$work/cut.onnx" "TN_ERR_INVALID: an argument, file or descriptor breaks a rule"
says "$work/none.onnx" "cannot open $work/none.onnx: "
# Three words beside what is put into them; what stands behind a status stays, a name, and
# warnings that go through log().
left=$(strings -n 12 "$hello" | grep '%' | grep -E '[a-z]{2,} [a-z]{2,} [a-z]{2,}' |
  grep -vE 'llu bytes cannot be had|it answered %d|its nodes run on the cpu|the rest of %s' |
  grep -v 'does not import an operator set') || true
[ -z "$left" ] || fail "texts are there: $left"

# Bytes of code and data. With gcc's -Oz; whoever adds to them looks where they come from first:
# bench/small/select.sh --parts.
fits() { # PROGRAM BYTES
  bytes=$(size "$work/build/$1" | awk 'NR == 2 { print $1 + $2 }')
  echo "$1: $bytes bytes, at most $2"
  [ "$bytes" -le "$2" ] || fail "$1 is larger than $2 bytes"
}
fits hello 182000
if [ -f "$kws" ]; then
  [ "$("$work/build/kws" "$kws")" = "$("$whole" "$kws")" ] || fail "the keyword spotter"
  fits kws 200000
else
  echo "the keyword spotter is not there: $kws"
fi
