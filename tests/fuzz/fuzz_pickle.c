/* Fuzzing pickles of PyTorch: arbitrary bytes, beside an archive with one storage. Every tensor of
 * what is read lies in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/kit/dtype.h"
#include "torch/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

/* Values may hold each other, or themselves. */
static void look(const torch_pickled *v, int depth) {
  if (depth == 6) return;
  for (int64_t k = 0; k < v->n && k < 8; k++) look(v->items[k], depth + 1);
  require(v->text != NULL, "texts are there");
  if (v->kind != PICKLED_TENSOR || tn_dims_size(v->tensor->shape, v->tensor->rank) > 4096) return;
  static uint8_t out[4096 * 16];
  torch_tensor_copy(v->tensor, out);
  (void)torch_tensor_is_dense(v->tensor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t bytes[256] = {1, 2, 3};
  static tn_zip_member member = {.name = "d/0", .packed = sizeof bytes, .size = sizeof bytes};
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  tn_zip zip = {
      .data = bytes, .size = sizeof bytes, .arena = &arena, .members = &member, .n_members = 1};
  tn_map_init_borrowing(&zip.names, arena.a);
  require(!tn_map_set(&zip.names, member.name, 0), "there is memory");
  torch_pickle p = {.zip = &zip, .arena = &arena, .member = "data.pkl", .folder = "d/"};
  torch_pickled *v = NULL;
  const tn_status s = torch_pickle_read(&p, data, size, &v);
  require((s == TN_OK) == !*p.message && (s == TN_OK) == (v != NULL), "a failure has a message");
  if (v) look(v, 0);
  torch_pickle_close(&p);
  tn_zip_close(&zip);
  tn_arena_clear(&arena);
  return 0;
}
