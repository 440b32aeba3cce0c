#!/bin/bash
# Makes the plug-in header of the next minor version: every struct that has a head gets two more
# members. And the names that came with it, as a release would.
# usage: make.sh SOURCE-DIR OUT-DIR   (TENON_ABI and CC in the environment)
set -euo pipefail
source=$1 out=$2
mkdir -p "$out/tenon" "$out/registry"
awk '
  /^#define TN_ABI_MINOR / { $3++ }
  /^(typedef )?struct tn_[a-z_]+ \{$/ { growing = 0; started = NR }
  NR == started + 1 && /tn_head head;/ { growing = 1 }
  growing && /^\}/ { print "  uint64_t next;\n  const char *next_text;"; growing = 0; n++ }
  { print }
  END { if (n < 20) { print "only " n " structs grew" > "/dev/stderr"; exit 1 } }
' "$source/include/tenon/plugin.h" >"$out/plugin.h.new"
cmp -s "$out/plugin.h.new" "$out/tenon/plugin.h" || cp "$out/plugin.h.new" "$out/tenon/plugin.h"
"$TENON_ABI" probe "$out/tenon/plugin.h" >"$out/probe.c"
$CC -std=c11 -w -o "$out/probe" "$out/probe.c" && "$out/probe" >"$out/next.lock"
for released in "$source"/abi/plugin-*.lock; do
  "$TENON_ABI" compare "$released" "$out/next.lock"
done
"$TENON_ABI" names "$source/abi/plugin-1.0.lock" "$out/next.lock" >"$out/registry/abi_names.h"
touch "$out/stamp"
