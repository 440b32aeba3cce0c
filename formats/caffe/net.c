/* A network: which layers take part when it is tested, its inputs and outputs, and where the
 * weights are: in the .caffemodel that is called like the .prototxt. */
#include <stdio.h>
#include <stdlib.h>

#include "base/identify.h"
#include "base/io_memory.h"
#include "reader.h"
#include "tenon/kit/text.h"

/* ---- memory and messages ---- */

tn_status caffe_layer_fail(const caffe_reader *r, const caffe_layer *l, tn_status code,
                           const char *what, tn_str name) {
  if (code == TN_ERR_MEMORY) return tn_proto_no_memory(&r->net_file);
  return tn_proto_fail(&r->net_file, code, l->m->at, "layer '%.80s' (%.*s): %s%s%.*s%s", l->name,
                       (int)tn_min_i64(l->type.size, 60), l->type.data, what, name.size ? " '" : "",
                       (int)tn_min_i64(name.size, 120), name.size ? name.data : "",
                       name.size ? "'" : "");
}

static const char *text_of(caffe_reader *r, tn_str s) {
  return tn_arena_strn(&r->arena, s.data, s.size);
}

/* ---- blobs ---- */

tn_status caffe_blob_get(caffe_reader *r, const caffe_layer *l, tn_str name, int32_t *out) {
  const char *text = text_of(r, name);
  if (!text) return tn_proto_no_memory(&r->net_file);
  *out = (int32_t)tn_map_get(&r->blobs, text, TN_NO_ID);
  if (*out >= 0) return tn_map_set(&r->read, text, 1) ? tn_proto_no_memory(&r->net_file) : TN_OK;
  if (tn_map_get(&r->gone, text, 0))
    return caffe_layer_fail(r, l, TN_ERR_UNSUPPORTED,
                            "only layers for training give what it reads; the network for "
                            "deployment has an Input instead of",
                            name);
  return caffe_layer_fail(r, l, TN_ERR_INVALID, "no layer before it gives", name);
}

/* The last layer that writes a blob gives it its name; values before it have the layer's. */
tn_status caffe_blob_set(caffe_reader *r, uint64_t at, tn_str name, const char *layer,
                         int32_t *out) {
  const char *text = text_of(r, name);
  if (!text) return tn_proto_no_memory(&r->net_file);
  const int64_t left = tn_map_get(&r->writers, text, 1) - 1;
  if (!name.size) return tn_proto_fail(&r->net_file, TN_ERR_INVALID, at, "a blob has no name");
  const char *given = layer && left > 0 ? tn_arena_format(&r->arena, "%s@%s", text, layer) : text;
  if (!given) return tn_proto_no_memory(&r->net_file);
  *out = r->api->value(r->g, given);
  if (*out >= 0 &&
      (r->api->value_producer(r->g, *out) >= 0 || r->api->value_flags(r->g, *out) & TN_VALUE_INPUT))
    *out = r->api->value(r->g, NULL);
  if (*out < 0) return tn_proto_fail(&r->net_file, *out, at, "'%.80s' cannot be a value", text);
  tn_map_remove(&r->read, text);
  if (tn_map_set(&r->blobs, text, *out) || tn_map_set(&r->writers, text, left))
    return tn_proto_no_memory(&r->net_file);
  return TN_OK;
}

/* ---- inputs ---- */

static tn_status add_input(caffe_reader *r, uint64_t at, tn_str name, const tn_tensor *type) {
  int32_t value;
  tn_status s = caffe_blob_set(r, at, name, NULL, &value);
  if (s) return s;
  s = r->api->value_set_type(r->g, value, type);
  if (!s) s = r->api->add_input(r->g, value);
  return s ? tn_proto_fail(&r->net_file, s == TN_ERR_STATE ? TN_ERR_INVALID : s, at,
                           "'%.*s' cannot be an input", (int)tn_min_i64(name.size, 80), name.data)
           : TN_OK;
}

static tn_status add_dim(caffe_reader *r, tn_tensor *type, const tn_proto_value *v) {
  if (type->rank == TN_MAX_RANK || v->i < 1)
    return tn_proto_fail(&r->net_file, TN_ERR_INVALID, v->at, "%lld cannot be dim %d of an input",
                         (long long)v->i, type->rank);
  type->shape[type->rank++] = v->i;
  return TN_OK;
}

static tn_status read_shape(caffe_reader *r, const tn_proto_message *shape, tn_tensor *type) {
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(shape, "dim", v));)
    s = add_dim(r, type, v);
  return s;
}

static tn_tensor float_type(void) {
  return (tn_tensor){.head = TN_HEAD(tn_tensor), .dtype = TN_F32};
}

