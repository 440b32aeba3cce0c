# What the tests here share. $tenon, $work and $failures are the caller's.
rm -rf "$work" && mkdir -p "$work" || exit 1
work=$(cd "$work" && pwd)
export XDG_CACHE_HOME=$work/cache TENON_MODULE_CACHE=$work/modules
failures=0
# says CODE PATTERN ARGUMENTS...: runs tenon; its exit status, and a line of what it says.
says() {
  local code=$1 pattern=$2 got out
  shift 2
  out=$(timeout 300 "$tenon" "$@" 2>&1)
  got=$?
  if [ $got -ne "$code" ] || ! grep -qE -- "$pattern" <<<"$out"; then
    echo "FAILED: ${BAD:+BAD=$BAD }$*: exit status $got, wanted $code and a line like: $pattern"
    echo "$out"
    failures=$((failures + 1))
  fi
}
# same ARGUMENTS...: runs the model on the CPU, then with ARGUMENTS, and compares.
same() { # MODEL ARGUMENTS...
  local model=$1
  shift
  rm -rf "$work/out"
  "$tenon" run "$model" --random=7 --output "$work/out" >/dev/null 2>&1 || failures=$((failures \
  + 1))
  says 0 '^equal' compare "$model" --random=7 --with "$work/out" "$@"
}
finish() {
  echo "$failures failures"
  [ $failures -eq 0 ]
  exit
}
