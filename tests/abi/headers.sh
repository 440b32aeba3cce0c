#!/bin/bash
# Compiles each header that is installed by itself, as C++17 with warnings as errors, for authors of
# plug-ins in C++. Those with vectors at two instruction sets. Exit status 77: there is no such
# compiler.
# usage: headers.sh COMPILER SOURCE-DIR
set -u
compiler=$1 source=$2 n=0 failed=0
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: there is no $compiler on this machine"
  exit 77
fi
vectors=("")
case $(uname -m) in
x86_64)
  avx512="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mavx512vnni -mfma -mf16c"
  vectors=("-mavx2 -mfma -mf16c -mavxvnni -DTN_SIMD_ISA=avx2" "$avx512 -DTN_SIMD_ISA=avx512")
  ;;
aarch64) vectors=("-march=armv8.2-a+dotprod+fp16+i8mm -DTN_SIMD_ISA=neon") ;;
esac
try() { # HEADER FLAGS
  n=$((n + 1))
  # shellcheck disable=SC2086 # flags are words
  echo "#include <$1>" | "$compiler" -x c++ -std=c++17 -Wall -Wextra -Werror $2 \
    -I "$source/include" -fsyntax-only - || {
    echo "$compiler $2: $1"
    failed=1
  }
}
cd "$source/include" || exit 1
for header in tenon/*.h tenon/kit/*.h tenon/experimental/*.h; do
  case $header in
  */gpu_mma.h) ;; # a program in CUDA C++
  */*_avx2.h | */*_avx512.h | */*_neon.h | */*_rvv.h | */*_x86.h) ;; # come with simd.h, dot_simd.h
  *simd*.h) for flags in "${vectors[@]}"; do try "$header" "$flags"; done ;;
  *) try "$header" "" ;;
  esac
done
echo "$n compilations"
exit $failed
