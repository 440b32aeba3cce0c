#!/bin/bash
# Bytes of programs that are linked with the parts of one model each (docs/small.md), as rows of a table, and with
# --parts the bytes of each room and of the largest files. SMALL is a build folder made with
#   cmake -S . -B SMALL -DCMAKE_BUILD_TYPE=MinSizeRel -DTENON_PORTABLE=ON -DTENON_HOST_GEN=$PWD/build/tenon-gen \
#     -DTENON_TESTS=OFF && cmake --build SMALL --target tenon_without
# usage: select.sh [--parts] BUILD SMALL MODEL...      BUILD: a build folder with tenon and tenon-gen
set -euo pipefail
parts=
[ "$1" = --parts ] && parts=yes && shift
build=$1 small=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c11 -D_GNU_SOURCE -Os -DNDEBUG -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
  -fno-unwind-tables -fvisibility=hidden -I "$root/include" -I "$root/src")

# Bytes by room of the tree, or by file, from a map of the linker.
by() { # KIND MAP
  awk -v kind="$1" '
    function hex(s,   k, n) {
      for (k = 3; k <= length(s); k++) n = n * 16 + index("0123456789abcdef", substr(s, k, 1)) - 1
      return n + 0
    }
    /^Linker script and memory map/ { begun = 1 }
    begun && NF == 1 && /^ \.(text|rodata|data|bss)/ { section = $1; next }
    begun && (/^ \.(text|rodata|data|bss)/ || section != "") {
      k = NF == 4 ? 2 : 1
      address = $k; bytes = hex($(k + 1)); name = $(k + 2); section = ""
      if (address !~ /^0x/ || hex(address) == 0 || bytes == 0 || name == "") next
      if (!sub(/.*\/CMakeFiles\/[^\/]*\.dir\//, "", name)) name = "the program, its table of parts, the C library"
      sub(/\.o$/, "", name)
      n = split(name, p, "/")
      if (kind == "room" && n > 2) name = p[1] "/" p[2] (n > 3 && p[2] == "plan" ? "/" p[3] : "")
      sum[name] += bytes
    }
    END { for (name in sum) printf "%9d  %s\n", sum[name], name }' "$2" | sort -rn
}

bytes() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }
both() { echo "$(bytes "$1") | $(bytes "$1.fixed")"; }

link() { # LIST PROGRAM OUT: OUT, and OUT.fixed, which runs where it was linked for
  mkdir -p "$work/gen"
  (cd "$root" && "$build/tenon-gen" --select "$1" ops/*/*.yaml formats/*/*.yaml devices/*/*.yaml -o "$work/gen")
  gcc "${flags[@]}" "$2" "$work/gen/builtin.c" "$work/without.a" "$work/all.a" -Wl,--gc-sections,-Map="$3.map" -s -lm \
    -lpthread -o "$3" 2>"$work/log" || { cat "$work/log"; exit 1; }
  gcc "${flags[@]}" "$2" "$work/gen/builtin.c" "$work/without.a" "$work/all.a" -Wl,--gc-sections -s -lm -lpthread -no-pie \
    -o "$3.fixed"
}

build=$(realpath "$build") small=$(realpath "$small")
# libtenon.a and libtenon_without.a as lists of their objects: the linker's map has whole paths of these
find "$small/CMakeFiles" -path '*/tenon_without_objects.dir/*.o' -exec ar rcT "$work/without.a" {} +
find "$small/CMakeFiles" -name '*.o' ! -path '*/tenon_without*' ! -path '*/tenon_shared.dir/*' ! -path '*/tenon_check.dir/*' \
  -exec ar rcT "$work/all.a" {} +
echo "# nothing" >"$work/nothing"
link "$work/nothing" "$root/tests/select/hello_plan.c" "$work/core"
echo "no kernels, plan files: $(both "$work/core") bytes"
[ -z "$parts" ] || by file "$work/core.map" | head -n 12
link "$work/nothing" "$root/tests/select/hello.c" "$work/whole_core"
echo "no operators, planner: $(both "$work/whole_core") bytes"
echo "| model | with reader and planner | the same, \`-no-pie\` | with its plan file | the same, \`-no-pie\` | the plan file |"
echo "|---|---|---|---|---|---|"
for model; do
  name=$(basename "$(dirname "$model")")
  "$build/tenon" select "$model" --target none -o "$work/a" >"$work/log" 2>&1 || { cat "$work/log"; continue; }
  link "$work/a/parts.txt" "$root/tests/select/hello.c" "$work/hello"
  "$build/tenon" select "$model" --target none --plan -o "$work/b" >"$work/log" 2>&1 || { cat "$work/log"; continue; }
  link "$work/b/parts.txt" "$root/tests/select/hello_plan.c" "$work/hello_plan"
  plan=$(echo "$work"/b/*.plan)
  [ "$("$work/hello" "$model")" = "$("$work/hello_plan" "$plan")" ] || { echo "$model: other outputs"; exit 1; }
  echo "| $name | $(both "$work/hello") | $(both "$work/hello_plan") | $(wc -c <"$plan") |"
  [ -z "$parts" ] || { by room "$work/hello.map" | head -n 30; by file "$work/hello_plan.map" | head -n 12; }
  rm -r "$work/a" "$work/b"
done
