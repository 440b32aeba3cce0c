#!/bin/bash
# Makes the plug-in headers of the next minor version: every struct that has a head gets two more
# members. Checks that this is an append, and writes the name that plug-ins of it may need.
# usage: make.sh SOURCE-DIR OUT-DIR   (TENON_ABI and CC in the environment)
set -euo pipefail
source=$1 out=$2
mkdir -p "$out/tenon" "$out/registry"
grow() { awk '
  /^#define TN_ABI_MINOR / { $3++ }
  /^(typedef )?struct tn_[a-z_]+ \{$/ { growing = 0; started = NR }
  NR == started + 1 && /tn_head head;/ { growing = 1 }
  growing && /^\}/ { print "  uint64_t next;\n  const char *next_text;"; growing = 0; n++ }
  { print }
  END { if (n < least) { print "only " n " structs grew" > "/dev/stderr"; exit 1 } }
' least="$2" "$source/include/tenon/$1" >"$out/$1"; }
set -- plugin.h 13 graph.h 9 device.h 11 accelerator.h 8 # at least so many structs
while [ $# -gt 0 ]; do
  header=$1
  grow "$header" "$2"
  shift 2
  cmp -s "$out/$header" "$out/tenon/$header" || cp "$out/$header" "$out/tenon/$header"
done
for header in plugin graph device accelerator; do
  "$source/scripts/abi-lock" check "$out/tenon/$header.h"
done
echo '"tn_host.next",' >"$out/registry/abi_names.h"
touch "$out/stamp"
