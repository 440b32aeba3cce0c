/* Layers of the oldest form (V0), a layer inside of each of `layers`, as LayerParameter has them:
 * types in small letters get their names, fields of all types in one message move to the message of
 * their type, and what layers of padding add to is told to the layer behind them. */
#include "reader.h"
#include "tenon/kit/text.h"

static const struct {
  const char *old, *type, *param; /* param: the message with its fields; NULL: none */
} types[] = {{"accuracy", "Accuracy", NULL},
             {"bnll", "BNLL", NULL},
             {"concat", "Concat", "concat_param"},
             {"conv", "Convolution", "convolution_param"},
             {"data", "Data", NULL},
             {"dropout", "Dropout", NULL},
             {"euclidean_loss", "EuclideanLoss", NULL},
             {"flatten", "Flatten", NULL},
             {"hdf5_data", "HDF5Data", NULL},
             {"hdf5_output", "HDF5Output", NULL},
             {"hinge_loss", "HingeLoss", NULL},
             {"im2col", "Im2col", NULL},
             {"images", "ImageData", NULL},
             {"infogain_loss", "InfogainLoss", NULL},
             {"innerproduct", "InnerProduct", "inner_product_param"},
             {"lrn", "LRN", "lrn_param"},
             {"multinomial_logistic_loss", "MultinomialLogisticLoss", NULL},
             {"pool", "Pooling", "pooling_param"},
             {"relu", "ReLU", NULL},
             {"sigmoid", "Sigmoid", NULL},
             {"softmax", "Softmax", NULL},
             {"softmax_loss", "SoftmaxWithLoss", NULL},
             {"split", "Split", NULL},
             {"tanh", "TanH", NULL},
             {"window_data", "WindowData", NULL}};

/* Fields that have the same name now are not here. */
static const char *const renamed[][2] = {{"biasterm", "bias_term"}, {"kernelsize", "kernel_size"}};

typedef struct upgrade {
  const tn_proto_file *f;
  tn_proto_message *net;
  tn_map pads; /* by top of a layer of padding: where it stands in `padding` */
  const tn_proto_message **padding;
  int64_t n_padding;
} upgrade;

static tn_str str(const char *text) { return (tn_str){text, (int64_t)strlen(text)}; }

static tn_status layer_fails(const upgrade *u, const tn_proto_message *layer, const char *what) {
  const tn_str name = tn_proto_str(layer, "name"), type = tn_proto_str(layer, "type");
  return tn_proto_fail(u->f, TN_ERR_UNSUPPORTED, layer->at, "layer '%.*s' (%.*s): %s",
                       (int)tn_min_i64(name.size, 80), name.data, (int)tn_min_i64(type.size, 60),
                       type.data, what);
}

/* Another value of m: what `from` holds, in the field of that name. */
static tn_status add_value(const upgrade *u, tn_proto_message *m, const char *name,
                           const tn_proto_value *from) {
  tn_proto_value *v = tn_proto_add(u->f, m, tn_proto_field_named(m->type, str(name)), from->at);
  if (!v) return tn_proto_no_memory(u->f);
  v->i = from->i, v->f = from->f, v->s = from->s, v->bytes = from->bytes;
  v->message = from->message;
  return TN_OK;
}

static tn_status add_text(const upgrade *u, tn_proto_message *m, const char *name, tn_str text) {
  const tn_proto_value v = {.s = text, .at = m->at};
  return add_value(u, m, name, &v);
}

/* An empty message in a field of m. */
static tn_proto_message *add_message(const upgrade *u, tn_proto_message *m, const char *name) {
  const tn_proto_field *field = tn_proto_field_named(m->type, str(name));
  tn_proto_value *v = tn_proto_add(u->f, m, field, m->at);
  tn_proto_message *made = tn_arena_alloc(u->f->arena, sizeof *made);
  if (!v || !made) return NULL;
  *made = (tn_proto_message){.type = field->type, .at = m->at};
  return v->message = made;
}

static const char *new_field(const tn_proto_field *old) {
  for (size_t k = 0; k < sizeof renamed / sizeof *renamed; k++)
    if (!strcmp(old->name, renamed[k][0])) return renamed[k][1];
  return old->name;
}

/* ---- padding ---- */

/* The layer of padding whose top a bottom is; NULL: it is that of no such layer. */
static const tn_proto_message *padding_of(const upgrade *u, tn_str bottom) {
  const char *name = tn_arena_strn(u->f->arena, bottom.data, bottom.size);
  const int64_t at = name ? tn_map_get(&u->pads, name, -1) : -1;
  return at < 0 ? NULL : u->padding[at];
}

