#!/bin/bash
# Every relative link in the documents named on the command line leads to a file or folder. docs/ops
# is generated.
set -euo pipefail

bad=0
for document in "$@"; do
  folder=$(dirname "$document")
  while IFS= read -r link; do
    target=${link%%#*}
    case $target in '' | http*://* | ops | ops/* | docs/ops | docs/ops/*) continue ;; esac
    [ -e "$folder/$target" ] || { echo "$document: there is no $target"; bad=1; }
  done < <(awk '/^```/ { code = !code } !code' "$document" | grep -oE '\]\([^) ]+\)' |
    sed 's/^](//; s/)$//')
done
exit $bad
