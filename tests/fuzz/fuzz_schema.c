/* Fuzzing the schema language: any text is parsed, or refused with one message. What is parsed is
 * printed, and the print means the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *rule) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s\n", rule);
  abort();
}

static char *print(const tn_schema *schema) {
  tn_text text;
  tn_text_init(&text, tn_default_allocator());
  tn_schema_print(schema, &text);
  require(!text.status, "there must be memory for the print");
  char *copy = strdup(tn_text_get(&text));
  tn_text_free(&text);
  return copy;
}

/* Every way to ask for an argument answers one of the schema's, or none. */
static void look_around(const tn_schema *s) {
  require(s->n_inputs >= 0 && s->n_inputs <= s->n_args, "inputs are arguments");
  require(s->attrs_size >= 0, "the attribute struct has a size");
  for (int32_t k = -1; k <= s->n_inputs; k++)
    require(!tn_schema_input(s, k) == (k < 0 || k == s->n_inputs), "inputs are counted");
  for (int32_t k = -1; k <= s->n_outputs; k++)
    require(!tn_schema_output(s, k) == (k < 0 || k == s->n_outputs), "outputs are counted");
  for (int32_t n = 0; n < 5; n++)
    for (int32_t k = 0; k < n; k++) tn_schema_input_of(s, k, n), tn_schema_output_of(s, k, n);
  for (int32_t k = 0; k < s->n_args; k++)
    require(tn_schema_find(s, s->args[k].name) == &s->args[k], "an argument is found by its name");
}

static void print_and_parse(const tn_schema *schema, tn_arena *arena) {
  tn_schema again;
  char *once = print(schema);
  if (tn_schema_parse(once, arena, NULL, NULL, &again)) fprintf(stderr, "%s\n", once), abort();
  char *twice = print(&again);
  require(!strcmp(once, twice), "the print means the same");
  require(again.attrs_size == schema->attrs_size, "and has the same attributes");
  free(once);
  free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  tn_arena arena;
  tn_schema schema;
  tn_diag *diag = tn_diag_create();
  tn_arena_init(&arena, tn_default_allocator());
  memcpy(text, data, size);
  text[size] = 0;
  const tn_status status = tn_schema_parse(text, &arena, "fuzz", diag, &schema);
  require((status == TN_OK) == (tn_diag_count(diag) == 0), "a failure, and only that, is told");
  if (!status) {
    look_around(&schema);
    print_and_parse(&schema, &arena);
  }
  tn_arena_clear(&arena);
  tn_diag_destroy(diag);
  free(text);
  return 0;
}
