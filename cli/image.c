/* Reading images through stb_image: pixels become a tensor of the shape that is wanted. */
#include <limits.h>
#include <string.h>

#include "image_resize.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"

#if TENON_STB
#include <stb/stb_image.h>

/* Where the dims of an image stand in the tensor; -1: nowhere. */
typedef struct form {
  int32_t rank, batch, channel, height, width;
} form;

static const form nchw[] = {{4, 0, 1, 2, 3}, {3, -1, 0, 1, 2}, {2, -1, -1, 0, 1}};
static const form nhwc[] = {{4, 0, 3, 1, 2}, {3, -1, 2, 0, 1}, {2, -1, -1, 0, 1}};

typedef struct picture {
  const cli_reading *r;
  const char *path;
  cli_size size, to; /* of the file, of the tensor */
  int channels;
  form f;
} picture;

enum { MOST_PIXELS = 1 << 16 }; /* in a row or column of what is resized */

static bool dim_fits(const tn_tensor *want, int32_t k, int64_t n) {
  return k < 0 || want->shape[k] < 0 || want->shape[k] == n;
}

/* The size that the wanted shape asks for in this form; a dim that it leaves open is that of the
 * picture. */
static bool size_for(const picture *p, const form *f, cli_resize resize, cli_size *out) {
  const int64_t *want = p->r->want->shape, height = want[f->height], width = want[f->width];
  *out = p->size;
  if (resize && width >= 0) out->width = (int)tn_min_i64(width, MOST_PIXELS);
  if (resize && height >= 0) out->height = (int)tn_min_i64(height, MOST_PIXELS);
  return out->width > 0 && out->height > 0 && dim_fits(p->r->want, f->width, out->width) &&
         dim_fits(p->r->want, f->height, out->height);
}

/* Channels that the wanted shape asks for in this form; 0: it does not fit. */
static int channels_for(const picture *p, const form *f) {
  const tn_tensor *want = p->r->want;
  if (!dim_fits(want, f->batch, 1)) return 0;
  if (f->channel < 0) return 1;
  int64_t n = want->shape[f->channel];
  if (n < 0) n = p->r->image->gray ? 1 : 3;
  if (p->r->image->gray && n != 1) return 0;
  return n == 1 || n == 3 || n == 4 ? (int)n : 0;
}

static bool try_forms(picture *p, const form *forms, cli_resize resize, bool open_channels) {
  const tn_tensor *want = p->r->want;
  for (int k = 0; k < 3; k++) {
    if (forms[k].rank != want->rank) continue;
    if (forms[k].channel >= 0 && open_channels != (want->shape[forms[k].channel] < 0)) continue;
    p->f = forms[k];
    p->channels = size_for(p, &forms[k], resize, &p->to) ? channels_for(p, &forms[k]) : 0;
    if (p->channels) return true;
  }
  return false;
}

/* Layouts in which the shape says how many channels there are come first. */
static bool try_layouts(picture *p, cli_resize resize) {
  const int layout = p->r->image->layout;
  for (int open = 0; open < 2; open++)
    if ((layout != CLI_LAYOUT_NHWC && try_forms(p, nchw, resize, open)) ||
        (layout != CLI_LAYOUT_NCHW && try_forms(p, nhwc, resize, open)))
      return true;
  return false;
}

static tn_status choose_form(picture *p) {
  const cli_image_options *o = p->r->image;
  char text[CLI_TYPE_TEXT];
  if (p->r->want->rank < 0) {
    p->f = o->layout == CLI_LAYOUT_NHWC ? nhwc[0] : nchw[0];
    p->channels = o->gray ? 1 : 3;
    p->to = p->size;
    return TN_OK;
  }
  if (try_layouts(p, o->resize)) return TN_OK;
  return tn_fail(p->r->diag, TN_ERR_SHAPE,
                 "%s: a%s picture of %d x %d pixels (width x height) does not fit %s%s%s", p->path,
                 o->gray ? " gray" : "", p->size.width, p->size.height,
                 cli_type_text(p->r->want, NULL, -1, text),
                 o->layout == CLI_LAYOUT_NCHW   ? " as NCHW"
                 : o->layout == CLI_LAYOUT_NHWC ? " as NHWC"
                                                : "",
                 try_layouts(p, CLI_RESIZE_CROP) ? "; --resize makes it fit" : "");
}

