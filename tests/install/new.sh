#!/bin/bash
# From nothing to an operator that is tested and timed, with what is installed and nothing else: by
# CMake and by make; then the same for a kernel of an operator that is there. Says how long each
# took by the clock, and fails if one took five minutes.
# usage: new.sh BUILD-DIR WORK-DIR CMAKE
set -euo pipefail

build=$1 work=$2 cmake=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$cmake" --install "$build" --prefix "$work/tenon" >install.log
prefix=$work/tenon
export PATH=$prefix/bin:$PATH CMAKE_GENERATOR=Ninja
fail() { echo "FAILED: $*"; exit 1; }
[ "$(command -v tenon-gen)" = "$prefix/bin/tenon-gen" ] || fail "no tenon-gen is installed"

# took NAME COMMAND: runs the function, and says how long it took.
took() {
  local name=$1 begin end
  shift
  begin=$(date +%s%N)
  "$@" >"$name.log" 2>&1 || { cat "$name.log"; fail "$name"; }
  end=$(date +%s%N)
  local ms=$(((end - begin) / 1000000))
  echo "$name: $((ms / 1000)).$(printf %03d $((ms % 1000))) s"
  [ "$ms" -lt 300000 ] || fail "$name took five minutes"
}

op_by_cmake() {
  tenon new op Affine --domain com.acme
  cmake -S affine -B affine/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-Werror"
  cmake --build affine/build
  ctest --test-dir affine/build --output-on-failure
  cmake --build affine/build --target acme_affine_bench
}
took op_by_cmake op_by_cmake
grep -q '100% tests passed' op_by_cmake.log || fail "a test did not pass"
grep -qE 'affine_f32 .* scale=3 bench' op_by_cmake.log || fail "nothing was timed"
! grep -q 'Skipped' op_by_cmake.log || fail "a test was skipped"

# The tests can fail: a kernel that is wrong is found.
sed -i 's/scale \* x\[k\] + shift/scale * x[k] - shift/' affine/affine.c
cmake --build affine/build >>op_by_cmake.log
if ctest --test-dir affine/build >broken.log; then fail "a wrong kernel passes"; fi
grep -q 'acme_affine.check (Failed)' broken.log || fail "the harness did not see the wrong kernel"
grep -q 'acme_affine.use (Failed)' broken.log || fail "the program did not see the wrong kernel"

kernel_by_cmake() {
  tenon new kernel Softmax softmax_f32_mine
  cmake -S softmax_f32_mine -B softmax_f32_mine/build -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_FLAGS="-Werror"
  cmake --build softmax_f32_mine/build
  ctest --test-dir softmax_f32_mine/build
}
took kernel_by_cmake kernel_by_cmake
grep -q 'softmax_f32_mine_kernel.check.*Skipped' kernel_by_cmake.log ||
  fail "the test of a kernel that is not written is not shown as skipped"

# Skeletons for operators of all kinds compile: lists, optional inputs, several outputs, strings.
for op in Conv Max LSTM TopK Where StringConcat Gemm Sub; do
  name=$(echo "${op}_x_mine" | tr '[:upper:]' '[:lower:]')
  tenon new kernel $op "$name" >kinds.log || { cat kinds.log; fail "$op"; }
  tenon-gen --plugin k "$name/$name.yaml" -o "$name" || fail "$op: YAML"
  cc -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$name" -I"$prefix/include" "$name/$name.c" \
    "$name/plugin.c" -o "$name/k.so" || fail "$op: C"
  tenon plugin list --why --plugin "$work/$name/k.so" >kinds.log || { cat kinds.log; fail "$op"; }
done

# Written, it is tested: this one is a whole kernel, on one thread.
cat >body.c <<'END'
#include <math.h>
#include "softmax_f32_mine.gen.h"
tn_status softmax_f32_mine_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->items[0] = 1;
  return TN_OK;
}
const char *softmax_f32_mine_refuse(const tn_call *call) {
  const tn_softmax_attrs *a = call->attrs;
  const int32_t rank = call->inputs[0]->rank;
  return a->axis == -1 || a->axis == rank - 1 ? NULL : "it knows the last axis only";
}
tn_status softmax_f32_mine(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *x = call->inputs[0];
  int64_t n = 1, rows = 1;
  for (int32_t d = 0; d < x->rank; d++) *(d + 1 < x->rank ? &rows : &n) *= x->shape[d];
  for (int64_t r = 0; r < rows; r++) {
    const float *in = (const float *)x->data + r * n;
    float *out = (float *)call->outputs[0]->data + r * n, most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++) most = in[k] > most || isnan(in[k]) ? in[k] : most;
    for (int64_t k = 0; k < n; k++) sum += out[k] = expf(in[k] - most);
    for (int64_t k = 0; k < n; k++) out[k] /= sum;
  }
  return TN_OK;
}
END
cp body.c softmax_f32_mine/softmax_f32_mine.c
cmake --build softmax_f32_mine/build >written.log
ctest --test-dir softmax_f32_mine/build >written.log ||
  { cat written.log; fail "a kernel that is right"; }
! grep -q Skipped written.log || fail "the test of a written kernel is skipped"

# The same for GPUs; a program that only copies is found out where there is a device.
gpu_kernel() {
  tenon new kernel Softmax softmax_mine_gpu --device gpu
  cmake -S softmax_mine_gpu -B softmax_mine_gpu/build -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_FLAGS="-Werror"
  cmake --build softmax_mine_gpu/build
  ctest --test-dir softmax_mine_gpu/build
}
took gpu_kernel gpu_kernel
grep -q 'softmax_mine_gpu_kernel.check.*Skipped' gpu_kernel.log || fail "the GPU kernel's test"
sed -i 's/return "it is not written yet"/return tn_gpu_refuse_size(call)/' \
  softmax_mine_gpu/softmax_mine_gpu.c
cmake --build softmax_mine_gpu/build >>gpu_kernel.log
if tenon device info opencl:0 >/dev/null 2>&1 &&
  ctest --test-dir softmax_mine_gpu/build >>gpu_kernel.log; then
  fail "a GPU kernel that copies passes"
fi

# An accelerator, which conforms at once, and does no longer when it computes something else.
accelerator() {
  tenon new accelerator zap
  cmake -S zap -B zap/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-Werror"
  cmake --build zap/build
  ctest --test-dir zap/build --output-on-failure
}
took accelerator accelerator
grep -q '100% tests passed' accelerator.log || fail "a test of the accelerator did not pass"
sed -i 's/a\[k\] + b\[k\]/a[k] - b[k]/' zap/dispatcher.c
cmake --build zap/build >>accelerator.log
if ctest --test-dir zap/build >>accelerator.log; then fail "a wrong accelerator conforms"; fi
if tenon new accelerator Zap >>accelerator.log 2>&1; then fail "a name with capitals"; fi
if tenon new accelerator zip --device gpu >>accelerator.log 2>&1; then fail "--device gpu"; fi

if command -v pkg-config >/dev/null && command -v make >/dev/null; then
  export PKG_CONFIG_PATH
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tenon.pc)")
  op_by_make() {
    tenon new op Shifted --dir by_make
    make -C by_make test bench
  }
  took op_by_make op_by_make
  grep -q '0 failed' op_by_make.log || fail "make test"
  tenon plugin vet by_make/example_shifted.so >vet.log || { cat vet.log; fail "it is not fit"; }
  tenon new accelerator zip >zip.log
  make -C zip test >zip.log 2>&1 || { cat zip.log; fail "make test of an accelerator"; }
else
  echo "make skipped: no pkg-config or make"
fi
