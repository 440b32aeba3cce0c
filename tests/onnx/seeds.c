/* onnx_seeds FOLDER: writes the seeds of tests/fuzz/corpus/onnx. Findings of the fuzzer lie beside
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sample.h"

static const char *folder;
static int n_written;

/* Writes and frees m. */
static void seed(const char *name, pb m) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  if (!f) return;
  n_written += fwrite(m.data, 1, (size_t)m.n, f) == (size_t)m.n;
  fclose(f);
  tn_text_free(&m);
}

static pb graph_with(uint32_t number, pb part) {
  pb g = io_graph();
  pb_msg(&g, number, part);
  return pb_model(g, 17);
}

/* Every element type, in raw data and in typed fields. */
static void tensor_seeds(void) {
  /* of 4 elements, by TensorProto.DataType */
  static const uint8_t raw_bytes[] = {0,  16, 4, 4, 8, 8, 16, 32, 4, 4, 8, 32, 16, 32, 32,
                                      64, 8,  4, 4, 4, 4, 2,  2,  2, 4, 1, 1,  3,  3};
  for (int type = 1; type <= 28; type++) {
    char name[40];
    const int64_t dim = 4, numbers[] = {1, 0, 1, 1}, pairs[] = {1, 0};
    bool by_pair = type == 21 || type == 22 || type == 23;
    pb raw = pb_tensor("t", type, 1, &dim), typed = pb_tensor("t", type, 1, &dim);
    pb_bytes(&raw, 9, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
             raw_bytes[type]);
    if (type == 1 || type == 14)
      pb_bytes(&typed, 4, "0123456789abcdef0123456789abcdef", type == 1 ? 16 : 32);
    else if (type == 11)
      pb_f64(&typed, 10, 1);
    else if (type == 8)
      pb_str(&typed, 6, "text");
    else
      pb_packed(&typed,
                type == 7                  ? 7
                : type == 12 || type == 13 ? 11
                                           : 5,
                by_pair ? pairs : numbers, by_pair ? 2 : 4);
    snprintf(name, sizeof name, "tensor_%02d_raw", type);
    seed(name, graph_with(5, raw));
    snprintf(name, sizeof name, "tensor_%02d_typed.pb", type);
    seed(name, typed);
  }
}

static void value_seeds(void) {
  pb s = pb_new(), values = pb_new(), m = pb_new(), o = pb_new(), one = pb_floats(NULL, 1),
     outer = pb_new();
  pb_int(&s, 2, 1);
  pb_msg(&s, 3, pb_floats("a", 2));
  pb_msg(&s, 3, pb_floats("b", 3));
  pb_int(&outer, 2, 3);
  pb_msg(&outer, 5, s);
  seed("sequence.pb", outer);
  pb_int(&values, 2, 1);
  pb_msg(&values, 3, one);
  pb_int(&m, 2, 7);
  pb_int(&m, 3, 5);
  pb_msg(&m, 5, values);
  pb_int(&o, 2, 4);
  pb_msg(&o, 6, m);
  seed("optional_map.pb", o);
}

static void model_seeds(void) {
  seed("everything.onnx", sample_model());
  seed("functions.onnx", function_model());
  seed("subgraphs.onnx", if_model());
  seed("attributes.onnx", graph_with(1, node_with_attributes()));
  seed("sparse.onnx", graph_with(15, sparse("s", false)));
  pb t = pb_tensor("t", 1, 0, NULL);
  pb_int(&t, 14, 1);
  pb_entry(&t, 13, "location", "weights");
  pb_entry(&t, 13, "offset", "8");
  pb_entry(&t, 13, "length", "4");
  seed("external.onnx", graph_with(5, t));
  pb cut = sample_model();
  cut.n /= 2;
  seed("truncated.onnx", cut);
  seed("no_graph.onnx", pb_opset("", 1));
}

int main(int argc, char **argv) {
  folder = argc > 1 ? argv[1] : ".";
  tensor_seeds();
  value_seeds();
  model_seeds();
  printf("%d files\n", n_written);
  return 0;
}
