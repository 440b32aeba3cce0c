/* Fuzzing the vetting of plug-ins: a sound descriptor in a block of memory, in which the input
 * changes numbers and pointers. Vetting reads nothing outside of the block, and refuses with a
 * reason or takes what can then be used.
 *
 * The input is a row of changes of 8 bytes: place in the block (2), how (1), a small number (1), a
 * number or place (4). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHANGE = 8, MANY = 3 };

typedef struct world {
  tn_plugin plugin;
  tn_op op[MANY];
  tn_type_rule rule[MANY];
  tn_kernel kernel[MANY];
  tn_accept accept[MANY];
  tn_rewrite rewrite[MANY];
  tn_format format[MANY];
  const tn_op *ops[MANY];
  const tn_type_rule *rules[MANY];
  const tn_kernel *kernels[MANY];
  const tn_accept *accepts[MANY];
  const tn_rewrite *rewrites[MANY];
  const tn_format *formats[MANY];
  const char *cases[MANY];
  char text[32][64]; /* the last one ends with the block */
} world;

static void require(bool ok, const char *rule, tn_diag *diag) {
  if (ok) return;
  fprintf(stderr, "fuzz: %s; said: %s\n", rule, tn_diag_text(diag));
  abort();
}

/* ---- the sound one ---- */

static const char *put(world *w, int index, const char *text) {
  return strcpy(w->text[index], text);
}

static tn_status any_call(const tn_call *call) { return (void)call, TN_OK; }

/* The address of a function, as any function member wants it. */
#define POINT(member, address) memcpy((void *)&(member), &(address), sizeof(address))

static void make_op(world *w, int k, const void *code) {
  tn_op *op = &w->op[k];
  op->head = (tn_head)TN_HEAD(tn_op);
  op->domain = put(w, 0, "fuzz");
  op->name = put(w, 1 + k, k == 0 ? "One" : k == 1 ? "Two" : "Three");
  op->since = 1;
  op->schema = put(w, 4 + k,
                   k == 0   ? "(Tensor X, *, int[] k=[1, 2], float? by=2.0) -> Tensor Y"
                   : k == 1 ? "(Tensor[] X, Tensor? B=None) -> (Tensor Y, Tensor Z)"
                            : "(Tensor X, *, str s=\"a\", Graph body) -> Tensor[] Y");
  op->types = w->rules;
  op->n_types = 1;
  op->cases = w->cases;
  op->n_cases = 2;
  op->doc = put(w, 7, "does what it does");
  POINT(op->infer, code);
}

static void make_kernel(world *w, int k, const void *code) {
  tn_kernel *kernel = &w->kernel[k];
  kernel->head = (tn_head)TN_HEAD(tn_kernel);
  kernel->name = put(w, 8 + k, k == 0 ? "one_c" : k == 1 ? "two_c" : "three_c");
  kernel->op = put(w, 11 + k, k == 0 ? "fuzz::One" : k == 1 ? "fuzz::Two" : "fuzz::Three");
  kernel->device = put(w, 14, "cpu");
  kernel->rank = TN_RANK_PLUGIN;
  kernel->accepts = w->accepts;
  kernel->n_accepts = 2;
  POINT(kernel->run, code);
}

static void make_rest(world *w, const void *code) {
  for (int k = 0; k < MANY; k++) {
    w->rule[k] =
        (tn_type_rule){TN_HEAD(tn_type_rule), put(w, 15, "T"), put(w, 16, "X, Y"), TN_MASK(TN_F32)};
    w->accept[k] = (tn_accept){.head = TN_HEAD(tn_accept), .arg = put(w, 17 + k, k ? "Y" : "X")};
    w->accept[k].dtypes = TN_MASK(TN_F32);
    w->rewrite[k].head = (tn_head)TN_HEAD(tn_rewrite);
    w->rewrite[k].name = put(w, 20, "away");
    w->rewrite[k].root = w->kernel[k].op;
    POINT(w->rewrite[k].apply, code);
    w->format[k].head = (tn_head)TN_HEAD(tn_format);
    w->format[k].name = put(w, 21 + k, k == 0 ? "f" : k == 1 ? "g" : "h");
    w->format[k].extensions = put(w, 24, ".fuzz,.f");
    POINT(w->format[k].read, code);
    w->cases[k] = put(w, 25, "X=f32[2,3]");
    w->ops[k] = &w->op[k];
    w->rules[k] = &w->rule[k];
    w->kernels[k] = &w->kernel[k];
    w->accepts[k] = &w->accept[k];
    w->rewrites[k] = &w->rewrite[k];
    w->formats[k] = &w->format[k];
  }
}

