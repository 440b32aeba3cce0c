#!/bin/bash
# Changes copies of plugin.h and tenon.h in every way that breaks plug-ins and programs, and in some
# that do not, and looks whether scripts/abi-lock says so: the struct, the member, what happened.
# usage: breaks.sh SOURCE-DIR WORK-DIR   (TENON_ABI and CC in the environment)
set -euo pipefail
source=$1 work=$2 failed=0 n=0
rm -rf "$work" && mkdir -p "$work"
number=$(sed -n 's/^#define TN_ABI_MINOR //p' "$source/include/tenon/plugin.h")

header=plugin.h # that is changed
path_of() { [ $header = plugin.h ] && echo "$work/$1.h" || echo "$work/$1/tenon/$header"; }
change() { # NAME SED-SCRIPT...: makes the copy; others than plugin.h have one of the next version
  local from=$source/include/tenon/$header
  mkdir -p "$work/$1/tenon"
  sed -E "$minor" "$source/include/tenon/plugin.h" >"$work/$1/tenon/plugin.h"
  cp "$source"/include/tenon/{graph,device,accelerator}.h "$work/$1/tenon/"
  sed -E "${@:2}" "$from" >"$(path_of "$1")"
  ! cmp -s "$from" "$(path_of "$1")" && return
  echo "$1: nothing was changed"
  failed=1
}
check() { "$source/scripts/abi-lock" check "$(path_of "$1")" >"$work/$1.said" 2>&1; }
breaks() { # NAME WORDS SED-SCRIPT...
  n=$((n + 1))
  change "$1" "${@:3}"
  if check "$1"; then
    echo "$1: passed, although it breaks plug-ins" && failed=1
  elif ! grep -qF -- "$2" "$work/$1.said"; then
    echo "$1: does not say '$2' but:" && head -n 5 "$work/$1.said" && failed=1
  fi
}
passes() { # NAME SED-SCRIPT...
  n=$((n + 1))
  change "$1" "${@:2}"
  check "$1" || { echo "$1: is refused:" && head -n 5 "$work/$1.said" && failed=1; }
}

minor="s/^#define TN_ABI_MINOR .*/#define TN_ABI_MINOR $((number + 1))/"
append='s/^\} tn_op;/  const char *more;\n} tn_op;/'

breaks inserted "tn_op.schema: moved from offset 24 to 32, because of more: members are only ever" \
  -e "$minor" -e 's/^  const char \*schema;/  const char *more;\n&/'
breaks removed "tn_kernel.source: is gone; ABI 1.$number has this member" \
  -e "$minor" -e '/^typedef struct tn_kernel \{/,/^\}/{/^  const char \*source;/d}'
breaks renamed "tn_op.doc: was renamed to text" -e "$minor" \
  -e 's/^  const char \*doc; /  const char *text; /'
breaks retyped "tn_accept.flags: was of type \`uint64_t\`, is \`int64_t\`" \
  -e "$minor" -e '/^typedef struct tn_accept \{/,/^\}/s/uint64_t flags;/int64_t flags;/'
breaks narrowed "tn_accept: 4 hidden bytes at its end" \
  -e "$minor" -e '/^typedef struct tn_accept \{/,/^\}/s/uint64_t flags;/uint32_t flags;/'
breaks swapped "tn_call.ctx: moved from offset 16 to 24" \
  -e "$minor" -e '/^typedef struct tn_call \{/,/^\}/{s/void \*ctx; /void *swap;/
s/void \*self; /void *ctx; /;s/void \*swap;/void *self;/}'
breaks constant "TN_ERR_SHAPE: was -7, is -70" -e "$minor" \
  -e 's/TN_ERR_SHAPE = -7/TN_ERR_SHAPE = -70/'
breaks enumerator "TN_BF16: was 4, is 5" -e "$minor" \
  -e 's/TN_F16, TN_BF16,/TN_F16, TN_F24, TN_BF16,/'
breaks enumerator_gone "TN_EVENT_RESUME: is gone; ABI 1.$number has this const" -e "$minor" \
  -e '/TN_EVENT_RESUME = 3/d'
breaks inline_function "tn_tensor_make: was " -e "$minor" \
  -e 's/tn_tensor_make\(uint32_t dtype, /&uint32_t kind, /'
breaks macro_value "TN_CHANNELS_LAST: was 1099511627776" -e "$minor" \
  -e 's/\(UINT64_C\(1\) << 40\)/(UINT64_C(1) << 44)/'
breaks macro_function "TN_MASK(8): was 256, is 512" \
  -e "$minor" -e 's/^#define TN_MASK\(dtype\) .*/#define TN_MASK(dtype) (UINT64_C(2) << (dtype))/'
breaks macro_parameters "TN_RULE: took (id, ...), takes (name, id, ...)" \
  -e "$minor" -e 's/^#define TN_RULE\(id, /#define TN_RULE(name, id, /'
breaks signature "tn_kernel.run: had the signature \`tn_status (*)(const tn_call *, uint32_t," \
  -e "$minor" -e 's/int64_t begin, int64_t end,$/int32_t begin, int64_t end,/'
breaks service "tn_host.alloc: had the signature" -e "$minor" \
  -e 's/void \*\(\*alloc\)\(void \*ctx, /&uint32_t kind, /'
breaks query "tn_plugin_query: was " -e "$minor" \
  -e 's/tn_plugin_query\(uint32_t host_major, /tn_plugin_query(uint64_t host_major, /'
breaks structure "tn_region: is gone; ABI 1.$number has this struct" -e "$minor" \
  -e 's/tn_region/tn_area/g'
