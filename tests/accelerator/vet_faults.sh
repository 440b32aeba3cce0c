#!/bin/bash
# usage: vet_faults.sh TENON WORK BAD.so
# What `plugin vet` says of each fault of a compiler and a dispatcher.
set -uo pipefail
tenon=$1 work=$2 bad=$3
. "$(dirname "$0")/common.sh"
export TENON_MODULE_CACHE=
# vetting asks the compiler, compiles what it claims, loads that and runs it
b="^bad: compiler 'bad', a chain for 'bad-npu': "
says 0 "^bad: fit: .* 0 notes" plugin vet "$bad"
BAD=partition says 0 "partition\(\) fails, and claims nothing: it does not like" plugin vet "$bad"
BAD=partition-crash says 1 "${b}crashed with SIGSEGV in partition\(\)" plugin vet "$bad"
BAD=partition-status says 1 "${b}partition\(\): it answered 12345" plugin vet "$bad"
BAD=edit-type says 1 "${b}partition\(\): it edits a graph that it may only read" plugin vet "$bad"
BAD=free says 1 "${b}partition\(\) gives memory to host->free\(\) that is not" plugin vet "$bad"
BAD=partition-leak says 1 "${b}partition\(\) takes memory of the host each time" plugin vet "$bad"
BAD=partition-list says 1 "${b}partition\(\) changes the list of claims" plugin vet "$bad"
BAD=partition-wavers says 1 "partition\(\) claims Add, and the next time it does not" \
  plugin vet "$bad"
BAD=partition-late says 1 "crashed with SIGSEGV.* of claims, which is read-only" plugin vet "$bad"
BAD=reason-freed says 1 "declines Add with a reason that is no text, or does not stay" \
  plugin vet "$bad"
BAD=reason-lines says 1 "declines Add with a reason that is no text, or does not stay" \
  plugin vet "$bad"
BAD=cost says 1 "partition\(\) claims Add .* costs of -1 ns" plugin vet "$bad"
BAD=constants says 1 "${b}partition\(\) changes constants of the graph" plugin vet "$bad"
BAD=compile-constants says 1 "${b}compile\(\) changes constants of its parts" plugin vet "$bad"
b="^bad: compiler 'bad', two inputs for 'bad-npu': "
BAD=group says 1 "${b}partition\(\) claims Add with group -7" plugin vet "$bad"
BAD=crash says 1 "${b}crashed with SIGSEGV in compile\(\)" plugin vet "$bad"
BAD=exit says 1 "${b}ended the process in compile\(\) with exit code 3" plugin vet "$bad"
BAD=hang says 1 "${b}hangs in compile\(\): ended after 5 s" plugin vet "$bad" --timeout 5
BAD=fail says 0 "^note: .*compile\(\) fails: no such thing" plugin vet "$bad"
BAD=status says 1 "${b}compile\(\): it answered 12345" plugin vet "$bad"
BAD=target says 1 "${b}compile\(\): its module is for target 'bad-npu-9'" plugin vet "$bad"
BAD=dtype says 1 "${b}.*output 0 is f64\[\], its part has f32\[4,4\]" plugin vet "$bad"
BAD=release says 1 "${b}crashed with SIGABRT \(6\) in release\(\)" plugin vet "$bad"
BAD=open says 0 "^note: .*were made, but not run: .*libbad.so.1 cannot be loaded" plugin vet "$bad"
BAD=load-crash says 1 "${b}crashed with SIGSEGV in load\(\)" plugin vet "$bad"
BAD=port says 1 "${b}.*port 0 of entry 0 wants an alignment of 48" plugin vet "$bad"
BAD=run says 1 "${b}run\(\) fails: accelerator 'bad-npu': the device is gone" plugin vet "$bad"
BAD=run-crash says 1 "${b}crashed with SIGSEGV in run\(\)" plugin vet "$bad"
BAD=run-hang says 1 "${b}hangs in run\(\): ended after 5 s" plugin vet "$bad" --timeout 5
BAD=wrong says 1 "${b}run\(\): element 0 of output 0 is .*, the CPU has" plugin vet "$bad"
BAD=nan says 1 "${b}run\(\): element 0 of output 0 is -?nan, the CPU has" plugin vet "$bad"
BAD=open-status says 1 "${b}open\(\): .*it answered 7" plugin vet "$bad"
BAD=tensor says 1 "${b}run\(\) changes the tensor of output 0" plugin vet "$bad"
BAD=leak says 1 "${b}run\(\) takes memory of the host each time" plugin vet "$bad"
BAD=short says 1 "${b}run\(\) does not write element 0 of output 0" plugin vet "$bad"
BAD=half says 1 "${b}run\(\) does not write element 8 of output 0" plugin vet "$bad"
BAD=late says 1 "${b}crashed with SIGSEGV .*behind run\(\), at .* output, which is read-only" \
  plugin vet "$bad"
BAD=keeps-input says 1 "${b}crashed .* in wait\(\), at byte 0 of input, which is not there" \
  plugin vet "$bad"
BAD=keeps-output says 1 "${b}crashed .* in wait\(\), at byte 0 of output, which is not there" \
  plugin vet "$bad"
BAD=longer says 1 "${b}.*output 0 is f32\[7\], its part has f32\[4,4\]" plugin vet "$bad"
BAD=shorter says 1 "${b}.*output 0 is f32\[1\], its part has f32\[4,4\]" plugin vet "$bad"
BAD=unsized says 1 "${b}compile\(\): port 2 of an entry has no type of known size" plugin vet "$bad"
BAD=behind says 1 "${b}.* in run\(\), at 0 bytes behind the end of output" plugin vet "$bad"
BAD=input says 1 "${b}.* in run\(\), at byte 0 of input, which is read-only" plugin vet "$bad"
# run() in halves
BAD=halves says 0 "^bad: fit: .* 0 notes" plugin vet "$bad"
BAD=halves-start says 1 "${b}start\(\) or wait\(\) fails: accelerator 'bad-npu': it is busy" \
  plugin vet "$bad"
BAD=halves-start-crash says 1 "${b}crashed with SIGSEGV in start\(\)" plugin vet "$bad"
BAD=halves-wait says 1 "${b}start\(\) or wait\(\) fails: .*it has fallen asleep" plugin vet "$bad"
BAD=halves-wait-crash says 1 "${b}crashed with SIGSEGV in wait\(\)" plugin vet "$bad"
BAD=halves-wait-hang says 1 "${b}hangs in wait\(\): ended after 1 s" plugin vet "$bad" --timeout 1
BAD=halves-late says 1 "${b}wait\(\) does not write element 0 of output 0" plugin vet "$bad"
BAD=unload-crash says 1 "${b}crashed with SIGSEGV in unload\(\)" plugin vet "$bad"
finish