/* "input" with four "input_dim" or an "input_shape" each. */
static tn_status read_old_inputs(caffe_reader *r) {
  const tn_proto_value *dim = NULL, *shape = NULL;
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(&r->net, "input", v));) {
    tn_tensor type = float_type();
    shape = tn_proto_next(&r->net, "input_shape", shape);
    if (shape) s = read_shape(r, shape->message, &type);
    for (int k = 0; k < 4 && !shape && !s; k++) {
      dim = tn_proto_next(&r->net, "input_dim", dim);
      s = dim ? add_dim(r, &type, dim)
              : tn_proto_fail(&r->net_file, TN_ERR_INVALID, v->at, "the input has no shape");
    }
    if (!s) s = add_input(r, v->at, v->s, &type);
  }
  return s;
}

static tn_status read_input_layer(caffe_reader *r, const caffe_layer *l) {
  const tn_proto_message *param = tn_proto_sub(l->m, "input_param");
  const tn_proto_value *shape = NULL;
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(l->m, "top", v));) {
    const tn_proto_value *next = tn_proto_next(param, "shape", shape);
    if (next) shape = next; /* one shape may serve all */
    if (!shape) return caffe_layer_fail(r, l, TN_ERR_UNSUPPORTED, "gives no shape for", v->s);
    tn_tensor type = float_type();
    s = read_shape(r, shape->message, &type);
    if (!s) s = add_input(r, v->at, v->s, &type);
  }
  return s;
}

/* ---- layers ---- */

/* "INNER_PRODUCT=14" of the old types, as they are called now. */
static tn_str new_name(tn_str old) {
  static const char *const names[][2] = {{"ABSVAL", "AbsVal"},
                                         {"ARGMAX", "ArgMax"},
                                         {"ELTWISE", "Eltwise"},
                                         {"HDF5_DATA", "HDF5Data"},
                                         {"HDF5_OUTPUT", "HDF5Output"},
                                         {"IM2COL", "Im2col"},
                                         {"LRN", "LRN"},
                                         {"MVN", "MVN"},
                                         {"BNLL", "BNLL"},
                                         {"RELU", "ReLU"},
                                         {"TANH", "TanH"},
                                         {"ACCURACY", "Accuracy"},
                                         {"CONCAT", "Concat"},
                                         {"CONTRASTIVE_LOSS", "ContrastiveLoss"},
                                         {"CONVOLUTION", "Convolution"},
                                         {"DATA", "Data"},
                                         {"DECONVOLUTION", "Deconvolution"},
                                         {"DROPOUT", "Dropout"},
                                         {"DUMMY_DATA", "DummyData"},
                                         {"EUCLIDEAN_LOSS", "EuclideanLoss"},
                                         {"EXP", "Exp"},
                                         {"FLATTEN", "Flatten"},
                                         {"HINGE_LOSS", "HingeLoss"},
                                         {"IMAGE_DATA", "ImageData"},
                                         {"INFOGAIN_LOSS", "InfogainLoss"},
                                         {"INNER_PRODUCT", "InnerProduct"},
                                         {"MEMORY_DATA", "MemoryData"},
                                         {"MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss"},
                                         {"POOLING", "Pooling"},
                                         {"POWER", "Power"},
                                         {"SIGMOID", "Sigmoid"},
                                         {"SILENCE", "Silence"},
                                         {"SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"},
                                         {"SLICE", "Slice"},
                                         {"SOFTMAX", "Softmax"},
                                         {"SOFTMAX_LOSS", "SoftmaxWithLoss"},
                                         {"SPLIT", "Split"},
                                         {"THRESHOLD", "Threshold"},
                                         {"WINDOW_DATA", "WindowData"}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (tn_str_is(old, names[k][0])) return (tn_str){names[k][1], (int64_t)strlen(names[k][1])};
  return old;
}

static tn_str old_type(const tn_proto_message *m) {
  const tn_proto_field *field = tn_proto_field_named(m->type, (tn_str){"type", 4});
  const long long number = (long long)tn_proto_int(m, "type", 0);
  for (const char *p = field->names; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
    const int64_t n = (int64_t)strcspn(p, "=");
    if (atoll(p + n + 1) == number) return new_name((tn_str){p, n});
  }
  return (tn_str){"NONE", 4};
}

static bool meets(const tn_proto_message *rule) {
  enum { TEST = 1 };
  return tn_proto_int(rule, "phase", TEST) == TEST && tn_proto_int(rule, "min_level", 0) <= 0 &&
         tn_proto_int(rule, "max_level", 0) >= 0 && !tn_proto_count(rule, "stage");
}

static bool meets_any(const tn_proto_message *m, const char *name) {
  bool any = false;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(m, name, v));) any |= meets(v->message);
  return any;
}

static bool takes_part(const tn_proto_message *m) {
  return tn_proto_count(m, "include") ? meets_any(m, "include") : !meets_any(m, "exclude");
}

