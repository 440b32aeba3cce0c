/* Models for tests: small ones for one thing each, and one that has everything; and reading them.
 */
#ifndef TN_TESTS_ONNX_SAMPLE_H
#define TN_TESTS_ONNX_SAMPLE_H

#include "kit.h"
#include "pb.h"

/* A graph with input x and output y of type f32[3]. */
static inline pb io_graph(void) {
  pb g = pb_new();
  pb_str(&g, 2, "graph");
  pb_msg(&g, 11, pb_value_f32("x", 3));
  pb_msg(&g, 12, pb_value_f32("y", 3));
  return g;
}

/* dense is 4 x 3: element [1][2] is 1, [3][0] is 2 */
static inline pb sparse(const char *name, bool coordinates) {
  const int64_t dims[] = {2, 2};
  const int64_t rows[] = {1, 2, 3, 0}, places[] = {5, 9};
  pb values = pb_floats(name, 2), indices = pb_tensor(NULL, 7, coordinates ? 2 : 1, dims),
     s = pb_new();
  pb_packed(&indices, 7, coordinates ? rows : places, coordinates ? 4 : 2);
  pb_msg(&s, 1, values);
  pb_msg(&s, 2, indices);
  pb_packed(&s, 3, (const int64_t[]){4, 3}, 2);
  return s;
}

/* TypeProto with the member sequence_type (4), map_type (5) or optional_type (9) around `of`. */
static inline pb list_type(uint32_t member, pb of) {
  pb type = pb_new(), list = pb_new();
  if (member == 5) pb_int(&list, 1, 7); /* key_type of a map */
  pb_msg(&list, member == 5 ? 2 : 1, of);
  pb_msg(&type, member, list);
  return type;
}

static inline pb branch(const char *op) {
  pb g = pb_new();
  pb_str(&g, 2, "branch");
  pb_msg(&g, 1, pb_node(op, "inner", "x,w", "r"));
  pb_msg(&g, 12, pb_value("r", pb_new()));
  return g;
}

static inline pb if_model(void) {
  pb g = io_graph(), n = pb_node("If", "if", "c", "y"), a = pb_attr("then_branch", 5);
  pb_msg(&a, 6, branch("Add"));
  pb_msg(&n, 5, a);
  a = pb_attr("else_branch", 5);
  pb_msg(&a, 6, branch("Mul"));
  pb_msg(&n, 5, a);
  pb_msg(&g, 1, n);
  pb_msg(&g, 11, pb_value("c", pb_tensor_type(9, 0, NULL)));
  pb_msg(&g, 5, pb_floats("w", 3));
  return pb_model(g, 17);
}

/* Adds a Constant node with the attribute, which it takes over; number: 1 in a graph, 7 in a
 * function. */
static inline void add_constant(pb *g, uint32_t number, const char *output, pb attr) {
  pb n = pb_node("Constant", output, "", output);
  pb_msg(&n, 5, attr);
  pb_msg(g, number, n);
}

/* my.domain::Leaky.second(p) -> q with the attributes slope and beta = 0.25 */
static inline pb leaky_function(void) {
  pb fn = pb_new(), n = pb_node("Foo", "in_body", "p,c,d", "q"), a = pb_attr("alpha", 1);
  pb_str(&a, 21, "slope");
  pb_msg(&n, 5, a);
  pb_str(&fn, 1, "Leaky");
  pb_str(&fn, 4, "p");
  pb_str(&fn, 5, "q");
  pb_str(&fn, 6, "slope");
  a = pb_attr("value_float", 1), pb_str(&a, 21, "beta"), add_constant(&fn, 7, "c", a);
  a = pb_attr("value_int", 2), pb_int(&a, 3, 9), add_constant(&fn, 7, "d", a);
  pb_msg(&fn, 7, n);
  pb_msg(&fn, 9, pb_opset("", 15));
  pb_str(&fn, 10, "my.domain");
  a = pb_attr("beta", 1), pb_f32(&a, 2, 0.25f), pb_msg(&fn, 11, a);
  pb_str(&fn, 13, "second");
  return fn;
}

static inline pb function_model(void) {
  pb g = io_graph(), n = pb_node("Leaky", "call", "x", "y");
  pb_str(&n, 7, "my.domain");
  pb_str(&n, 8, "second");
  pb_msg(&g, 1, n);
  pb m = pb_model(g, 17);
  pb_msg(&m, 8, pb_opset("my.domain", 1));
  pb_msg(&m, 25, leaky_function());
  return m;
}

