#!/bin/bash
# The manual page has no mistakes, and names every subcommand and every option that several of them
# take.
# usage: manual.sh TENON PAGE
set -uo pipefail
tenon=$1 page=$2 failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

if command -v mandoc >/dev/null; then
  said=$(mandoc -Tlint -Wwarning "$page" 2>&1) || fail "$said"
elif command -v man >/dev/null && command -v groff >/dev/null; then
  said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man \
    --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
  [ -z "$said" ] || fail "$said"
else
  echo "skipped: neither mandoc nor man and groff are here"
  exit 77
fi

for command in $("$tenon" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
  grep -q "^\.It Cm $command\>" "$page" || fail "the page does not name the subcommand $command"
done
for option in $("$tenon" run --help |
  sed -n '/^options of inputs:/,/^examples:/s/^ .*--\([a-z-]*\).*/\1/p'); do
  grep -q "Fl Fl $option\>" "$page" || fail "the page does not name --$option"
done
[ "$failures" -eq 0 ] && echo "the page is right"