static tn_status note_padding(upgrade *u, const tn_proto_message *layers,
                              const tn_proto_message *layer) {
  const tn_str top = tn_proto_str(layers, "top");
  const char *name = tn_arena_strn(u->f->arena, top.data, top.size);
  if (tn_proto_count(layers, "top") != 1 || tn_proto_count(layers, "bottom") != 1)
    return layer_fails(u, layer, "padding has not one bottom and one top");
  if (!name || tn_map_set(&u->pads, name, u->n_padding)) return tn_proto_no_memory(u->f);
  u->padding[u->n_padding++] = layers;
  return TN_OK;
}

/* The bottoms, that of padding in place of padding; param is told how much it was. */
static tn_status add_bottoms(const upgrade *u, const tn_proto_message *layers,
                             const tn_proto_message *layer, tn_proto_message *made,
                             tn_proto_message *param) {
  const bool windows = param && tn_proto_field_named(param->type, str("pad"));
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(layers, "bottom", v));) {
    const tn_proto_message *pad = padding_of(u, v->s);
    if (!pad) {
      s = add_value(u, made, "bottom", v);
      continue;
    }
    if (!windows || tn_proto_count(param, "pad"))
      return layer_fails(u, layer,
                         "reads padding, which is only for one layer with a window that "
                         "has none of its own");
    const tn_proto_value more = {.i = tn_proto_int(tn_proto_sub(pad, "layer"), "pad", 0),
                                 .at = pad->at};
    s = add_text(u, made, "bottom", tn_proto_str(pad, "bottom"));
    if (!s) s = add_value(u, param, "pad", &more);
  }
  return s;
}

/* ---- layers ---- */

/* Fields that the message of the layer's type has, too. */
static tn_status add_fields(const upgrade *u, const tn_proto_message *layer,
                            tn_proto_message *param) {
  tn_status s = TN_OK;
  for (const tn_proto_value *v = layer->first; v && !s; v = v->next) {
    const char *name = new_field(v->field);
    const tn_proto_field *field = tn_proto_field_named(param->type, str(name));
    if (field && field->kind == v->field->kind) s = add_value(u, param, name, v);
  }
  return s;
}

static tn_status add_layer(upgrade *u, const tn_proto_message *layers,
                           const tn_proto_message *layer) {
  const tn_str type = tn_proto_str(layer, "type");
  size_t k = 0;
  const size_t n = sizeof types / sizeof *types;
  for (; k < n && !tn_str_is(type, types[k].old);) k++;
  if (k == n) return layer_fails(u, layer, "is of no type that the oldest form of layers (V0) has");
  tn_proto_message *made = add_message(u, u->net, "layer"), *param = NULL;
  if (!made) return tn_proto_no_memory(u->f);
  made->at = layer->at;
  tn_status s = add_text(u, made, "name", tn_proto_str(layer, "name"));
  if (!s) s = add_text(u, made, "type", str(types[k].type));
  if (!s && types[k].param && !(param = add_message(u, made, types[k].param)))
    s = tn_proto_no_memory(u->f);
  if (!s && param) s = add_fields(u, layer, param);
  if (!s) s = add_bottoms(u, layers, layer, made, param);
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(layers, "top", v));)
    s = add_value(u, made, "top", v);
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(layer, "blobs", v));)
    s = add_value(u, made, "blobs", v);
  return s;
}

static bool is_oldest(const tn_proto_message *net) {
  const tn_proto_value *first = tn_proto_next(net, "layers", NULL);
  return first && tn_proto_sub(first->message, "layer") && !tn_proto_count(net, "layer");
}

static tn_status add_layers(upgrade *u) {
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(u->net, "layers", v));) {
    const tn_proto_message *layer = tn_proto_sub(v->message, "layer");
    if (!layer)
      return tn_proto_fail(u->f, TN_ERR_INVALID, v->at,
                           "layers of the oldest form (V0) and newer ones do not go together");
    s = tn_str_is(tn_proto_str(layer, "type"), "padding") ? note_padding(u, v->message, layer)
                                                          : add_layer(u, v->message, layer);
  }
  return s;
}

tn_status caffe_upgrade(caffe_reader *r, const tn_proto_file *f, tn_proto_message *net) {
  if (!is_oldest(net)) return TN_OK;
  upgrade u = {.f = f, .net = net};
  u.padding = tn_arena_alloc(f->arena, tn_proto_count(net, "layers") * sizeof *u.padding);
  if (!u.padding) return tn_proto_no_memory(f);
  tn_map_init(&u.pads, &r->allocator);
  const tn_status s = add_layers(&u);
  tn_map_free(&u.pads);
  return s;
}