/* A node with an attribute of every kind but graphs. */
static inline pb node_with_attributes(void) {
  pb n = pb_node("Foo", "foo", "x", "z"), a;
  a = pb_attr("f", 1), pb_f32(&a, 2, 0.5f), pb_msg(&n, 5, a);
  a = pb_attr("no_f", 1), pb_msg(&n, 5, a);
  a = pb_attr("i", 2), pb_int(&a, 3, -1), pb_msg(&n, 5, a);
  a = pb_attr("s", 3), pb_bytes(&a, 4, "a\0b", 3), pb_msg(&n, 5, a);
  a = pb_attr("ss", 8), pb_str(&a, 9, "p"), pb_str(&a, 9, ""), pb_msg(&n, 5, a);
  a = pb_attr("fs", 6), pb_f32(&a, 7, 1), pb_f32(&a, 7, 2), pb_msg(&n, 5, a);
  a = pb_attr("t", 4), pb_msg(&a, 5, pb_floats(NULL, 2)), pb_msg(&n, 5, a);
  a = pb_attr("ts", 9), pb_msg(&a, 10, pb_floats(NULL, 2)), pb_msg(&a, 10, pb_floats(NULL, 3));
  pb_msg(&n, 5, a);
  a = pb_attr("sp", 12), pb_msg(&a, 23, sparse(NULL, true)), pb_msg(&n, 5, a);
  a = pb_attr("tp", 13), pb_msg(&a, 14, list_type(4, pb_tensor_type(1, 0, NULL)));
  pb_msg(&n, 5, a);
  a = pb_attr("none", 7), pb_msg(&n, 5, a);
  a = pb_new(), pb_str(&a, 1, "old"), pb_packed(&a, 8, (const int64_t[]){1, 2}, 2);
  pb_msg(&n, 5, a); /* no type: files of IR version 1 */
  return n;
}

/* Everything at once: subgraphs, functions, constants of several kinds, lists, names of dims, meta
 * data. */
static inline pb sample_model(void) {
  pb g = io_graph(), n, a, dim = pb_new(), shape = pb_new(), tensor = pb_new(), type = pb_new();
  n = pb_node("If", "if", "c", "u"), a = pb_attr("then_branch", 5), pb_msg(&a, 6, branch("Add"));
  pb_msg(&n, 5, a);
  a = pb_attr("else_branch", 5), pb_msg(&a, 6, branch("Mul")), pb_msg(&n, 5, a), pb_msg(&g, 1, n);
  n = pb_node("Leaky", "call", "u", "y"), pb_str(&n, 7, "my.domain"), pb_str(&n, 8, "second");
  pb_msg(&g, 1, n);
  pb_msg(&g, 1, node_with_attributes());
  n = pb_node("SequenceConstruct", "list", "sparse,strings,w,v", "l"), pb_msg(&g, 1, n);
  a = pb_attr("value_strings", 8), pb_str(&a, 9, "one"), pb_str(&a, 9, "two"),
  add_constant(&g, 1, "strings", a);
  pb_msg(&g, 5, pb_floats("w", 3));
  int64_t two = 2;
  tensor = pb_tensor("v", 7, 1, &two), pb_packed(&tensor, 7, (const int64_t[]){300, -1}, 2);
  pb_msg(&g, 5, tensor);
  pb_msg(&g, 15, sparse("sparse", true));
  pb_msg(&g, 11, pb_value("c", pb_tensor_type(9, 0, NULL)));
  pb_msg(&g, 11, pb_value("list_in", list_type(9, list_type(4, pb_tensor_type(7, 0, NULL)))));
  pb_str(&dim, 2, "batch"), pb_msg(&shape, 1, dim);
  tensor = pb_new(), pb_int(&tensor, 1, 1), pb_msg(&tensor, 2, shape), pb_msg(&type, 1, tensor);
  pb_msg(&g, 13, pb_value("u", type));
  pb_msg(&g, 12, pb_value("z", pb_tensor_type(1, 0, NULL)));
  pb_msg(&g, 12, pb_value("l", list_type(4, pb_tensor_type(1, 0, NULL))));
  pb m = pb_model(g, 17);
  pb_str(&m, 2, "by hand");
  pb_entry(&m, 14, "key", "text");
  pb_msg(&m, 8, pb_opset("my.domain", 1));
  pb_msg(&m, 25, leaky_function());
  return m;
}

/* ---- Reading ---- */

typedef struct fixture {
  kit k;
  pb file;
  tn_graph *g;
  tn_status status;
} fixture;

/* Reads a model and keeps the file. dir: of external data, or NULL. */
static inline void open_model_in(fixture *f, pb model, const char *dir) {
  kit_init(&f->k);
  f->k.dir = dir;
  f->file = model;
  f->g = kit_read(&f->k, tn_text_get(&model), (uint64_t)model.n, &f->status);
  assert_int_equal(f->k.n_live, 0);
}

static inline void open_model(fixture *f, pb model) { open_model_in(f, model, NULL); }

static inline void close_model(fixture *f) {
  tn_graph_free(f->g);
  kit_free(&f->k);
  tn_text_free(&f->file);
}

static inline void must_read_in(fixture *f, pb model, const char *dir) {
  open_model_in(f, model, dir);
  if (!f->g) fail_msg("%s", tn_text_get(&f->k.messages));
}

static inline void must_read(fixture *f, pb model) { must_read_in(f, model, NULL); }

/* Reading must fail with one message that has these words. */
static inline void expect_error(pb model, tn_status status, const char *words) {
  fixture f;
  open_model(&f, model);
  assert_null(f.g);
  assert_int_equal(f.status, status);
  if (!strstr(tn_text_get(&f.k.messages), words))
    fail_msg("'%s' is not in: %s", words, f.k.messages.data);
  assert_ptr_equal(strchr(f.k.messages.data, '\n'),
                   f.k.messages.data + f.k.messages.n - 1); /* one message */
  close_model(&f);
}

#endif