static tn_status check_options(const picture *p) {
  const cli_image_options *o = p->r->image;
  const tn_dtype_info *info = tn_dtype(p->r->want->dtype);
  if (!info->is_float && !info->is_int)
    return tn_fail(p->r->diag, TN_ERR_UNSUPPORTED, "%s: pixels cannot be elements of type %s",
                   p->path, info->name);
  bool ok =
      (o->n_mean <= 1 || o->n_mean == p->channels) && (o->n_std <= 1 || o->n_std == p->channels);
  if (ok) return TN_OK;
  return tn_fail(p->r->diag, TN_ERR_INVALID,
                 "%s: --mean and --std need one number, or one for each of %d channels", p->path,
                 p->channels);
}

static void make_shape(const picture *p, tn_tensor *out) {
  *out = tn_tensor_make(p->r->want->dtype, p->f.rank, (int64_t[4]){1, 1, 1, 1}, NULL);
  out->shape[p->f.height] = p->to.height;
  out->shape[p->f.width] = p->to.width;
  if (p->f.channel >= 0) out->shape[p->f.channel] = p->channels;
}

static void convert(const picture *p, const uint8_t *pixels, tn_tensor *out) {
  const cli_image_options *o = p->r->image;
  int64_t stride[4] = {0}, step = 1;
  for (int32_t k = p->f.rank - 1; k >= 0; k--) {
    stride[k] = step;
    step *= out->shape[k];
  }
  for (int c = 0; c < p->channels; c++) {
    double mean = o->n_mean ? o->mean[o->n_mean > 1 ? c : 0] : 0;
    double std = o->n_std ? o->std[o->n_std > 1 ? c : 0] : 1;
    int64_t at_c = p->f.channel < 0 ? 0 : c * stride[p->f.channel];
    for (int y = 0; y < p->to.height; y++)
      for (int x = 0; x < p->to.width; x++) {
        double v = pixels[((int64_t)y * p->to.width + x) * p->channels + c];
        cli_store_clamped(out->dtype, out->data,
                          at_c + y * stride[p->f.height] + x * stride[p->f.width],
                          (v * o->scale - mean) / std);
      }
  }
}

static tn_status resize(const picture *p, const uint8_t *pixels, tn_tensor *out) {
  const int64_t bytes = (int64_t)p->to.width * p->to.height * p->channels;
  uint8_t *resized = tn_arena_alloc(&p->r->store->arena, (uint64_t)bytes);
  if (!resized ||
      !cli_image_resize(pixels, p->size, p->channels, p->r->image->resize, p->to, resized))
    return cli_no_memory(p->r->diag, p->path, bytes);
  convert(p, resized, out);
  return TN_OK;
}

static tn_status decode(picture *p, const tn_mapping *file, tn_tensor *out) {
  make_shape(p, out);
  int64_t bytes = tn_tensor_bytes(out);
  out->data = bytes < 0 ? NULL : tn_arena_alloc(&p->r->store->arena, (uint64_t)bytes);
  if (!out->data) return cli_no_memory(p->r->diag, p->path, tn_tensor_bytes(out));
  int width = 0, height = 0, channels = 0;
  uint8_t *pixels =
      stbi_load_from_memory(file->data, (int)file->size, &width, &height, &channels, p->channels);
  tn_status s = TN_OK;
  if (!pixels || width != p->size.width || height != p->size.height)
    s = tn_fail(p->r->diag, TN_ERR_INVALID, "%s: not a picture that can be read: %s", p->path,
                stbi_failure_reason());
  else if (width != p->to.width || height != p->to.height)
    s = resize(p, pixels, out);
  else
    convert(p, pixels, out);
  stbi_image_free(pixels);
  return s;
}

tn_status cli_image_read(const cli_reading *r, const char *path, const tn_mapping *file,
                         tn_tensor *out) {
  picture p = {.r = r, .path = path};
  int channels;
  if (file->size > INT_MAX)
    return tn_fail(r->diag, TN_ERR_OVERFLOW, "%s: pictures of more than 2 GB are not read", path);
  if (!stbi_info_from_memory(file->data, (int)file->size, &p.size.width, &p.size.height, &channels))
    return tn_fail(r->diag, TN_ERR_INVALID, "%s: not a picture that can be read: %s", path,
                   stbi_failure_reason());
  tn_status s = choose_form(&p);
  if (!s) s = check_options(&p);
  return s ? s : decode(&p, file, out);
}

#else

tn_status cli_image_read(const cli_reading *r, const char *path, const tn_mapping *file,
                         tn_tensor *out) {
  (void)file, (void)out;
  return tn_fail(r->diag, TN_ERR_UNSUPPORTED,
                 "%s: pictures are not read: this tenon was built without stb (libstb-dev)", path);
}

#endif