static tn_status open_layer(caffe_reader *r, const tn_proto_value *v, caffe_layer *l) {
  const bool old = !strcmp(v->field->name, "layers");
  *l = (caffe_layer){.m = v->message};
  l->name = text_of(r, tn_proto_str(v->message, "name"));
  if (!l->name) return tn_proto_no_memory(&r->net_file);
  l->type = old ? old_type(v->message) : tn_proto_str(v->message, "type");
  l->row = caffe_row(l->type);
  return TN_OK;
}

/* What is done with a layer besides becoming a node: the first word of its row's attrs. */
static bool is_called(const caffe_layer *l, const char *word) {
  return l->row && l->row->attrs && !strcmp(l->row->attrs, word);
}

static tn_status drop_tops(caffe_reader *r, const caffe_layer *l) {
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(l->m, "top", v));) {
    const char *text = text_of(r, v->s);
    if (!text || tn_map_set(&r->gone, text, 1)) return tn_proto_no_memory(&r->net_file);
  }
  return TN_OK;
}

/* A layer that is left out reads what would else be outputs. */
static tn_status drop_sink(caffe_reader *r, const caffe_layer *l) {
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(l->m, "bottom", v));) {
    const char *text = text_of(r, v->s);
    if (!text) return tn_proto_no_memory(&r->net_file);
    if (!strcmp(l->row->name, "Silence") && tn_map_set(&r->read, text, 1))
      return tn_proto_no_memory(&r->net_file);
  }
  return drop_tops(r, l);
}

static tn_status read_layer(caffe_reader *r, const tn_proto_value *v) {
  caffe_layer l;
  tn_status s = open_layer(r, v, &l);
  if (s || !takes_part(l.m)) return s;
  if (!l.type.size) return caffe_layer_fail(r, &l, TN_ERR_INVALID, "has no type", (tn_str){0});
  if (l.row && l.row->how == TN_FORMAT_REFUSED)
    return caffe_layer_fail(r, &l, TN_ERR_UNSUPPORTED,
                            "not supported: ", (tn_str){l.row->note, (int64_t)strlen(l.row->note)});
  if (is_called(&l, "input_param")) return read_input_layer(r, &l);
  if (is_called(&l, "data")) return drop_tops(r, &l);
  if (is_called(&l, "sink")) return drop_sink(r, &l);
  return caffe_node(r, &l);
}

/* ---- all layers ---- */

typedef tn_status (*layer_fn)(caffe_reader *, const tn_proto_value *);

static tn_status each_layer(caffe_reader *r, const tn_proto_message *net, layer_fn fn) {
  const char *name = tn_proto_count(net, "layer") ? "layer" : "layers";
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(net, name, v));) s = fn(r, v);
  return s;
}

static tn_status count_writers(caffe_reader *r, const tn_proto_value *layer) {
  if (!takes_part(layer->message)) return TN_OK;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(layer->message, "top", v));) {
    const char *text = text_of(r, v->s);
    if (!text || tn_map_set(&r->writers, text, tn_map_get(&r->writers, text, 0) + 1))
      return tn_proto_no_memory(&r->net_file);
  }
  return TN_OK;
}

static tn_status note_weights(caffe_reader *r, const tn_proto_value *layer) {
  const char *name = text_of(r, tn_proto_str(layer->message, "name"));
  const int64_t n = tn_map_get(&r->layers, "", 0);
  if (!name) return tn_proto_no_memory(&r->weights_file);
  r->blob_lists[n] = layer->message;
  if (tn_map_set(&r->layers, "", n + 1) || (*name && tn_map_set(&r->layers, name, n)))
    return tn_proto_no_memory(&r->weights_file);
  return TN_OK;
}

/* ---- outputs: what no layer reads, by name, as Caffe orders them ---- */

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tn_status add_outputs(caffe_reader *r) {
  uint64_t n = 0, cap = 0;
  const char *name = tn_proto_count(&r->net, "layer") ? "layer" : "layers";
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(&r->net, name, v));)
    cap += tn_proto_count(v->message, "top");
  const char **names = tn_arena_alloc(&r->arena, (cap + 1) * sizeof *names);
  if (!names) return tn_proto_no_memory(&r->net_file);
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(&r->net, name, v));)
    for (const tn_proto_value *top = NULL; (top = tn_proto_next(v->message, "top", top));) {
      names[n] = text_of(r, top->s);
      if (!names[n]) return tn_proto_no_memory(&r->net_file);
      const int64_t value = tn_map_get(&r->blobs, names[n], TN_NO_ID);
      if (value < 0 || tn_map_get(&r->read, names[n], 0)) continue;
      if (r->api->value_flags(r->g, (int32_t)value) & TN_VALUE_INPUT) continue;
      if (tn_map_set(&r->read, names[n], 1)) return tn_proto_no_memory(&r->net_file);
      n++;
    }
  qsort(names, (size_t)n, sizeof *names, by_name);
  for (uint64_t k = 0; k < n; k++) {
    const tn_status s =
        r->api->add_output(r->g, (int32_t)tn_map_get(&r->blobs, names[k], TN_NO_ID));
    if (s) return tn_proto_fail(&r->net_file, s, 0, "'%.80s' cannot be an output", names[k]);
  }
  return n ? TN_OK : tn_proto_fail(&r->net_file, TN_ERR_INVALID, 0, "the network has no output");
}