breaks frozen "tn_str: has no head, so nobody can tell how long it is: it is frozen" \
  -e "$minor" -e 's/^(typedef struct tn_str \{.*int64_t size;)/\1 int64_t more;/'
breaks array "tn_tensor.shape: had 64 bytes, has 80" -e "$minor" \
  -e 's/TN_MAX_RANK = 8,/TN_MAX_RANK = 10,/'
breaks padding "tn_op.more: 4 hidden bytes before it" \
  -e "$minor" -e 's/^\} tn_op;/  uint32_t less;\n  const char *more;\n} tn_op;/'
breaks odd "tn_op: 4 hidden bytes at its end" -e "$minor" \
  -e 's/^\} tn_op;/  uint32_t less;\n} tn_op;/'
breaks width "type 'long' is not one of fixed width" -e "$minor" \
  -e 's/^\} tn_op;/  long more;\n} tn_op;/'
breaks enum_member "type 'enum' is not one of fixed width" \
  -e "$minor" -e 's/^\} tn_op;/  enum tn_color color;\n} tn_op;/'
breaks same_version \
  "tn_op.more: is new, but the header still says ABI 1.$number, which has a lock" -e "$append"
breaks downgrade "is ABI 0.9, which does not follow 1.$number" \
  -e 's/^#define TN_ABI_MAJOR 1/#define TN_ABI_MAJOR 0/' \
  -e 's/^#define TN_ABI_MINOR .*/#define TN_ABI_MINOR 9/'

passes appended -e "$minor" -e "$append"
passes appended_flag -e "$minor" \
  -e 's/^  TN_EVENT_FORK = 4 .*/  TN_EVENT_FORK = 4,\n  TN_EVENT_EXIT = 5/'
passes appended_dtype -e "$minor" -e 's/^  TN_DTYPE_COUNT/  TN_F3E1M1,\n&/'
passes appended_struct -e "$minor" \
  -e 's/^typedef struct tn_option \{/typedef struct tn_new {\n  tn_head head;\n} tn_new;\n&/'
passes later_comment -e "$minor" -e 's/Dense in its layout/Compact/'

# ---- what vendors write ----
header=device.h
breaks driver_inserted "tn_device_driver.close: moved from offset 56 to 64, because of more" \
  -e 's/^  void \(\*close\)\(const tn_device_call \*c, void \*device\)/  void *more;\n&/'
breaks text "TN_LANGUAGE_HOST_KERNEL: was \`host-kernel\`, is \`cpu-kernel\`" \
  -e "$minor" -e 's/"host-kernel"/"cpu-kernel"/'
passes driver_appended -e 's/^\} tn_dispatch;/  const char *more;\n} tn_dispatch;/'
header=accelerator.h
breaks claim_retyped "tn_claim.group: was of type \`int32_t\`, is \`uint32_t\`" \
  -e 's/^  int32_t group; /  uint32_t group; /'
passes claim_appended -e 's/^\} tn_claim;/  const char *more;\n} tn_claim;/'

# ---- tenon.h: programs hold its structs, and have its numbers and signatures built in ----
header=tenon.h
breaks host_inserted "tn_plan_info.arena_bytes: moved from offset 16 to 24, because of more" \
  -e 's/^  uint64_t arena_bytes; /  uint64_t more;\n&/'
breaks host_removed "tn_step_info.plugin: is gone; ABI 1.$number has this member" \
  -e '/^  const char \*plugin; /d'
breaks host_retyped "tn_model_options.max_plans: was of type \`int32_t\`, is \`uint32_t\`" \
  -e 's/^  int32_t max_plans;/  uint32_t max_plans;/'
breaks host_constant "TN_MODEL_GRAPH_ONLY: was 2, is 4" \
  -e 's/^      2, (.. read the file)/      4, \1/'
breaks host_constant_gone "TN_DIAG_NOTE: is gone; ABI 1.$number has this const" \
  -e 's/, TN_DIAG_NOTE = 2//'
breaks host_frozen "tn_op_arg: has no head, so nobody can tell how long it is: it is frozen" \
  -e 's/^\} tn_op_arg;/  uint64_t more;\n} tn_op_arg;/'
breaks host_padding "tn_folder_info: 4 hidden bytes at its end" \
  -e 's/^\} tn_folder_info;/  uint32_t more;\n} tn_folder_info;/'
breaks host_callback "tn_allocator.alloc: had the signature" \
  -e 's/\(\*alloc\)\(void \*self, uint64_t bytes\)/(*alloc)(void *self, uint32_t bytes)/'
breaks host_signature "tn_session_run: was \`tn_status (tn_session *, tn_diag *)\`" \
  -e 's/tn_session_run\(tn_session \*session, /&uint32_t flags, /'
breaks host_function_gone "tn_list_size: is gone; ABI 1.$number has this function" \
  -e '/^TN_API int64_t tn_list_size/d'
breaks host_width "type 'size_t' is not one of fixed width" \
  -e 's/^\} tn_plan_info;/  size_t more;\n} tn_plan_info;/'
passes host_appended -e 's/^\} tn_plan_info;/  uint64_t more;\n} tn_plan_info;/'
passes host_appended_constant -e 's/TN_DIAG_NOTE = 2/&, TN_DIAG_HINT = 3/'
passes host_function -e 's/^TN_API int64_t tn_list_size/TN_API int64_t tn_more(void);\n&/'
passes host_comment -e 's/keeps$/has/'
# Under the version of the lock:
minor="s/^#define TN_ABI_MINOR .*/#define TN_ABI_MINOR $number/"
breaks host_same_version "tn_plan_info.more: is new, but the header still says ABI 1.$number" \
  -e 's/^\} tn_plan_info;/  uint64_t more;\n} tn_plan_info;/'

echo "$n changes tried"
exit $failed
