#!/bin/sh
# Builds the library and the harness for another machine and runs the harness under qemu-user:
# families that have kernels for its vectors at their level, some that have none at the portable
# level.
# usage: run.sh aarch64|riscv64 TENON-GEN SOURCE-DIR BUILD-DIR
set -eu
machine=$1 gen=$2 source=$3 build=$4
root=/usr/$machine-linux-gnu

compiler=$machine-linux-gnu-gcc strict=ON
[ "$machine" = aarch64 ] || compiler=clang-19 strict=OFF # it warns of what gcc does not
for program in "$compiler" "qemu-$machine"; do
  command -v "$program" > /dev/null || { echo "skipped: there is no $program"; exit 77; }
done
[ -d "$root/include" ] ||
  { echo "skipped: there is no C library for $machine (Debian: libc6-dev-...-cross)"; exit 77; }

log=$build.log
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -DTENON_HOST_GEN="$gen" \
  -DCMAKE_TOOLCHAIN_FILE="$source/cmake/$machine-linux-gnu.cmake" \
  -DTENON_WERROR=$strict > "$log" 2>&1 &&
  cmake --build "$build" --target check >> "$log" 2>&1 ||
  { tail -n 40 "$log"; exit 1; }

# QEMU before 8.1 dies of vector loads, sometimes, where there are threads (its issue 1441), and
# says so. What fails is forgiven if that was said and nothing but crashes failed.
is_emulators() {
  echo "$said" | grep -q 'decode_save_opc: Assertion' || return 1
  echo "$said" | awk '/^FAIL/ { fails++ } /^ +crashed with SIG(ABRT|SEGV)/ { crashes++ }
    END { exit fails != crashes }' || return 1
  echo "the emulator crashed"
}

# One family, or a file of it, at one level; the last line of what is printed counts what passed.
# The level rvv256 is rvv on a machine with registers of 256 bits.
check() {
  level=$1 family=$source/ops/${2%/*}/${2##*/}.yaml cpu=max
  case $level in rvv*) cpu=rv64,v=true,vext_spec=v1.0,vlen=${level#rvv} level=rvv ;; esac
  [ "$machine" = aarch64 ] || [ "$cpu" != max ] || cpu=rv64
  said=$("qemu-$machine" -cpu "$cpu" -L "$root" "$build/tests/check/check" --small \
    --isa "$level" --family "$family" 2>&1) || is_emulators || { echo "$said"; exit 1; }
  count=$(echo "$said" | tail -n 1)
  echo "$1 $2: $count"
  case $count in "0 passed"*) echo "nothing was tested"; exit 1 ;; esac
}

several() { # LEVEL:FAMILY[/FILE]...
  for each in "$@"; do check "${each%:*}" "${each#*:}"; done
}
if [ "$machine" = aarch64 ]; then
  several neon:conv neon_dot:conv neon:block_matmul neon_dot:block_matmul none:cast \
    none:reduce & first=$!
  several neon:quant neon:region neon:matmul neon:matmul/quant_matmul \
    neon_dot:matmul/quant_matmul neon:attention neon:norm neon:pool neon:resize neon:rnn \
    neon:softmax none:unary & second=$!
else
  several rvv128:conv rvv128:cast rvv256:reduce rvv128:activation rvv128:unary & first=$!
  several rvv128:quant rvv128:region rvv128:matmul rvv256:matmul rvv128:block_matmul \
    rvv256:matmul/quant_matmul rvv128:attention rvv128:norm \
    rvv128:pool rvv256:resize rvv128:rnn rvv128:softmax rvv256:binary & second=$!
fi
bad=0
wait $first || bad=1
wait $second || bad=1
exit $bad
