#!/bin/bash
# usage: opencl_cases.sh TENON CHECK FAMILY...|all
# The cases of operators in the family files, as models on the first OpenCL device, give what the
# references give; each family has kernels there that take some.
set -uo pipefail
tenon=$1 check=$2
shift 2
if ! said=$("$tenon" device info opencl:0 2>&1); then
  echo "skipped: no OpenCL device (PoCL is one: pocl-opencl-icd): $said"
  exit 77
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$1" = all ]; then
  mapfile -t files < <(ls "$root"/ops/*/*_gpu.c)
  set --
  for file in "${files[@]}"; do set -- "$@" "$(basename "$file" _gpu.c)"; done
fi
failures=0
for family in "$@"; do
  result=$("$check" --device opencl:0 --small --family "$(ls "$root"/ops/*/"$family".yaml)") ||
    failures=$((failures + 1))
  echo "$family: $result"
  [[ $result =~ (^|$'\n')[1-9][0-9]*\ passed ]] || failures=$((failures + 1))
done
[ $failures -eq 0 ]
