/* Fuzzing plan files: any bytes are one, or refused with a reason. What is taken is run with
 * kernels that read all of their inputs and states, and write all of their outputs and scratch: it
 * lies within the file, the arena and the inputs. Length and hash are set right first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sha256.h"
#include "planfile/format.h"
#include "tenon/experimental/plan_file.h"
#include "tenon/kit/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CALLS = 200, MOST_BYTES = 1 << 22 };
static int n_calls;
static volatile uint8_t seen;

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static void read_bytes(const void *data, uint64_t n) {
  const uint8_t *bytes = data;
  for (uint64_t k = 0; bytes && k < n; k++) seen ^= bytes[k];
}

static uint64_t bytes_of(const tn_tensor *t) { return t ? (uint64_t)tn_storage_bytes(t) : 0; }

static tn_status touch(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage;
  (void)worker;
  require(begin >= 0 && begin <= end, "ranges are in order");
  if (++n_calls > MOST_CALLS) return TN_ERR_CANCELLED;
  uint64_t all = call->scratch_bytes / 2 + call->worker_scratch_bytes / 2 + call->state_bytes / 2;
  for (uint32_t k = 0; k < call->n_inputs && all < MOST_BYTES; k++)
    all += bytes_of(call->inputs[k]);
  for (uint32_t k = 0; k < call->n_outputs && all < MOST_BYTES; k++)
    all += bytes_of(call->outputs[k]);
  if (all > MOST_BYTES) return TN_ERR_MEMORY; /* it would take long */
  for (uint32_t k = 0; k < call->n_inputs; k++)
    if (call->inputs[k]) read_bytes(call->inputs[k]->data, bytes_of(call->inputs[k]));
  read_bytes(call->state, call->state_bytes);
  for (uint32_t k = 0; k < call->n_epilogue; k++)
    require(call->epilogue[k]->input < (int32_t)call->n_inputs, "fused steps have their inputs");
  for (uint32_t k = 0; k < call->n_outputs; k++)
    if (call->outputs[k] && call->outputs[k]->data)
      memset(call->outputs[k]->data, 1, bytes_of(call->outputs[k]));
  if (call->scratch) memset(call->scratch, 1, call->scratch_bytes);
  if (call->worker_scratch) memset(call->worker_scratch, 1, call->worker_scratch_bytes);
  return TN_OK;
}

static char build[64]; /* what the file says */
#define KERNEL(name_) \
  { .head = TN_HEAD(tn_kernel), .name = name_, .run = touch }
static const tn_kernel kernels[] = {KERNEL("conv_f32_c"),     KERNEL("conv_depthwise_f32_c"),
                                    KERNEL("relu_float_c"),   KERNEL("region_c"),
                                    KERNEL("max_pool_f32_c"), KERNEL("average_pool_f32_c"),
                                    KERNEL("softmax_f32_c"),  KERNEL("matmul_f32_c"),
                                    KERNEL("gemm_f32_c"),     KERNEL("global_average_pool_f32_c"),
                                    KERNEL("mul_float_c"),    KERNEL("hard_sigmoid_float_c")};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };
static const tn_kernel *list[N_KERNELS];
static tn_plugin plugin = {.head = TN_HEAD(tn_plugin), .build_id = build, .n_kernels = N_KERNELS};

static const tn_plugin *query(uint32_t major, uint32_t minor) {
  (void)major;
  (void)minor;
  for (int k = 0; k < N_KERNELS; k++) list[k] = &kernels[k];
  plugin.kernels = list;
  return &plugin;
}

/* An arena of any size may be asked for; fuzzers count that as a finding. */
static void shrink_arena(uint8_t *file, uint64_t size) {
  uint64_t text, arena;
  memcpy(&text, file + TN_PLANFILE_HASHED_FROM + 16, sizeof text);
  if (text > 4096) return;
  const uint64_t at = TN_PLANFILE_HASHED_FROM + 24 + text + 8 - text % 8 + 16;
  if (at + sizeof arena > size) return;
  memcpy(&arena, file + at, sizeof arena);
  arena %= MOST_BYTES;
  memcpy(file + at, &arena, sizeof arena);
}

static void mend(uint8_t *file, uint64_t size) {
  const uint64_t magic = TN_PLANFILE_MAGIC, text = TN_PLANFILE_HASHED_FROM + 24;
  char sum[TN_SHA256_TEXT];
  if (size < TN_PLANFILE_HASHED_FROM + 64) return;
  shrink_arena(file, size);
  memcpy(file, &magic, sizeof magic);
  memcpy(file + 8, &size, sizeof size);
  tn_sha256_text(file + TN_PLANFILE_HASHED_FROM, size - TN_PLANFILE_HASHED_FROM, sum);
  memcpy(file + 16, sum, TN_SHA256_TEXT - 1);
  memset(build, 0, sizeof build);
  for (uint64_t k = text; k < size && k < text + sizeof build - 1; k++)
    build[k - text] = (char)file[k];
}

static void run(tn_plan_file *p) {
  void *memory[64] = {NULL};
  n_calls = 0;
  for (int32_t k = 0; k < tn_plan_file_n_inputs(p); k++) {
    const uint64_t bytes = bytes_of(tn_plan_file_input(p, k));
    require(tn_plan_file_input_name(p, k) != NULL, "inputs have names");
    if (k >= 64 || bytes > MOST_BYTES) continue;
    memory[k] = calloc(1, bytes + !bytes);
    require(memory[k] && !tn_plan_file_set_input(p, k, memory[k]), "inputs can be set");
  }
  (void)tn_plan_file_run(p);
  for (int32_t k = 0; k < tn_plan_file_n_outputs(p); k++) {
    const tn_tensor *t = tn_plan_file_output(p, k);
    if (bytes_of(t) <= MOST_BYTES) read_bytes(t->data, bytes_of(t));
  }
  for (int k = 0; k < 64; k++) free(memory[k]);
}

/* As it is, which is refused nearly always; then mended. */
static void try_file(const uint8_t *data, size_t size, bool mended) {
  tn_plan_file *p = NULL;
  tn_plan_why why;
  uint8_t *file = aligned_alloc(64, (size + 64) / 64 * 64);
  memcpy(file, data, size);
  if (mended) mend(file, size);
  const tn_status status = tn_plan_file_open(file, size, query, &why, &p);
  require((status == TN_OK) == (p != NULL), "it is open or not");
  require((status == TN_OK) == !why.text[0], "a failure, and only that, has a reason");
  if (p) run(p);
  tn_plan_file_close(p);
  free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > MOST_BYTES) return 0;
  try_file(data, size, false);
  try_file(data, size, true);
  return 0;
}
