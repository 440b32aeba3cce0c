/* Memory of values that were read from files. */
#include "values.h"

void cli_store_init(cli_store *store) {
  *store = (cli_store){.loaded = {0}};
  tn_arena_init(&store->arena, tn_default_allocator());
}

void cli_store_free(cli_store *store) {
  for (int64_t k = 0; k < store->loaded.n; k++) tn_value_destroy(store->loaded.data[k]);
  tn_vec_free(tn_default_allocator(), &store->loaded);
  tn_arena_clear(&store->arena);
}
