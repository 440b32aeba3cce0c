#!/bin/bash
# Makes the plug-in header of the next minor version: every struct that has a head gets two more
# members. Checks that this is an append, and writes the name that plug-ins of it may need.
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
' "$source/include/tenon/plugin.h" >"$out/plugin.h"
cmp -s "$out/plugin.h" "$out/tenon/plugin.h" || cp "$out/plugin.h" "$out/tenon/plugin.h"
"$source/scripts/abi-lock" check "$out/tenon/plugin.h"
echo '"tn_host.next",' >"$out/registry/abi_names.h"
touch "$out/stamp"
