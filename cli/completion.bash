# Completion of the command tenon for bash: subcommands, options as --help lists them, files.
_tenon() {
  local tenon=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=$("$tenon" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
  elif [[ $word == -* ]]; then
    words=$("$tenon" "${COMP_WORDS[1]}" --help 2>/dev/null |
      sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p')
  elif [ "${COMP_WORDS[1]}" = plugin ] && [ "$COMP_CWORD" -eq 2 ]; then
    words='list info vet'
  elif [ "${COMP_WORDS[1]}" = op ] && [ "$COMP_CWORD" -eq 2 ]; then
    words='run info'
  elif [[ ${COMP_WORDS[1]} == ops || ${COMP_WORDS[1]} == op && $COMP_CWORD -eq 3 ||
    ${COMP_WORDS[1]}${COMP_WORDS[2]} == newkernel && $COMP_CWORD -eq 3 ]]; then
    words=$("$tenon" ops 2>/dev/null | sed -n '2,$s/^\([A-Za-z][^ ]*\)  .*/\1/p')
  elif [ "${COMP_WORDS[1]}" = new ] && [ "$COMP_CWORD" -eq 2 ]; then
    words="op kernel"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _tenon tenon
