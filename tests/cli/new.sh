#!/bin/bash
# tenon new: good and bad names, folders that are there, failure half-way, what is written.
. "$(dirname "$0")/kit.sh"
cd "$work" || exit 1

says 0 'com.acme::FastGelu is begun in fast_gelu' new op FastGelu --domain com.acme
for file in CMakeLists.txt Makefile README.md fast_gelu.yaml fast_gelu.c fast_gelu_test.c; do
  checks=$((checks + 1))
  [ -s "fast_gelu/$file" ] || fail "fast_gelu/$file is missing"
done
checks=$((checks + 1))
! grep -rnE '@[A-Z_]+@' fast_gelu || fail "a word was not replaced"
grep -q 'tenon_add_plugin(acme_fast_gelu ' fast_gelu/CMakeLists.txt || fail "no acme_fast_gelu"
grep -q '^- op: com.acme::FastGelu$' fast_gelu/fast_gelu.yaml || fail "no com.acme::FastGelu"
says 0 'com.example::Foo' new op Foo --dir elsewhere
grep -q 'com.example::Foo' elsewhere/foo.yaml || fail "no com.example::Foo"

# An operator that there is: schema, attributes and arguments are its.
says 0 'Softmax is begun in softmax_f32_mine' new kernel Softmax softmax_f32_mine
checks=$((checks + 4))
! grep -rnE '@[A-Z_]+@' softmax_f32_mine || fail "a word was not replaced"
grep -q '^  since: 13$' softmax_f32_mine/softmax_f32_mine.yaml || fail "no version"
grep -q '^      arg_meta: {input: f32, output: f32}$' softmax_f32_mine/softmax_f32_mine.yaml ||
  fail "no arg_meta"
grep -q 'const tn_softmax_attrs \*a = call->attrs;' softmax_f32_mine/softmax_f32_mine.c ||
  fail "no attributes"
says 0 '' new kernel ai.onnx::Max max_f32_avx2
grep -q 'const tn_tensor \*const \*in_data_0 = call->inputs + 0;' max_f32_avx2/max_f32_avx2.c ||
  fail "no list"
grep -q '^      isa: avx2$' max_f32_avx2/max_f32_avx2.yaml || fail "no instruction set"
! grep -q isa softmax_f32_mine/softmax_f32_mine.yaml || fail "an instruction set"

# What is there stays as it is: folders, files, links, operators, kernels.
mkdir there && echo kept >there/file && echo kept >file && ln -s nowhere link
for folder in there file link fast_gelu; do
  says 3 "$folder: is there already" new op FastGelu --dir "$folder"
  says 3 "$folder: is there already" new kernel Softmax softmax_f32_more --dir "$folder"
done
checks=$((checks + 1))
[ "$(ls there)$(cat there/file file)$(readlink link)" = "file"$'kept\nkept'"nowhere" ] ||
  fail "something was touched"
says 1 'there is a kernel softmax_f32_c already' new kernel Softmax softmax_f32_c
says 1 "there is no operator 'Sotfmax'" new kernel Sotfmax softmax_f32_more
says 1 'always replaced by other operators' new kernel Transpose transpose_f32_more

# Names.
for name in '' 7up a-b 'a b' _x a/b ../x é "$(printf 'x%.0s' {1..70})"; do
  says 2 'is no name for an operator' new op "$name"
done
for domain in '' Acme com..acme com.acme. ai.onnx tenon 'a b' a/b 7x; do
  says 2 'is no domain of yours' new op Foo --domain "$domain"
done
for name in '' main 7_up a-b softmax_ Softmax_f32 ../a_b; do
  says 2 'is no name for a kernel' new kernel Softmax "$name"
done
# For GPUs, and accelerators.
says 0 'Softmax is begun in softmax_mine_gpu' new kernel Softmax softmax_mine_gpu --device gpu
checks=$((checks + 2))
! grep -rnE '@[A-Z_]+@' softmax_mine_gpu || fail "a word was not replaced"
grep -q '^KERNEL(softmax_mine, ' softmax_mine_gpu/softmax_mine_gpu.c || fail "no program"
says 0 'zap is begun in zap' new accelerator zap
checks=$((checks + 1))
! grep -rnE '@[A-Z_]+@' zap || fail "a word was not replaced"
says 2 "'Zap' is no name for an accelerator" new accelerator Zap
says 2 '--device gpu is for new kernels; this is none' new accelerator zip --device gpu
says 2 '--device gpu is for new kernels; those of other devices' new kernel Softmax soft_mine \
  --device cpu
says 2 'tenon new needs op, kernel or accelerator' new
says 2 "makes an op, a kernel or an accelerator, not 'thing'" new thing X
says 2 'it is `tenon new op NAME`' new op
says 2 'it is `tenon new kernel OP NAME`' new kernel Softmax
says 2 'op NAME' new op A B
says 2 'domain is for new operators' new kernel Softmax softmax_f32_more --domain com.acme

# A folder that cannot be made; a file that cannot be written leaves nothing.
says 3 'nowhere/deep' new op Foo --dir nowhere/deep
before=$(ls -A)
checks=$((checks + 1))
(ulimit -f 0; trap '' XFSZ; "$tenon" new op Foo --dir full >said 2>&1) && fail "no room, no error"
rm -f said
[ "$(ls -A)" = "$before" ] || fail "something half-written is left: $(ls -A)"
finish
