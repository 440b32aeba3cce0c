/* Telling Protobuf messages apart: they carry no name, but the numbers and wire types of their
 * fields fit one kind of file only. Only the first fields are looked at, so that a large file costs
 * no more than a small one, and one that breaks off is still known. */
#include <stdbool.h>
#include <string.h>

#include "base/identify.h"
#include "base/text.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, MAX_FIELDS = 64, MAX_NUMBER = 24 };

typedef struct span {
  const uint8_t *p, *end;
} span;

typedef struct field {
  uint64_t number, value;
  uint32_t wire;
  span bytes;
  bool is_cut; /* the message ends before it does */
} field;

static bool take_varint(span *s, uint64_t *out) {
  *out = 0;
  for (uint32_t shift = 0; shift < 64 && s->p < s->end; shift += 7) {
    const uint8_t byte = *s->p++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

/* False at the end, and where no field stands. */
static bool next(span *s, field *f) {
  uint64_t tag;
  *f = (field){0};
  if (s->p == s->end || !take_varint(s, &tag)) return false;
  f->number = tag >> 3;
  f->wire = (uint32_t)(tag & 7);
  if (!f->number || f->number > 0x1fffffff) return false;
  if (f->wire == VARINT) return take_varint(s, &f->value);
  uint64_t n = f->wire == FIXED64 ? 8 : 4;
  if (f->wire != FIXED64 && f->wire != FIXED32 && (f->wire != BYTES || !take_varint(s, &n)))
    return false;
  const uint64_t left = (uint64_t)(s->end - s->p);
  f->is_cut = n > left;
  f->bytes = (span){s->p, s->p + (f->is_cut ? left : n)};
  s->p = f->bytes.end;
  return true;
}

/* What a message's first fields are. */
typedef struct outline {
  uint32_t wires[MAX_NUMBER]; /* bit w: field k occurs with wire type w */
  uint64_t greatest, n;
  span first[MAX_NUMBER]; /* of field k, if it is of bytes */
  uint64_t value[MAX_NUMBER];
  bool whole; /* nothing is there but fields */
} outline;

static outline look(span s) {
  outline o = {.whole = true};
  field f;
  while (s.p < s.end && o.n < MAX_FIELDS && o.whole) {
    if (!next(&s, &f)) {
      o.whole = false;
      break;
    }
    o.n++;
    if (f.number > o.greatest) o.greatest = f.number;
    if (f.number >= MAX_NUMBER) continue;
    if (!o.wires[f.number]) {
      o.first[f.number] = f.bytes;
      o.value[f.number] = f.value;
    }
    o.wires[f.number] |= 1u << f.wire;
  }
  o.whole &= o.n > 0;
  return o;
}

static bool is(const outline *o, int number, uint32_t wire) {
  return o->wires[number] == 1u << wire;
}
static bool is_none(const outline *o, int number) { return !o->wires[number]; }

/* No field but these has another wire type than bytes, and none is greater than `most`. */
static bool bytes_but(const outline *o, uint32_t others, uint64_t most) {
  for (uint32_t k = 1; k < MAX_NUMBER; k++)
    if (o->wires[k] && !is(o, (int)k, BYTES) && !(others >> k & 1)) return false;
  return o->whole && o->greatest <= most;
}

static bool is_text(span s) {
  for (const uint8_t *p = s.p; p < s.end; p++)
    if (*p < 0x20 || *p == 0x7f) return false;
  return s.p < s.end && tn_utf8_valid((const char *)s.p, s.end - s.p);
}

/* tensorflow.NodeDef: name, op, inputs, device, attributes; and that of a graph. */
static bool is_graph_def(const outline *o) {
  if (!is(o, 1, BYTES) || !bytes_but(o, 1u << 3, 5)) return false;
  const outline node = look(o->first[1]);
  return bytes_but(&node, 0, 7) && is(&node, 1, BYTES) && is(&node, 2, BYTES) &&
         is_text(node.first[1]) && is_text(node.first[2]);
}

/* tensorflow.SavedModel: the version of its schema, which may be left out, MetaGraphDefs with a
 * graph in field 2. */
static bool is_saved_model(const outline *o) {
  if ((!is(o, 1, VARINT) && !is_none(o, 1)) || !is(o, 2, BYTES) || o->greatest > 2) return false;
  const outline meta = look(o->first[2]), graph = look(meta.first[2]);
  return bytes_but(&meta, 0, 8) && is(&meta, 2, BYTES) && is_graph_def(&graph);
}

/* onnx.ModelProto. */
static bool is_model_proto(const outline *o) {
  return is(o, 1, VARINT) && bytes_but(o, 1u << 1 | 1u << 5, 26) &&
         (is(o, 7, BYTES) || is(o, 8, BYTES));
}

/* onnx.TensorProto: dims, data_type, then elements. */
static bool is_tensor_proto(const outline *o) {
  return o->whole && o->greatest <= 16 && is(o, 2, VARINT) && o->value[2] >= 1 &&
         o->value[2] <= 40 && (is_none(o, 1) || is(o, 1, VARINT) || is(o, 1, BYTES)) &&
         !is_none(o, 1) + !is_none(o, 4) + !is_none(o, 5) + !is_none(o, 7) + !is_none(o, 9) > 0 &&
         (is_none(o, 8) || is(o, 8, BYTES)) && (is_none(o, 9) || is(o, 9, BYTES));
}

/* CoreML.Specification.Model: version, description, one of the kinds of model. */
static bool is_core_ml(const outline *o) {
  return o->whole && is(o, 1, VARINT) && is(o, 2, BYTES) && o->greatest >= 200 &&
         o->greatest <= 4000;
}

/* paddle.framework.proto.ProgramDesc: blocks, which begin with their numbers. */
static bool is_paddle(const outline *o) {
  if (!is(o, 1, BYTES) || !o->whole || o->greatest > 5) return false;
  const outline block = look(o->first[1]);
  return is(&block, 1, VARINT) && is(&block, 2, VARINT) && block.n > 2 &&
         (is(&block, 3, BYTES) || is(&block, 4, BYTES)) && block.greatest <= 5;
}

/* caffe.NetParameter: layers in field 100, or as older versions have them in field 2. */
static bool is_caffe(const outline *o) {
  const span name = o->first[1];
  const bool named = is_none(o, 1) || (is(o, 1, BYTES) && (name.p == name.end || is_text(name)));
  if (!named || !o->whole) return false;
  if (o->greatest == 100) return is_none(o, 2) || is(o, 2, BYTES);
  if (!is(o, 2, BYTES) || o->greatest > 8) return false;
  const outline layer = look(o->first[2]);
  return layer.n && is(&layer, 4, BYTES) && is(&layer, 5, VARINT);
}

/* caffe2.NetDef: operators with their type in field 4. */
static bool is_caffe2(const outline *o) {
  if (!is(o, 2, BYTES) || !bytes_but(o, 1u << 4, 12)) return false;
  const outline op = look(o->first[2]);
  return bytes_but(&op, 0, 12) && is(&op, 4, BYTES) && is_text(op.first[4]);
}

const char *tn_identify_protobuf(const uint8_t *data, uint64_t size) {
  if (!size) return NULL;
  const outline o = look((span){data, data + size});
  if (!o.whole) return NULL;
  if (is_core_ml(&o)) return "mlmodel";
  if (is_saved_model(&o)) return "saved-model";
  if (is_model_proto(&o)) return "onnx";
  if (is_graph_def(&o)) return "tensorflow";
  if (is_paddle(&o)) return "paddle";
  if (is_caffe(&o)) return "caffe";
  if (is_caffe2(&o)) return "caffe2";
  if (is_tensor_proto(&o)) return "onnx-tensor";
  return NULL;
}
