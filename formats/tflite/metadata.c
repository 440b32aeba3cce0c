/* The FlatBuffer inside of a model with what people say about it: who made it, how inputs are
 * normalised, which files go with it. Nothing of it changes what a model computes, so one that is
 * broken is passed over. */
#include <stdio.h>

#include "reader.h"

enum { INFO_NAME, INFO_DESCRIPTION, INFO_VERSION, INFO_SUBGRAPHS, INFO_AUTHOR, INFO_LICENSE };
enum { INFO_FILES = 6 };
enum { PART_INPUTS = 2, PART_OUTPUTS, PART_FILES };
enum { TENSOR_UNITS = 4, TENSOR_FILES = 6 };
enum { UNIT_TYPE, UNIT_OPTIONS, NORMALIZATION = 1 };
enum { NORM_MEAN, NORM_STD };
enum { FILE_NAME, MOST_FILES = 64, MOST_NAME = 200, MOST_CHANNELS = 8 };

static const char *const no_fields[] = {NULL};
static const tn_flat_type any = {"metadata", no_fields};

typedef struct info {
  tflite_reader *r;
  tn_graph *g;
  tn_flat flat;
  const char *files; /* "a.txt, b.txt" */
  int32_t n_files;
} info;

static tn_status note(const info *m, const char *key, const char *text) {
  if (!text) return TN_ERR_MEMORY;
  return *text ? m->r->api->set_meta(m->g, key, text) : TN_OK;
}

static tn_status note_field(const info *m, const tn_flat_table *t, uint32_t field,
                            const char *key) {
  return note(m, key, tflite_name(m->r, tn_flat_text(t, field)));
}

/* Adds the files that the table lists. */
static tn_status list_files(info *m, const tn_flat_table *t, uint32_t field) {
  const tn_flat_vector list = tn_flat_vec(t, field, 4);
  for (uint64_t k = 0; k < list.n && m->n_files < MOST_FILES; k++) {
    const tn_flat_table file = tn_flat_item(&list, k, &any);
    const char *name = tflite_name(m->r, tn_flat_text(&file, FILE_NAME));
    if (name && *name && strlen(name) <= MOST_NAME) {
      const char *comma = m->n_files++ ? ", " : "";
      name = m->files = tn_arena_format(&m->r->arena, "%s%s%s", m->files, comma, name);
    }
    if (!name) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

/* "127.5" or "0.485 0.456 0.406"; "" if there are none. */
static const char *numbers(const info *m, const tn_flat_table *t, uint32_t field) {
  const tn_flat_vector list = tn_flat_vec(t, field, 4);
  const char *text = "";
  for (uint64_t k = 0; k < list.n && k < MOST_CHANNELS && text; k++)
    text = tn_arena_format(&m->r->arena, "%s%s%g", text, k ? " " : "", tn_flat_float_at(&list, k));
  return text;
}

/* What is taken off an input, and what it is divided by then. */
static tn_status note_normalization(const info *m, const tn_flat_table *tensor, uint64_t index) {
  const tn_flat_vector units = tn_flat_vec(tensor, TENSOR_UNITS, 4);
  for (uint64_t k = 0; k < units.n; k++) {
    const tn_flat_table unit = tn_flat_item(&units, k, &any);
    if (tn_flat_uint(&unit, UNIT_TYPE, 1, 0) != NORMALIZATION) continue;
    const tn_flat_table norm = tn_flat_sub(&unit, UNIT_OPTIONS, &any);
    const char *mean = numbers(m, &norm, NORM_MEAN), *std = numbers(m, &norm, NORM_STD);
    char key[40];
    snprintf(key, sizeof key, "input_%llu_is", (unsigned long long)index);
    if (!mean || !std) return TN_ERR_MEMORY;
    if (m->flat.status || !*mean || !*std) return TN_OK;
    return note(m, key, tn_arena_format(&m->r->arena, "(x - %s) / %s", mean, std));
  }
  return TN_OK;
}

/* The first file that goes with an output tells its classes. */
static tn_status note_labels(const info *m, const tn_flat_table *tensor, uint64_t index) {
  const tn_flat_vector list = tn_flat_vec(tensor, TENSOR_FILES, 4);
  char key[40];
  if (!list.n) return TN_OK;
  const tn_flat_table file = tn_flat_item(&list, 0, &any);
  snprintf(key, sizeof key, "output_%llu_labels", (unsigned long long)index);
  return note(m, key, tflite_name(m->r, tn_flat_text(&file, FILE_NAME)));
}

static tn_status read_tensors(info *m, const tn_flat_table *part, uint32_t field) {
  const tn_flat_vector list = tn_flat_vec(part, field, 4);
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < list.n && !s && !m->flat.status; k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &any);
    if (field == PART_INPUTS) s = note_normalization(m, &t, k);
    if (field == PART_OUTPUTS && !s) s = note_labels(m, &t, k);
    if (!s) s = list_files(m, &t, TENSOR_FILES);
  }
  return s;
}

tn_status tflite_metadata_read(tflite_reader *r, tn_graph *g, tn_str bytes) {
  info m = {.r = r, .g = g, .files = ""};
  if (!tn_flat_is(bytes.data, (uint64_t)bytes.size, "M001")) return TN_OK;
  tn_flat_open(&m.flat, bytes.data, (uint64_t)bytes.size);
  const tn_flat_table root = tn_flat_root(&m.flat, &any);
  tn_status s = note_field(&m, &root, INFO_NAME, "model_name");
  if (!s) s = note_field(&m, &root, INFO_DESCRIPTION, "description");
  if (!s) s = note_field(&m, &root, INFO_VERSION, "model_version");
  if (!s) s = note_field(&m, &root, INFO_AUTHOR, "author");
  if (!s) s = note_field(&m, &root, INFO_LICENSE, "license");
  if (!s) s = list_files(&m, &root, INFO_FILES);
  const tn_flat_vector parts = tn_flat_vec(&root, INFO_SUBGRAPHS, 4);
  if (parts.n && !s) {
    const tn_flat_table part = tn_flat_item(&parts, 0, &any);
    s = read_tensors(&m, &part, PART_INPUTS);
    if (!s) s = read_tensors(&m, &part, PART_OUTPUTS);
    if (!s) s = list_files(&m, &part, PART_FILES);
  }
  return s ? s : note(&m, "files", m.files);
}
