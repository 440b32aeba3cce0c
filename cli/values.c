/* Reading a value by the ending of its file, and bringing it to the type that is wanted. */
#include "values.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

/* ---- what is wanted ---- */

/* "f32[1,?]" or "sequence of f32" of what is wanted. */
static const char *wanted_text(const cli_reading *r, char *buf) {
  return cli_type_text(r->want, NULL, -1, buf);
}

tn_status cli_value_place(const cli_reading *r, const char *path, int64_t n, const char *what,
                          tn_tensor *out) {
  char text[CLI_TYPE_TEXT];
  int32_t open = -1, n_open = 0;
  int64_t known = 1;
  const tn_tensor *want = r->want;
  if (want->rank < 0) {
    *out = tn_tensor_make(want->dtype, 1, &n, NULL);
    return TN_OK;
  }
  *out = tn_tensor_make(want->dtype, want->rank, want->shape, NULL);
  for (int32_t k = 0; k < want->rank; k++) {
    if (want->shape[k] < 0) {
      open = k;
      n_open++;
    } else if (tn_mul_i64(known, want->shape[k], &known)) {
      known = 0;
    }
  }
  if (n_open > 1)
    return tn_fail(r->diag, TN_ERR_SHAPE,
                   "%s: %lld %s: the input is %s, which leaves more than one dim open; say them "
                   "with --shape or --dim",
                   path, (long long)n, what, wanted_text(r, text));
  if (n_open) out->shape[open] = known ? n / known : 0;
  if (n_open ? known && n % known == 0 : known == n) return TN_OK;
  return tn_fail(r->diag, TN_ERR_SHAPE, "%s: %lld %s do not fit %s", path, (long long)n, what,
                 wanted_text(r, text));
}

void cli_store_clamped(uint32_t dtype, void *data, int64_t k, double value) {
  const tn_dtype_info *info = tn_dtype(dtype);
  if (info->is_int) {
    uint32_t bits = info->is_signed ? info->bits - 1 : info->bits;
    double most = ldexp(1, (int)bits) - 1, least = info->is_signed ? -ldexp(1, (int)bits) : 0;
    value = nearbyint(value);
    value = value < least ? least : value > most ? most : value;
    if (bits > 53 && value >= most) value = nextafter(most, 0); /* 2^63-1 is no f64 */
  }
  tn_store_f64(dtype, data, k, value);
}

/* ---- kinds of files ---- */

static tn_status read_npy(const cli_reading *r, const char *path, tn_tensor *out) {
  tn_mapping file;
  tn_status s = tn_file_map(path, r->diag, &file);
  if (s) return s;
  s = cli_npy_parse(path, file.data, file.size, &r->store->arena, r->diag, out);
  tn_file_unmap(&file);
  return s;
}

typedef struct only {
  const tn_tensor *want;
  tn_tensor t;
  int n;
} only;

/* One that does not fit is counted, and its type is answered for the caller to complain of. */
static tn_status look_only(void *self, const char *name, const tn_tensor *t, bool *out_wanted) {
  only *o = self;
  (void)name;
  *out_wanted = cli_value_may_fit(t, o->want);
  if (*out_wanted) return TN_OK;
  o->t = *t;
  o->n++;
  return TN_OK;
}

static tn_status visit_only(void *self, const char *name, const tn_tensor *t) {
  only *o = self;
  (void)name;
  o->t = *t;
  o->n++;
  return TN_OK;
}

static tn_status read_npz(const cli_reading *r, const char *path, tn_tensor *out) {
  only o = {.want = r->want};
  tn_status s =
      cli_npz_each(path, &r->store->arena, r->diag, &(cli_npz_visitor){&o, look_only, visit_only});
  if (s) return s;
  *out = o.t;
  if (o.n == 1) return TN_OK;
  return tn_fail(r->diag, TN_ERR_INVALID, "%s: holds %d arrays; which one is meant?", path, o.n);
}

static tn_status read_pb(const cli_reading *r, const char *path, tn_tensor *out, char *out_name) {
  tn_tensor *value = NULL;
  tn_status s = tn_value_load(r->runtime, path, "onnx", r->want->kind, r->diag, &value, out_name,
                              CLI_NAME_MAX);
  if (s) return s;
  if (tn_vec_push(tn_default_allocator(), &r->store->loaded, value)) {
    tn_value_destroy(value);
    return tn_fail(r->diag, TN_ERR_MEMORY, "%s: no memory", path);
  }
  *out = *value;
  return TN_OK;
}

