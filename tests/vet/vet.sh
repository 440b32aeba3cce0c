#!/bin/bash
# Each way in which bad.c can misbehave must be found by `tenon plugin vet`, which itself never
# crashes; and nothing is found where there is nothing.
# usage: vet.sh TENON BAD.SO SANITIZED(0|1)
set -uo pipefail
tenon=$1 plugin=$2 sanitized=$3 failures=0 checks=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# finds NAME TEXT [OPTION...]: misbehaving as NAME, the report has a line that matches TEXT, and the
# exit status is 1.
finds() {
  local name=$1 text=$2 out code
  shift 2
  [ "$sanitized" = 0 ] || # which end the process before it crashes
    text=${text//crashed with SIGSEGV/(crashed with SIGSEGV|ended the process)}
  out=$(TENON_TEST_BAD=$name "$tenon" plugin vet "$plugin" --timeout 20 "$@" 2>/dev/null)
  code=$?
  checks=$((checks + 1))
  grep -qE -- "$text" <<<"$out" || fail "$name: no line matches $text in:
$out"
  [ "$code" = 1 ] || fail "$name: exit status $code"
}
# What sanitizers see first, or make impossible to see, they report themselves.
plain() { [ "$sanitized" = 1 ] || finds "$@"; }

out=$("$tenon" plugin vet "$plugin") || fail "the good plug-in is not fit: $out"
grep -q '^bad: fit: [0-9]* tests passed, 0 breaches' <<<"$out" || fail "the good plug-in: $out"

finds constructor 'bad.so: descriptor, loading: crashed with SIGSEGV in dlopen\(\)'
finds constructor-files 'process, files: it breaks rules, but closes or uses files'
finds destructor 'crashed with SIGSEGV in dlclose\(\)' --only init
finds query 'loading: crashed with SIGSEGV in tn_plugin_query\(\)'
finds query-old 'crashed with SIGSEGV in tn_plugin_query\(\) for an ABI of the past' --only init
finds query-changes 'tn_plugin_query, loading: does not answer the same' --only init
plain query-malloc 'tn_plugin_query, loading: allocates memory' --only init

finds init 'init and shutdown, once: crashed with SIGSEGV in init\(\)' --only init
finds init-fails 'init and shutdown, once: init\(\) fails without options: .*no licence' --only init
finds init-exits 'once: ended the process in init\(\) with exit code 0' --only init
finds init-hangs 'once: hangs in init\(\): ended after 1 s' --only init --timeout 1
finds init-leaks 'once: .*1 blocks of the host.s memory are not given back by shutdown' --only init
plain init-malloc 'many times: memory of malloc grows by 1[0-9]+ bytes' --only init
finds init-once 'two runtimes at once: init\(\) fails' --only init
finds init-status 'failing allocation: .*init\(\) answers TN_ERR_INTERNAL' --only init
finds init-unchecked 'failing allocation: crashed with SIGSEGV in init\(\)' --only init
finds init-thread 'init and shutdown, once: starts threads: 1' --only init
finds threads-stay 'init and shutdown, once: starts threads: 1' --only init
out=$(TENON_TEST_BAD=threads "$tenon" plugin vet "$plugin") ||
  fail "a plug-in that says that it makes threads: $out"
finds init-forks 'starts processes that it leaves behind' --only init
finds init-daemon 'starts processes that it leaves behind' --only init
out=$(TENON_TEST_BAD=init-fails "$tenon" plugin vet "$plugin")
[ "$(grep -c . <<<"$out")" = 3 ] || fail "a plug-in that cannot be used is tried nevertheless: $out"
finds notify 'told of events: crashed with SIGSEGV in notify\(\) of event 2' --only init
finds notify-new 'told of events: crashed with SIGSEGV in notify\(\) of event 9999' --only init
finds shutdown 'once: crashed with SIGSEGV in shutdown\(\)' --only init

finds infer-scalar \
  "op 'test::Scaled', inference of .* with scalars: crashed with SIGSEGV in infer\(\)"
finds infer-attr 'with attributes of 2\^63-1: crashed with SIGSEGV in infer\(\)'
finds infer-status 'with scalars: for scalars: .*it answered 7, which is no status'
finds infer-impure 'inference is not pure: output y is'
finds infer-writes 'inference changes the attributes'
finds infer-call 'inference changes its call'
finds flops-output 'flops\(\) changes the type of output 0'
finds infer-huge "'y' has [0-9]* bytes, a test has no more than"
finds case-huge "'x' has 4000000000000 bytes, a test has no more than"
finds infer-loops "op 'test::Scaled', inference of .*: hangs in infer\(\)" --timeout 1

finds unload-shared \
  'unloading .*: crashed with SIGSEGV in a session, after another runtime has unloaded the' \
  --only test::Scaled

kernel='--only scaled_f32'
finds refuse-call 'refuse\(\) changes its call' $kernel
finds refuse-input 'refuse\(\) changes the type of input 0' $kernel
finds refuse "kernel 'scaled_f32', .*: crashed with SIGSEGV in refuse\(\)" $kernel
finds plan "kernel 'scaled_f32', .*: crashed with SIGSEGV in plan\(\), 2 threads" $kernel
finds plan-huge 'plan\(\) asks for much: 35184372088832 bytes of scratch' $kernel
finds plan-differs 'plan\(\) answers something else the second time' $kernel
finds plan-fails 'plan\(\) fails: no such plan' $kernel
finds prepare-leaks '1 blocks of the host.s memory are not given back' $kernel
plain prepare-malloc 'repeated: memory of malloc grows by 1[0-9]+ bytes with each plan' $kernel
plain prepare-malloc-large 'repeated: memory of malloc grows by 1[0-9]{6} bytes' $kernel
finds prepare-unchecked 'repeated: crashed with SIGSEGV in prepare\(\)' $kernel
finds run 'crashed with SIGSEGV in run\(\), 2 threads' $kernel
finds run-abort 'crashed with SIGABRT \(6\) in run\(\)' $kernel
finds run-hangs \
  '"x=T\[37\] a=1.5" T=f32: hangs in run\(\), 2 threads: ended after 1 s' $kernel --timeout 1
finds run-exits 'ended the process in run\(\), 2 threads with exit code 0' $kernel
finds run-past 'crashed with SIGSEGV in run\(\), .*0 bytes behind the end of y' $kernel
finds run-wrong 'y\[30\] is' $kernel
finds plan-in-place 'plan\(\) has in_place\[0\] 5, which is neither -1 nor an input' $kernel
finds plan-grain 'plan\(\) has a grain of -3' $kernel
finds plan-cost 'plan\(\) has a cost of -1 ns' $kernel
finds run-worker 'run\(\) as worker 2 writes to the scratch of another worker' $kernel
finds run-static 'while another session is inside of it: y\[' $kernel
finds run-closes 'process, files: it breaks rules, but closes or uses files' $kernel
finds run-input 'the call of run\(\): input 0 itself is changed' $kernel
finds run-output 'the call of run\(\): output 0 itself is changed, not only its data' $kernel
finds run-call 'the call of run\(\): it is changed' $kernel
finds run-rounds 'changes the floating-point modes' $kernel

finds signal 'changes the handler of SIGUSR2' $kernel
finds mask 'changes which signals are blocked: SIGUSR1' $kernel
finds locale 'changes the locale from C to C.UTF-8' $kernel
finds folder 'changes the working folder' $kernel
finds umask 'changes the mask of new files' $kernel
finds environment 'changes the environment variables' $kernel
finds file 'leaves files open' $kernel
finds limit 'changes a limit of the process' $kernel
finds timer 'leaves a timer running' $kernel
[ "$(nice)" = 19 ] || finds priority 'changes the priority of the process from [0-9]* to 19' $kernel
finds input-replaced 'replaces or changes open files that are not its own: descriptor 0' $kernel
finds closes-output 'closes files that are not its own' $kernel
finds forks-both 'forks, and both processes return from its callback' $kernel
finds forks-zombie 'starts processes, and does not wait for their end' $kernel
[ "$(uname -m)" != x86_64 ] || finds x87 'leaves its registers in use' $kernel

# What it writes, or says, does not reach the terminal as it is.
if [ "$sanitized" = 0 ]; then
  out=$(TENON_TEST_BAD=prints "$tenon" plugin vet "$plugin" $kernel 2>&1) || fail "prints: $out"
  grep -q 'output: writes [0-9]* bytes to standard .*: one ?\[2J two ? three ??? four' <<<"$out" ||
    fail "prints: $out"
fi
out=$(TENON_TEST_BAD=refuse-escapes "$tenon" plugin vet "$plugin" $kernel)
grep -q 'not checked: it takes no case .* one ?\[2J two ? three ??? four' <<<"$out" ||
  fail "refuse-escapes: $out"

finds probe \
  "format 'bad', .*: crashed with SIGSEGV in probe\(\), at 0 bytes behind the end of the file" \
  --only bad
finds probe-answer 'probe\(\) answers 1000' --only bad
finds read-leaks 'read\(\): 1 blocks of the host.s memory' --only bad

plain read-cut \
  'own file, cut short: crashed with SIGSEGV in read\(\) of the first 4 of its 12 bytes' --only bad
plain read-length 'its own file, cut short: crashed with SIGSEGV in read\(\)' --only bad
finds read-lends 'crashed with SIGSEGV in the host, which looks at constants of read' --only bad
finds write "format 'bad', write\(\): crashed with SIGSEGV in write\(\)" --only bad
finds write-wrong "its own file: read\(\) of what write\(\) made fails: .*is no model" --only bad
finds write-wrong "its own file: probe\(\) does not know what write\(\) made" --only bad
out=$(TENON_TEST_BAD=write-nothing "$tenon" plugin vet "$plugin" --only bad) || fail "write-nothing"
grep -q 'makes no file of a small graph: .*no such graphs' <<<"$out" || fail "write-nothing: $out"

# Names that a format hands over are any bytes; documents and terminals get text.
file=$(mktemp)
printf 'BAD1\4\0\0\0data' >"$file"
out=$(TENON_TEST_BAD=read-bytes "$tenon" info --plugin "$plugin" "$file")
grep -q '^k? *v??\[2J$' <<<"$out" || fail "read-bytes: $out"
if out=$(TENON_TEST_BAD=read-bytes "$tenon" info --plugin "$plugin" "$file" --json); then
  iconv -f UTF-8 -t UTF-8 <<<"$out" >/dev/null || fail "read-bytes, --json: no UTF-8"
  grep -q '"k?"' <<<"$out" || fail "read-bytes, --json: $out"
fi
rm -f "$file"

# Whoever ends the command ends all that it runs: the inner pipe is open until they are gone.
hanging=$(mktemp -u)
TENON_TEST_BAD=init-forks-hangs TENON_TEST_HANGING=$hanging timeout -s KILL 60 bash -c '
  out=$("$0" plugin vet "$1" --only init --timeout 100 2>&1 &
    until [ -e "$2" ]; do sleep 0.1; done
    kill $!)' "$tenon" "$plugin" "$hanging" ||
  fail "processes of a plug-in outlive the command that is ended"
[ -e "$hanging" ] || fail "init-forks-hangs: no process was made"
rm -f "$hanging"

# A process that a shell has started before it became the command is not the plug-in's.
out=$(bash -c 'sleep 100 >/dev/null 2>&1 & echo "process $!"
  exec "$0" plugin vet "$1" --only init' "$tenon" "$plugin") ||
  fail "a process of somebody else: $out"
kill "$(sed -n 's/^process //p' <<<"$out")" || fail "a process of somebody else was ended"

# The command's own manners.
out=$(TENON_TEST_BAD=probe-answer "$tenon" plugin vet "$plugin" --only bad --json) &&
  fail "--json: exit status 0"
grep -q '"fit":.*false' <<<"$out" || fail "--json: no verdict: $out"
grep -q '"part":.*"format .bad.' <<<"$out" || fail "--json: no breach: $out"
"$tenon" plugin vet "$plugin" --only nobody 2>/dev/null
[ $? = 3 ] || fail "--only of a part that is not there"
"$tenon" plugin vet "$plugin.none" 2>/dev/null
[ $? = 3 ] || fail "a file that is not there"
"$tenon" plugin vet 2>/dev/null
[ $? = 2 ] || fail "no file"
"$tenon" plugin vet "$plugin" --timeout 0 2>/dev/null
[ $? = 2 ] || fail "--timeout 0"
"$tenon" plugin vet "$0" >/dev/null
[ $? = 1 ] || fail "a file that is no library"
TENON_TEST_BAD=constructor "$tenon" plugin info "$plugin" >/dev/null
[ $? = 1 ] || fail "info of what crashes"
TENON_TEST_BAD=init "$tenon" plugin info "$plugin" |
  grep -q '^kernel scaled_f32' || fail "info runs init"

echo "$checks kinds of misbehaviour, $failures failures"
[ "$failures" -eq 0 ]
