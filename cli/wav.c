/* Reading sound through libsndfile: samples from -1 to 1, channels averaged. */
#include <string.h>

#include "tenon/kit/dtype.h"
#include "values.h"

#if TENON_SNDFILE
#include <sndfile.h>

enum { CHUNK = 16384, MAX_CHANNELS = 64 };

typedef TN_VEC(float) samples;

/* Lengths that files claim are not believed: what can be read counts. */
static tn_status read_all(SNDFILE *file, int channels, samples *out) {
  const tn_allocator *a = tn_default_allocator();
  float *chunk = tn_alloc(a, (uint64_t)CHUNK * (uint64_t)channels * sizeof *chunk);
  tn_status s = chunk ? TN_OK : TN_ERR_MEMORY;
  for (sf_count_t n = 1; !s && n > 0;) {
    n = sf_readf_float(file, chunk, CHUNK);
    if (n > 0) s = tn_vec_room(a, out, n);
    for (sf_count_t k = 0; !s && k < n; k++) {
      double sum = 0;
      for (int c = 0; c < channels; c++) sum += (double)chunk[k * channels + c];
      out->data[out->n++] = (float)(sum / channels);
    }
  }
  tn_free(a, chunk, (uint64_t)CHUNK * (uint64_t)channels * sizeof *chunk);
  return s;
}

static tn_status give(const cli_reading *r, const char *path, const samples *all, tn_tensor *out) {
  uint32_t dtype = r->want->dtype;
  if (!tn_dtype(dtype)->is_float && dtype != TN_I16)
    return tn_fail(r->diag, TN_ERR_UNSUPPORTED, "%s: samples cannot be elements of type %s", path,
                   tn_dtype_name(dtype));
  tn_status s = cli_value_place(r, path, all->n, "samples", out);
  if (s) return s;
  int64_t bytes = tn_tensor_bytes(out);
  out->data = bytes < 0 ? NULL : tn_arena_alloc(&r->store->arena, (uint64_t)bytes);
  if (!out->data) return cli_no_memory(r->diag, path, tn_tensor_bytes(out));
  double scale = dtype == TN_I16 ? 32768 : 1;
  for (int64_t k = 0; k < all->n; k++)
    cli_store_clamped(dtype, out->data, k, (double)all->data[k] * scale);
  return TN_OK;
}

tn_status cli_wav_read(const cli_reading *r, const char *path, tn_tensor *out) {
  tn_mapping there; /* for a message like that of all other files if it is not */
  tn_status s = tn_file_map(path, r->diag, &there);
  if (s) return s;
  tn_file_unmap(&there);
  SF_INFO info = {0};
  SNDFILE *file = sf_open(path, SFM_READ, &info);
  if (!file || info.channels < 1 || info.channels > MAX_CHANNELS) {
    tn_fail(r->diag, TN_ERR_INVALID, "%s: not sound that can be read: %s", path,
            file ? "its number of channels" : sf_strerror(NULL));
    sf_close(file);
    return TN_ERR_INVALID;
  }
  samples all = {0};
  s = read_all(file, info.channels, &all);
  if (s) tn_fail(r->diag, s, "%s: no memory", path);
  sf_close(file);
  if (!s) s = give(r, path, &all, out);
  tn_vec_free(tn_default_allocator(), &all);
  return s;
}

#else

tn_status cli_wav_read(const cli_reading *r, const char *path, tn_tensor *out) {
  (void)out;
  return tn_fail(r->diag, TN_ERR_UNSUPPORTED,
                 "%s: sound is not read: this tenon was built without libsndfile (libsndfile1-dev)",
                 path);
}

#endif
