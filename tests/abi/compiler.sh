#!/bin/sh
# Compiles tenon/plugin.h as every language that plug-ins may be written in, with warnings as
# errors, by one compiler, whichever builds Tenon. Exit status 77: it is not there.
# usage: compiler.sh COMPILER SOURCE-DIR
compiler=$1 source=$2 failed=0 n=0
if ! command -v "$compiler" >/dev/null; then
  echo "skipped: there is no $compiler on this machine"
  exit 77
fi
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
try() { # STANDARD FILE FLAG...
  standard=$1 file=$2
  shift 2
  n=$((n + 1))
  "$compiler" "-std=$standard" $strict "$@" -DABI_NAME=abi_use -DABI_QUERY=abi_query \
    -I "$source/include" -I "$source/tests/abi" -fsyntax-only "$source/tests/abi/$file" || {
    echo "$compiler -std=$standard: $file"
    failed=1
  }
}
case $compiler in
*++) try c++17 use_cpp.cpp && try c++17 by_macros_cpp.cpp ;;
*)
  for standard in c99 c11 c17; do
    for file in use.c by_macros.c; do
      try $standard $file -Wstrict-prototypes -Wmissing-prototypes
    done
  done
  ;;
esac
"$compiler" --version | head -n 1
echo "$n compilations"
exit $failed
