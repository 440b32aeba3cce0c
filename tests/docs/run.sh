#!/bin/bash
# Does what a document tells its reader, in a copy of the source folder with Tenon installed in
# $HOME/tenon:
#   ```c file=NAME    (or cmake, yaml ...) becomes the file NAME
#   ```sh run         is run; a command that fails is an error
#   ```text output    has lines (or parts of lines) that the block before it must have printed
# All blocks of a document share one shell. `make` is only asked whether it has the targets: what it
# would build is the build that runs this test.
# usage: run.sh BUILD-DIR SOURCE-DIR WORK-DIR DOCUMENT
set -euo pipefail

build=$1 source=$2 work=$3 document=$4
rm -rf "$work" && mkdir -p "$work/home" "$work/bin" "$work/tree"
tar -C "$source" --exclude=./.git --exclude='./build*' --exclude='*/build' -cf - . |
  tar -C "$work/tree" -xf -
ln -s "$build" "$work/tree/build"
cmake --install "$build" --prefix "$work/home/tenon" >"$work/install.log"
printf '#!/bin/sh\nexec %s -n "$@" >/dev/null\n' "$(command -v make)" >"$work/bin/make"
chmod +x "$work/bin/make"

awk -v out="$work/printed" '
  /^```/ && !inside {
    inside = 1; kind = ""
    if ($0 ~ /^```sh run/) { kind = "run"; print "exec 3>&1 >" out " 2>&1" }
    else if ($0 ~ /^```text output/) { kind = "text"; print "expect <<\"END OF BLOCK\"" }
    else if (match($0, /file=[^ ]+/)) {
      kind = "text"
      print "cat >" substr($0, RSTART + 5, RLENGTH - 5) " <<\"END OF BLOCK\""
    }
    next
  }
  /^```/ {
    if (kind == "run") print "exec >&3 2>&1; cat " out
    if (kind == "text") print "END OF BLOCK"
    inside = 0
    next
  }
  inside && kind != "" { print }
' "$source/$document" >"$work/script"

{
  echo 'set -euo pipefail'
  echo "expect() { while IFS= read -r line; do"
  echo "  grep -qF -- \"\$line\" '$work/printed' ||"
  echo "    { echo \"not printed: \$line\"; exit 1; }; done; }"
  cat "$work/script"
} >"$work/all"
cd "$work/tree"
env HOME="$work/home" PATH="$work/bin:$PATH" CMAKE_GENERATOR=Ninja bash "$work/all" ||
  { echo "$document: the last block printed:"; cat "$work/printed"; exit 1; }
