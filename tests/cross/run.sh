#!/bin/sh
# Builds the library and the harness for AArch64 and runs the harness under qemu-user: families that
# have NEON kernels at level neon, some that have none at the portable level.
# usage: run.sh TENON-GEN SOURCE-DIR BUILD-DIR
set -eu
gen=$1 source=$2 build=$3

for program in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $program > /dev/null || { echo "skipped: there is no $program"; exit 77; }
done
[ -d /usr/aarch64-linux-gnu/include ] ||
  { echo "skipped: there is no C library for aarch64 (Debian: libc6-dev-arm64-cross)"; exit 77; }

log=$build.log
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -DTENON_HOST_GEN="$gen" \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/aarch64-linux-gnu.cmake" > "$log" 2>&1 &&
  cmake --build "$build" --target check >> "$log" 2>&1 ||
  { tail -n 40 "$log"; exit 1; }

# One family, or a file of it, at one level; the last line of what is printed counts what passed.
check() {
  family=$source/ops/${2%/*}/${2##*/}.yaml
  said=$(qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/tests/check/check" --small --isa "$1" \
    --family "$family") || { echo "$said"; exit 1; }
  count=$(echo "$said" | tail -n 1)
  echo "$1 $2: $count"
  case $count in "0 passed"*) echo "nothing was tested"; exit 1 ;; esac
}

several() { # LEVEL:FAMILY[/FILE]...
  for each in "$@"; do check "${each%:*}" "${each#*:}"; done
}
several neon:conv neon_dot:conv neon:block_matmul neon_dot:block_matmul none:cast \
  none:reduce & first=$!
several neon:quant neon:region neon:matmul neon:matmul/quant_matmul neon_dot:matmul/quant_matmul \
  neon:attention neon:norm neon:pool neon:resize neon:rnn neon:softmax none:unary & second=$!
bad=0
wait $first || bad=1
wait $second || bad=1
exit $bad
