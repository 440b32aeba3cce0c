#!/bin/sh
# Checks the innermost loops that a hot_loops.txt names with loops.awk: in an object file, or in
# what a compiler makes of the source.
#
#     tests/hot/check.sh OPS/FAMILY/hot_loops.txt FILE.c ISA OBJECT.o
#     tests/hot/check.sh OPS/FAMILY/hot_loops.txt FILE.c ISA COMPILER FLAGS...
set -eu
table=$1 file=$2 isa=$3 cc=$4
shift 4
objdump=objdump
case $isa in neon*) objdump=aarch64-linux-gnu-objdump ;; esac
case $cc in *.o) programs=$objdump ;; *) programs="$objdump $cc" ;; esac
for program in $programs; do
  command -v "$program" > /dev/null || { echo "skipped: there is no $program"; exit 77; }
done
[ $objdump = objdump ] || [ -d /usr/aarch64-linux-gnu/include ] ||
  { echo "skipped: there are no headers for aarch64 (Debian: libc6-dev-arm64-cross)"; exit 77; }
here=$(dirname "$0")
loops=$(awk -v file="$file" -v isa="$isa" \
  '$1 == file && $2 == isa { printf "%s%s=%s", comma, $3, $4; comma = "," }' "$table")
[ -n "$loops" ] || { echo "$table names no loop of $file for $isa"; exit 1; }
object=$cc
if [ "${cc%.o}" = "$cc" ]; then
  object=$(mktemp)
  trap 'rm -f "$object"' EXIT
  "$cc" -O3 -fPIC -fvisibility=hidden -std=c11 -D_GNU_SOURCE "$@" \
    -c "$(dirname "$table")/$file" -o "$object"
fi
$objdump -d --no-show-raw-insn "$object" | awk -v loops="$loops" -f "$here/loops.awk"
