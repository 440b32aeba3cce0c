#!/bin/bash
# Completion in bash: subcommands, then options; the words come from --help.
. "$(dirname "$0")/kit.sh"
. "$here/../../cli/completion.bash"

# completes WORD... : what the last word can become is in $replies.
completes() {
  COMP_WORDS=("$tenon" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _tenon
  replies=" ${COMPREPLY[*]} "
  checks=$((checks + 1))
}
completes ""
[[ $replies == *" run "*" explain "* ]] || fail "subcommands: $replies"
completes ex
[ "$replies" = " explain " ] || fail "ex becomes $replies"
completes bench --re
[ "$replies" = " --repeat --resize " ] || fail "bench --re becomes $replies"
completes run --
[[ $replies == *" --input "* && $replies == *" --threads "* && $replies == *" --help "* ]] ||
  fail "run -- becomes $replies"
completes plugin ""
[ "$replies" = " list info vet " ] || fail "plugin becomes $replies"
completes op ""
[ "$replies" = " run info " ] || fail "op becomes $replies"
completes op run Softp
[ "$replies" = " Softplus " ] || fail "op run Softp becomes $replies"
completes new ""
[ "$replies" = " op kernel " ] || fail "new becomes $replies"
completes new op --d
[ "$replies" = " --domain --dir --device " ] || fail "new op --d becomes $replies"
completes new kernel Softp
[ "$replies" = " Softplus " ] || fail "new kernel Softp becomes $replies"
completes run mod
[ "$replies" = "  " ] || fail "files are left to bash: $replies"
finish