/* ---- files ---- */

static bool is_text(const uint8_t *data, uint64_t size) {
  char detail[TN_FILE_DETAIL];
  const tn_file_kind *kind = tn_file_identify(data, size, detail);
  return kind && !strcmp(kind->name, "caffe-text");
}

/* Solvers, label maps and others have the same letters as networks. */
static bool is_other_text(const tn_proto_file *f) {
  enum { LOOKED_AT = 64, LEAST = 16 };
  bool is = !f->is_text && f->size >= LEAST;
  for (uint64_t k = 0; is && k < f->size && k < LOOKED_AT; k++)
    is = (f->data[k] >= ' ' && f->data[k] < 127) || (f->data[k] >= '\t' && f->data[k] <= '\r');
  return is;
}

static tn_status read_file(caffe_reader *r, tn_proto_file *f, tn_proto_message *out) {
  const tn_status s = f->is_text ? tn_proto_read_text(f, &caffe_net_type, out)
                                 : tn_proto_read_wire(f, &caffe_net_type, out);
  return s ? s : caffe_upgrade(r, f, out);
}

/* "folder/net.prototxt" as "net.caffemodel". */
static const char *sibling_name(caffe_reader *r) {
  const char *path = r->source->path ? r->source->path : "", *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  return tn_arena_format(&r->arena, "%.*s.caffemodel", (int)(dot ? dot - base : (long)strlen(base)),
                         base);
}

static tn_status open_weights(caffe_reader *r) {
  tn_proto_file *f = &r->weights_file;
  r->weights_path = sibling_name(r);
  if (!r->weights_path) return tn_proto_no_memory(&r->net_file);
  if (!r->net_file.is_text || !r->source->open_sibling || !r->source->path) return TN_OK;
  *f = (tn_proto_file){.source = r->source, .path = r->weights_path, .arena = &r->arena};
  if (r->source->open_sibling(r->source->ctx, r->weights_path, &f->data, &f->size)) return TN_OK;
  r->has_weights = true;
  tn_status s = read_file(r, f, &r->weights);
  if (s) return s;
  const uint64_t n = tn_proto_count(&r->weights, "layer") + tn_proto_count(&r->weights, "layers");
  r->blob_lists = tn_arena_alloc(&r->arena, (n + 1) * sizeof *r->blob_lists);
  if (!r->blob_lists) return tn_proto_no_memory(f);
  return each_layer(r, &r->weights, note_weights);
}

static tn_status read_net(caffe_reader *r) {
  enum { ONNX_OPSET = 21 }; /* of the operators that rows name */
  r->net_file = (tn_proto_file){.source = r->source,
                                .path = r->source->path ? r->source->path : "(memory)",
                                .data = r->source->data,
                                .size = r->source->size,
                                .arena = &r->arena,
                                .is_text = is_text(r->source->data, r->source->size)};
  if (is_other_text(&r->net_file))
    return tn_proto_fail(&r->net_file, TN_ERR_UNSUPPORTED, 0,
                         "this is text, but no network: nothing in it is a layer. (A solver names "
                         "its network as net)");
  tn_status s = read_file(r, &r->net_file, &r->net);
  if (!s) s = open_weights(r);
  if (s) return s;
  if (r->api->set_opset(r->g, "", ONNX_OPSET) || r->api->set_opset(r->g, "caffe", 1))
    return tn_proto_no_memory(&r->net_file);
  s = each_layer(r, &r->net, count_writers);
  if (!s) s = read_old_inputs(r);
  if (!s) s = each_layer(r, &r->net, read_layer);
  return s ? s : add_outputs(r);
}

tn_status caffe_read(const tn_source *source, tn_graph *g) {
  caffe_reader r = {.source = source, .api = source->host->graph, .g = g};
  r.allocator = tn_source_allocator(source);
  tn_arena_init(&r.arena, &r.allocator);
  tn_map *maps[] = {&r.layers, &r.blobs, &r.writers, &r.read, &r.gone};
  for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) tn_map_init(maps[k], &r.allocator);
  const tn_status s = read_net(&r);
  for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) tn_map_free(maps[k]);
  tn_arena_clear(&r.arena);
  return s;
}
