#!/bin/sh
# Compiles the kernels that a hot_loops.txt names and checks their innermost loops with loops.awk.
#
#     tests/hot/check.sh OPS/FAMILY/hot_loops.txt FILE.c COMPILER FLAGS...
set -eu
table=$1 file=$2 cc=$3
shift 3
command -v objdump > /dev/null || { echo "skipped: there is no objdump"; exit 77; }
here=$(dirname "$0")
object=$(mktemp)
trap 'rm -f "$object"' EXIT
loops=$(awk -v file="$file" '$1 == file { printf "%s%s=%s", comma, $2, $3; comma = "," }' "$table")
[ -n "$loops" ] || { echo "$table names no loop of $file"; exit 1; }
"$cc" -O3 -fPIC -fvisibility=hidden -std=c11 -D_GNU_SOURCE "$@" \
  -c "$(dirname "$table")/$file" -o "$object"
objdump -d --no-show-raw-insn "$object" | awk -v loops="$loops" -f "$here/loops.awk"
