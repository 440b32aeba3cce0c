#!/bin/sh
# Compiles a frozen loop and today's with one compiler, and compares what each spends on a
# multiply-add: instructions and loads not more, bytes of code at most 3 % more (other registers
# have longer encodings). frozen/SHA256SUMS sees to it that the frozen one is what it was.
#
# TODAY may be an object file that the same compiler has made already.
#
#     tests/hot/compare.sh FROZEN.c FUNCTION TODAY FUNCTION MULTIPLY-ADDS COMPILER FLAGS...
set -eu
frozen=$1 frozen_function=$2 today=$3 today_function=$4 fma=$5 cc=$6
shift 6
for program in objdump "$cc"; do
  command -v "$program" > /dev/null || { echo "skipped: there is no $program"; exit 77; }
done
here=$(dirname "$0")
(cd "$here/frozen" && sha256sum --quiet -c SHA256SUMS) ||
  { echo "a frozen loop was changed: it has to stay as it was"; exit 1; }
object=$(mktemp)
trap 'rm -f "$object"' EXIT

# "multiply-adds instructions loads bytes" of the innermost loop.
counts() {
  source=$1 function=$2
  shift 2
  case $source in
    *.o) cp "$source" "$object" ;;
    *) "$cc" -O3 -fPIC -fvisibility=hidden -std=c11 -D_GNU_SOURCE "$@" -c "$source" -o "$object" ;;
  esac || return
  said=$(objdump -d --no-show-raw-insn "$object" |
    awk -v loops="$function=$fma" -f "$here/loops.awk") || { echo "$said" >&2; return 1; }
  echo "$said" >&2
  echo "$said" | sed -e 's/^[^:]*: //' -e 's/[^0-9]\{1,\}/ /g'
}
was=$(counts "$frozen" "$frozen_function" "$@") || exit 1
is=$(counts "$today" "$today_function" "$@") || exit 1
echo "$was $is" | awk '
  function judge(what, was, is, room) {
    if (is * $1 <= was * $5 * room) return
    printf "%s per multiply-add: %.3f, and %.3f in the frozen loop\n", what, is / $5, was / $1
    bad = 1
  }
  NF != 8 || !$1 || !$5 { print "no counts"; exit 1 }
  {
    judge("instructions", $2, $6, 1)
    judge("loads", $3, $7, 1)
    judge("bytes", $4, $8, 1.03)
    if (!bad) print "today'"'"'s loop is no worse than the frozen one"
    exit bad
  }'
