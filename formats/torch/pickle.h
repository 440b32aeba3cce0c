/* Pickles of PyTorch, read as data: an interpreter of the opcodes that PyTorch writes makes inert
 * values, and names of Python are looked up in a closed list. Nothing is imported or called. */
#ifndef TN_FORMATS_TORCH_PICKLE_H
#define TN_FORMATS_TORCH_PICKLE_H

#include "base/alloc.h"
#include "base/map.h"
#include "base/zip.h"

typedef enum torch_pickled_kind {
  PICKLED_NONE,
  PICKLED_BOOL,    /* i */
  PICKLED_INT,     /* i */
  PICKLED_FLOAT,   /* f */
  PICKLED_COMPLEX, /* f, imag */
  PICKLED_STR,     /* text */
  PICKLED_TUPLE,   /* items */
  PICKLED_LIST,    /* items */
  PICKLED_DICT,    /* items: key, value, key, value ... */
  PICKLED_OBJECT,  /* text: its class; items[0]: its state, if it has any */
  PICKLED_TENSOR,  /* tensor */
  PICKLED_DEVICE,  /* text */
  PICKLED_GLOBAL,  /* text: "torch FloatStorage" */
  PICKLED_STORAGE  /* storage */
} torch_pickled_kind;

typedef struct torch_storage {
  const char *key; /* of its member */
  const uint8_t *data;
  uint64_t bytes;
  uint32_t dtype;    /* TN_NONE: untyped */
  bool is_quantised; /* its elements are codes */
} torch_storage;

typedef struct torch_tensor {
  const torch_storage *storage;
  uint32_t dtype;
  int32_t rank;
  int64_t offset, shape[TN_MAX_RANK], strides[TN_MAX_RANK]; /* in elements */
  /* of quantised ones: */
  bool is_quantised;
  int64_t axis; /* -1: one scale */
  double scale;
  int64_t zero;
  const struct torch_pickled *scales, *zeros; /* tensors, one element per channel */
} torch_tensor;

typedef struct torch_pickled {
  torch_pickled_kind kind;
  uint64_t at; /* where in the pickle */
  int64_t i;
  double f, imag;
  const char *text; /* zero-terminated, UTF-8 */
  int64_t n_text;
  struct torch_pickled **items;
  int64_t n, cap;
  torch_tensor *tensor;
  const torch_storage *storage;
} torch_pickled;

/* What a pickle is read with. */
typedef struct torch_pickle {
  tn_zip *zip;
  tn_arena *arena;
  const char *member; /* "model/data.pkl", for messages */
  const char *folder; /* where its storages lie: "model/data/" */
  tn_map storages;    /* by key; torch_storage * as int64 */
  char message[400];  /* what is wrong, once a call failed */
} torch_pickle;

/* The arena and zip outlive what is read. Close it whatever was answered. */
tn_status torch_pickle_read(torch_pickle *p, const uint8_t *data, uint64_t size,
                            torch_pickled **out);
void torch_pickle_close(torch_pickle *p);
/* Whether the elements lie in row-major order without gaps. */
bool torch_tensor_is_dense(const torch_tensor *t);
/* Its elements in row-major order, into memory for them. */
void torch_tensor_copy(const torch_tensor *t, uint8_t *out);

/* ---- between the two files ---- */

torch_pickled *torch_pickle_new(torch_pickle *p, torch_pickled_kind kind, uint64_t at);
/* Records the message, with the place. Answers code. */
tn_status(torch_pickle_fail)(torch_pickle *p, tn_status code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
tn_status torch_pickle_no_memory(torch_pickle *p);
/* Whether a name of Python is on the list. */
bool torch_pickle_knows(const char *name);
/* What calling the name with the tuple would make. */
tn_status torch_pickle_reduce(torch_pickle *p, const torch_pickled *name, torch_pickled *args,
                              torch_pickled **out);
/* ("storage", type, key, place, count) as a storage. */
tn_status torch_pickle_persistent(torch_pickle *p, const torch_pickled *id, torch_pickled **out);

#endif
