/* Values in files: .npy, .npz, .pb, images, sound and raw bytes are read; .npy is written.
 *
 * Everything read belongs to a store and dies with it. All functions report to a diag; messages
 * begin with the path. */
#ifndef TN_CLI_VALUES_H
#define TN_CLI_VALUES_H

#include "base/file.h"
#include "cli.h"

static inline tn_status cli_no_memory(tn_diag *diag, const char *what, int64_t bytes) {
  return tn_fail(diag, TN_ERR_MEMORY, "%s: no memory for %lld bytes", what, (long long)bytes);
}

/* Memory of values. */
typedef struct cli_store {
  tn_arena arena;
  TN_VEC(tn_tensor *) loaded; /* of tn_value_load */
} cli_store;
void cli_store_init(cli_store *store);
void cli_store_free(cli_store *store);

/* How images become tensors: (pixel * scale - mean) / std, pixels 0..255, per channel. */
enum { CLI_LAYOUT_AUTO, CLI_LAYOUT_NCHW, CLI_LAYOUT_NHWC };
/* What becomes of a picture that has not the size of the input: an error, or see image_resize.h. */
typedef enum cli_resize {
  CLI_RESIZE_NONE,
  CLI_RESIZE_CROP,
  CLI_RESIZE_STRETCH,
  CLI_RESIZE_PAD
} cli_resize;
typedef struct cli_image_options {
  cli_resize resize;
  int layout; /* CLI_LAYOUT_...; AUTO: what the shape of the input allows, NCHW first */
  double scale, mean[4], std[4];
  int n_mean, n_std; /* 0: mean 0, std 1; 1: for all channels */
  bool gray;
} cli_image_options;

typedef struct cli_reading {
  tn_runtime *runtime;
  cli_store *store;
  const tn_tensor *want; /* what is wanted: kind, dtype, rank and dims as far as known */
  const cli_image_options *image;
  tn_diag *diag;
} cli_reading;

/* Reads a file by its ending. The answer has the wanted dtype: images and sound are converted, so
 * is what .npy has no type for (see cli_npy_write); other types must be the wanted one, and are
 * answered as they are for the caller to complain of. out_name (may be NULL): a name that the file
 * gives, "" if none. */
enum { CLI_NAME_MAX = 256 };
tn_status cli_value_read(const cli_reading *r, const char *path, tn_tensor *out, char *out_name);
/* True if a tensor of this type can be given where `want` is wanted. */
bool cli_value_may_fit(const tn_tensor *t, const tn_tensor *want);
/* What cli_value_read does with .npy: elements that stand for a wanted type that NumPy lacks become
 * that type. */
tn_status cli_value_adapt(const cli_reading *r, const char *path, tn_tensor *t);
/* Fills the one unknown dim of `want` so that it has n elements. TN_ERR_SHAPE with a message if
 * that cannot be; what: "samples". */
tn_status cli_value_place(const cli_reading *r, const char *path, int64_t n, const char *what,
                          tn_tensor *out);
/* Element k of a f64 row, rounded and clamped to what the dtype can hold. */
void cli_store_clamped(uint32_t dtype, void *data, int64_t k, double value);

/* ---- .npy (npy.c, npy_write.c) ---- */

/* A tensor out of the bytes of a .npy file; path is for messages. Elements are copied into the
 * arena: byte order and column order are put right, strings become UTF-8. bf16 is read from
 * '<V2'. */
tn_status cli_npy_parse(const char *path, const uint8_t *data, uint64_t size, tn_arena *arena,
                        tn_diag *diag, tn_tensor *out);
/* Only its type, which the first bytes say: `size` of them, of `whole` that there are. */
tn_status cli_npy_type(const char *path, const uint8_t *data, uint64_t size, uint64_t whole,
                       tn_diag *diag, tn_tensor *out);
/* Writes a plain tensor; the file is replaced whole or not at all. NumPy has no types for bf16, the
 * 8- and 4-bit floats and the 4- and 2-bit integers: these are written as f32, i8 and u8, which
 * hold all their values. */
tn_status cli_npy_write(const char *path, const tn_tensor *t, tn_diag *diag);

/* ---- .npz (npz.c) ---- */

/* Is shown each member, in the order of the archive, until a function answers not TN_OK. name:
 * without ".npy". */
typedef struct cli_npz_visitor {
  void *self;
  /* Before the member is unpacked: t is its type. It is only if *out_wanted stays true. NULL: all
   * are wanted. */
  tn_status (*look)(void *self, const char *name, const tn_tensor *t, bool *out_wanted);
  tn_status (*visit)(void *self, const char *name, const tn_tensor *t);
} cli_npz_visitor;

/* Members are stored or deflated, as NumPy writes them; what claims more bytes than the file can
 * hold is refused. */
tn_status cli_npz_each(const char *path, tn_arena *arena, tn_diag *diag,
                       const cli_npz_visitor *visitor);
/* The same of bytes; path is for messages. */
tn_status cli_npz_parse(const char *path, const uint8_t *data, uint64_t size, tn_arena *arena,
                        tn_diag *diag, const cli_npz_visitor *visitor);

/* ---- images and sound (image.c, wav.c) ---- */

tn_status cli_image_read(const cli_reading *r, const char *path, const tn_mapping *file,
                         tn_tensor *out);
tn_status cli_wav_read(const cli_reading *r, const char *path, tn_tensor *out);

#endif