static tn_status read_raw(const cli_reading *r, const char *path, const tn_mapping *file,
                          tn_tensor *out) {
  uint32_t bits = tn_dtype(r->want->dtype)->bits;
  if (!bits || r->want->dtype == TN_STRING)
    return tn_fail(r->diag, TN_ERR_UNSUPPORTED, "%s: raw bytes cannot be elements of type %s", path,
                   tn_dtype_name(r->want->dtype));
  int64_t n = (int64_t)(file->size / bits * 8 + file->size % bits * 8 / bits);
  *out =
      tn_tensor_make(r->want->dtype, r->want->rank < 0 ? 0 : r->want->rank, r->want->shape, NULL);
  /* Elements narrower than a byte: the last byte may be filled in part, so the shape decides. */
  bool sized = bits < 8 && r->want->rank >= 0 && tn_tensor_bytes(out) == (int64_t)file->size;
  tn_status s = sized ? TN_OK : cli_value_place(r, path, n, "elements", out);
  if (!s && tn_tensor_bytes(out) != (int64_t)file->size)
    s = tn_fail(r->diag, TN_ERR_SHAPE, "%s: %llu bytes are no whole number of %s elements", path,
                (unsigned long long)file->size, tn_dtype_name(r->want->dtype));
  if (s) return s;
  out->data = tn_arena_copy(&r->store->arena, file->data, file->size);
  return out->data ? TN_OK : cli_no_memory(r->diag, path, (int64_t)file->size);
}

static tn_status read_mapped(const cli_reading *r, const char *path, bool image, tn_tensor *out) {
  tn_mapping file;
  tn_status s = tn_file_map(path, r->diag, &file);
  if (s) return s;
  s = image ? cli_image_read(r, path, &file, out) : read_raw(r, path, &file, out);
  tn_file_unmap(&file);
  return s;
}

/* ---- types that .npy lacks ---- */

static bool stands_for(uint32_t have, uint32_t want) {
  const tn_dtype_info *w = tn_dtype(want);
  if (have == TN_F32) return w->is_float && (w->bits < 16 || want == TN_BF16);
  if (have == TN_I8 || have == TN_U8)
    return w->is_int && w->bits < 8 && w->is_signed == (have == TN_I8);
  return false;
}

bool cli_value_may_fit(const tn_tensor *t, const tn_tensor *want) {
  if (want->kind != TN_KIND_TENSOR) return false;
  if (want->dtype != TN_NONE && t->dtype != want->dtype && !stands_for(t->dtype, want->dtype))
    return false;
  if (want->rank == TN_RANK_UNKNOWN) return true;
  for (int32_t d = 0; d < t->rank && d < want->rank; d++)
    if (want->shape[d] >= 0 && want->shape[d] != t->shape[d]) return false;
  return t->rank == want->rank;
}

tn_status cli_value_adapt(const cli_reading *r, const char *path, tn_tensor *t) {
  if (!stands_for(t->dtype, r->want->dtype)) return TN_OK;
  tn_tensor to = tn_tensor_make(r->want->dtype, t->rank, t->shape, NULL);
  int64_t n = tn_tensor_elements(t), bytes = tn_tensor_bytes(&to);
  to.data = bytes < 0 ? NULL : tn_arena_alloc(&r->store->arena, (uint64_t)bytes);
  if (!to.data) return cli_no_memory(r->diag, path, bytes);
  for (int64_t k = 0; k < n; k++)
    cli_store_clamped(to.dtype, to.data, k, tn_load_f64(t->dtype, t->data, k));
  *t = to;
  return TN_OK;
}

/* ---- by ending ---- */

static bool ends_in(const char *path, const char *const *endings) {
  size_t n = strlen(path);
  for (; *endings; endings++) {
    size_t m = strlen(*endings);
    if (n > m && !strcasecmp(path + n - m, *endings)) return true;
  }
  return false;
}

tn_status cli_value_read(const cli_reading *r, const char *path, tn_tensor *out, char *out_name) {
  static const char *const npy[] = {".npy", NULL}, *const npz[] = {".npz", NULL},
                           *const pb[] = {".pb", NULL},
                           *const image[] = {".png", ".jpg", ".jpeg", ".bmp", NULL},
                           *const sound[] = {".wav", ".flac", ".ogg", NULL},
                           *const raw[] = {".bin", ".raw", NULL};
  char name[CLI_NAME_MAX], text[CLI_TYPE_TEXT];
  char *to_name = out_name ? out_name : name;
  *to_name = 0;
  if (ends_in(path, pb)) return read_pb(r, path, out, to_name);
  if (r->want->kind != TN_KIND_TENSOR)
    return tn_fail(r->diag, TN_ERR_UNSUPPORTED, "%s: a %s can be read from a .pb file only", path,
                   wanted_text(r, text));
  if (ends_in(path, image)) return read_mapped(r, path, true, out);
  if (ends_in(path, sound)) return cli_wav_read(r, path, out);
  if (ends_in(path, raw)) return read_mapped(r, path, false, out);
  tn_status s;
  if (ends_in(path, npy))
    s = read_npy(r, path, out);
  else if (ends_in(path, npz))
    s = read_npz(r, path, out);
  else
    s = tn_fail(r->diag, TN_ERR_UNSUPPORTED,
                "%s: what is in this file? It must end in .npy, .npz, .pb, .png, .jpg, .jpeg, "
                ".bmp, .wav, .flac, .ogg, .bin or .raw",
                path);
  return s ? s : cli_value_adapt(r, path, out);
}
