#!/bin/bash
# Writes models as C, builds what was written with warnings as errors, and runs its test: here, and,
# where the tools are installed, on a Cortex-M4 and a RISC-V in an emulator. The test that was
# written asks for the very bits of `tenon run --isa none`.
# usage: run.sh TENON WORK [--write-only | --here | --every N] MODEL...
#   --here     in no emulator
#   --every N  one of N, by chance, in emulators, by other compilers and sanitizers; the others here
set -uo pipefail
tenon=$1 work=$2
shift 2
write_only='' here_only=''
[ "$1" != --write-only ] || { write_only=yes && shift; }
[ "$1" != --here ] || { here_only=yes && shift; }
every=1
[ "$1" != --every ] || { every=$2 && shift 2; }
turn=$((RANDOM % every))
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$work" && mkdir -p "$work" || exit 1
failures=0 passed=0
unset TENON_PLUGIN_PATH
strict="-std=c11 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wcast-align -Wcast-qual -Wundef -Wvla -Wdouble-promotion -Wbad-function-cast
  -Wmissing-declarations -Wmissing-prototypes -Wstrict-prototypes -Werror"
board=$here/../../examples/keyword_spotter_mcu/board # start-up and memory
m4="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# The names of functions that no comment stands before.
uncommented() { # FILE
  awk '/^(static|typedef) [a-z].*\(/ && !/= *\{/ && last !~ /\*\/$/ { print; bad = 1 }
    { last = $0 } END { exit bad }' "$1"
}
# No chain of calls is longer than the run and four below it; the C library takes what is left.
stack_fits() { # DIR NAME
  awk '$2 > 1024 { bad = 1 } /_run\t/ { run = $2; next } { print $2 > "/dev/stderr" }
    END { print (bad ? 9999 : 0) + run > "/dev/stderr" }' "$1/$2.su" 2>"$1/frames"
  [ "$(tail -n 1 "$1/frames")" -lt 9999 ] || { fail "$1: a function with more than 1 kB"; return; }
  bytes=$(($(tail -n 1 "$1/frames") + $(head -n -1 "$1/frames" | sort -rn | head -n 4 |
    awk '{ n += $1 } END { print n + 0 }')))
  [ "$((bytes + 256))" -le "$(awk '/_STACK_BYTES/ { print $3 }' "$1/model.h")" ] ||
    fail "$1: $bytes bytes of stack ($2)"
}
has() { command -v "$1" >/dev/null || { echo "skipped: there is no $1"; return 1; }; }
arm='' riscv='' clang=''
has clang && clang=yes
has arm-none-eabi-gcc && has qemu-system-arm && arm=yes
has riscv64-linux-gnu-gcc && has qemu-riscv64 && [ -d /usr/riscv64-linux-gnu/include ] && riscv=yes

on_host() { # DIR
  # shellcheck disable=SC2086
  (cd "$1" && cc $strict ./*.c -lm -o test 2>&1) || { fail "$1 does not compile"; return; }
  timeout 60 "$1/test" || { fail "$1 has other outputs"; return; }
  [ "$turn" -eq 0 ] || { passed=$((passed + 1)) && return; }
  # shellcheck disable=SC2086
  (cd "$1" && cc ${strict/c11/c99} -fsyntax-only ./*.c 2>&1) || { fail "$1 is no C99"; return; }
  # with what contracts a product and a sum, where the processor can
  # shellcheck disable=SC2086
  [ -z "$clang" ] || (cd "$1" && clang $strict -march=native ./*.c -lm -o with_clang 2>&1 &&
    timeout 60 ./with_clang) || { fail "$1: clang"; return; }
  c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ "$1/model.h" ||
    { fail "$1: the header is no C++"; return; }
  uncommented "$1/model.c" || { fail "$1: functions without a comment"; return; }
  # where the sanitizers are installed
  if (cd "$1" && cc -std=c11 -O1 -fsanitize=address,undefined -fno-sanitize-recover ./*.c -lm \
    -o checked 2>/dev/null); then
    timeout 100 "$1/checked" >"$1/log" 2>&1 || { fail "$1: $(head -n 5 "$1/log")"; return; }
  fi
  # shellcheck disable=SC2086
  (cd "$1" && cc $strict -c model.c -o stack.o -fstack-usage) && stack_fits "$1" stack
  passed=$((passed + 1))
}

on_arm() { # DIR
  # shellcheck disable=SC2086
  arm-none-eabi-gcc $strict $m4 -ffunction-sections -nostartfiles --specs=nano.specs \
    -Wl,--gc-sections -Wl,--no-warn-rwx-segments -T "$board/mps2.ld" -o "$1/m4.elf" \
    "$board/boot.c" "$1"/{model,weights,test}.c -lm || { fail "$1: Cortex-M4"; return; }
  timeout 120 qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel "$1/m4.elf" ||
    fail "$1 has other outputs on a Cortex-M4"
  # only loops that say so compute in f64
  soft='|__aeabi_d[a-z0-9]*'
  grep -qE 'double|tn_(sin|cos|tan)_f32' "$1/model.c" && soft=''
  arm-none-eabi-nm "$1/m4.elf" | grep -E " (_?malloc|_?free|_?printf|pthread$soft)" &&
    fail "$1: the image has functions that it should not need"
  # shellcheck disable=SC2086
  arm-none-eabi-gcc $strict $m4 -fstack-usage -c -o "$1/m4.o" "$1/model.c" && stack_fits "$1" m4
  code=$(arm-none-eabi-size -A "$1/m4.o" | awk '$1 ~ /^\.text/ { n += $2 } END { print n }')
  # the calls grow with the steps of the model, the loops do not
  calls=$((16#$(arm-none-eabi-nm -S "$1/m4.o" | awk '$4 ~ /_run$/ { print $2 }')))
  [ "$((code - calls))" -le 6144 ] || fail "$1: $((code - calls)) bytes of loops on a Cortex-M4"
  echo "${1##*/}: $code bytes of code on a Cortex-M4"
}

on_riscv() { # DIR
  # shellcheck disable=SC2086
  riscv64-linux-gnu-gcc $strict -static -o "$1/riscv" "$1"/{model,weights,test}.c -lm ||
    { fail "$1: RISC-V"; return; }
  timeout 120 qemu-riscv64 "$1/riscv" || fail "$1 has other outputs on a RISC-V"
}

for model; do
  name=${model##*/} name=${name%.*}
  [ "$name" != model ] || { name=${model%/*}; name=${name##*/}; }
  dir=$work/$name
  "$tenon" emit-c "$model" -o "$dir" >"$work/log" 2>&1 ||
    { fail "$name: $(head -n 3 "$work/log")"; continue; }
  [ -z "$write_only" ] || { passed=$((passed + 1)); continue; }
  on_host "$dir"
  whole=$((turn == 0)) turn=$(((turn + 1) % every))
  [ "$whole" = 1 ] && [ -z "$here_only" ] || continue
  # what is for larger machines takes an emulator minutes
  bytes=$(awk '/_(ARENA|WEIGHT)_BYTES/ { n += $3 } END { print n }' "$dir/model.h")
  [ "$bytes" -lt 2000000 ] || continue
  [ -z "$arm" ] || on_arm "$dir"
  [ -z "$riscv" ] || on_riscv "$dir"
done
echo "$passed models passed, 1 of $every everywhere"
[ "$failures" -eq 0 ]