static void make_sound(world *w, const void *code) {
  memset(w, 0, sizeof *w);
  for (int k = 0; k < MANY; k++) make_op(w, k, code), make_kernel(w, k, code);
  make_rest(w, code);
  w->plugin = (tn_plugin){.head = TN_HEAD(tn_plugin),
                          .name = put(w, 26, "fuzz"),
                          .version = put(w, 27, "1.0"),
                          .license = put(w, 28, "MIT"),
                          .build_id = put(w, 31, "block"),
                          .flavour = TN_FLAVOUR,
                          .n_ops = MANY,
                          .n_kernels = MANY,
                          .n_rewrites = MANY,
                          .n_formats = MANY,
                          .ops = w->ops,
                          .kernels = w->kernels,
                          .rewrites = w->rewrites,
                          .formats = w->formats};
}

/* ---- changes ---- */

static void write_word(world *w, size_t at, const void *value, size_t n) {
  if (at + n <= sizeof *w) memcpy((char *)w + at, value, n);
}

static void change(world *w, const void *code, const uint8_t *c) {
  uint16_t place;
  uint32_t number;
  memcpy(&place, c, sizeof place);
  memcpy(&number, c + 4, sizeof number);
  const size_t at = place % sizeof *w, word = at / 8 * 8;
  const char *inside = (const char *)w + number % (sizeof *w + 16);
  const uint64_t wide = number, shifted = wide << (c[3] % 64);
  switch (c[2] % 8) {
    case 0: write_word(w, at, &c[3], 1); break;
    case 1: write_word(w, at / 4 * 4, &number, 4); break;
    case 2: write_word(w, word, &shifted, 8); break;
    case 3: write_word(w, word, &inside, 8); break;
    case 4: write_word(w, word, &code, 8); break;
    case 5: memset((char *)w + word, c[3] & 1 ? 0xff : 0, 8); break;
    case 6: write_word(w, at, c + 4, 4); break;
    default: /* a copy of another word, as pointers are */
      if (number % sizeof *w / 8 * 8 + 8 <= sizeof *w)
        memmove((char *)w + word, (char *)w + number % sizeof *w / 8 * 8, 8);
  }
}

/* ---- vetting ---- */

static void use(tn_plug *plug, tn_diag *diag) {
  tn_tables *tables = NULL;
  require(!tn_tables_build(tn_default_allocator(), &plug, 1, &tables), "tables can be made", diag);
  for (int32_t k = 0; k < tables->n_ops; k++) {
    tn_text text;
    tn_text_init(&text, tn_default_allocator());
    const tn_opdef *op = tn_tables_op(tables, k);
    tn_schema_print(&op->schema, &text);
    require(strlen(op->op.name) > 0, "operators have names", diag);
    tn_text_free(&text);
  }
  for (int32_t k = 0; k < tables->n_kernels; k++) {
    const tn_kernel *kernel = &tn_tables_kernel(tables, k)->kernel;
    require(kernel->run && strlen(kernel->name) > 0, "kernels have a name, and run", diag);
    for (uint32_t i = 0; i < kernel->n_accepts; i++)
      require(strlen(kernel->accepts[i]->arg) > 0, "rows are for an argument", diag);
  }
  tn_tables_free(tables);
}

static void vet(world *w, const void *code) {
  tn_registry *r;
  tn_diag *diag = tn_diag_create();
  const tn_allocator *a = tn_default_allocator();
  if (tn_registry_create(a, &r)) abort();
  tn_plug *plug = tn_plug_new(r, "", TN_ORIGIN_EXPLICIT);
  const uintptr_t begin = (uintptr_t)w, function = (uintptr_t)code;
  tn_range ranges[] = {{begin, begin + sizeof *w, true, false},
                       {function, function + 1, false, true}};
  tn_image image = {.a = a};
  for (int k = 0; k < 2; k++)
    if (tn_vec_push(a, &image.ranges, ranges[k])) abort();
  tn_vet v = {
      .plug = plug, .known = tn_registry_tables(r), .image = &image, .diag = diag, .where = "fuzz"};
  const bool ok = tn_vet_plugin(&v, &w->plugin);
  require(ok == !*tn_diag_text(diag), "a refusal has a reason, and only a refusal", diag);
  require(ok || v.status < 0, "a refusal has a status", diag);
  if (ok) use(plug, diag);
  tn_plug_free(plug);
  tn_image_free(&image);
  tn_registry_destroy(r);
  tn_diag_destroy(diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tn_status (*function)(const tn_call *) = any_call;
  const void *code;
  memcpy(&code, &function, sizeof code);
  world *w = malloc(sizeof *w); /* a block of its own: what lies after it is not there */
  if (!w) abort();
  make_sound(w, code);
  for (size_t at = 0; at + CHANGE <= size; at += CHANGE) change(w, code, data + at);
  vet(w, code);
  free(w);
  return 0;
}
