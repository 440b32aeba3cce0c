/* What the files of the registry share: loaded plug-ins, the tables, and the way from a descriptor
 * to its vetted copy. */
#ifndef TN_REGISTRY_INTERNAL_H
#define TN_REGISTRY_INTERNAL_H

#include <pthread.h>

#include "registry/registry.h"

/* ---- image.c: what may be read ---- */

typedef struct tn_range {
  uintptr_t begin, end;
  bool read, execute;
} tn_range;

/* The segments of everything that the dynamic linker has mapped. */
typedef struct tn_image {
  const tn_allocator *a;
  TN_VEC(tn_range) ranges;
  bool failed;
} tn_image;

tn_status tn_image_read(const tn_allocator *a, tn_image *out);
void tn_image_free(tn_image *image);
/* Bytes that may be read from p on. image NULL: nothing is known, UINT64_MAX. */
uint64_t tn_image_readable(const tn_image *image, const void *p);
bool tn_image_executable(const tn_image *image, uintptr_t p);

/* ---- elf.c ---- */

/* Whether dlopen may be asked to map the file: it crashes the process on some files, and ends it on
 * others. */
tn_status tn_elf_check(const char *path, tn_diag *diag);

/* ---- a plug-in ---- */

/* A kernel and the operator that its rows were checked against. def is first: the public lists
 * point to it. */
typedef struct tn_kernel_entry {
  tn_kerneldef def;
  const tn_opdef *vetted;
  int64_t order; /* earlier loaded first: the last word where ranks are equal */
} tn_kernel_entry;

typedef struct tn_plug {
  const tn_allocator *a;
  tn_arena arena; /* copies, names, and the tables that it was merged into */
  tn_part_owner owner;
  tn_plugin_info info; /* strings are copies: they outlive the library of a refused plug-in */
  tn_plugin plugin;    /* the host's copy */
  void *library;       /* from dlopen; NULL if linked in */
  bool started;        /* init was fine, shutdown is owed */
  tn_opdef **ops;
  tn_kernel_entry **kernels;
  tn_rewritedef **rewrites;
  tn_format **formats;
  uint32_t n_ops, n_kernels, n_rewrites, n_formats;
} tn_plug;

/* ---- tables.c ---- */

/* What belongs to one operator: ranges in tn_tables.attached and .attached_rewrites. */
typedef struct tn_op_row {
  int32_t first_kernel, n_kernels;
  int32_t first_rewrite, n_rewrites;
} tn_op_row;

/* Everything look-ups need. Never changed once published. */
typedef struct tn_tables {
  const tn_opdef *const *ops;           /* by domain, name, since */
  const tn_op_row *rows;                /* of ops */
  const tn_kerneldef *const *kernels;   /* by op, rank downwards, order */
  const tn_kerneldef *const *attached;  /* the kernels of each op, one op after the other */
  const tn_rewritedef *const *rewrites; /* in order of loading */
  const tn_rewritedef *const *attached_rewrites;
  const tn_format *const *formats; /* in order of loading */
  const tn_plug *const *plugs;     /* refused ones too */
  int32_t n_ops, n_kernels, n_rewrites, n_formats, n_plugs;
} tn_tables;

/* old and the parts of plug, in memory of plug's arena. Refused plug-ins are listed, their parts
 * left out. */
tn_status tn_tables_merge(const tn_tables *old, tn_plug *plug, const tn_tables **out_tables);
void tn_ops_sort(tn_opdef **ops, uint32_t n);
/* First of the *out_n operators domain::name in a sorted list. */
int32_t tn_ops_find(const tn_opdef *const *ops, int32_t n, const char *domain, const char *name,
                    int32_t *out_n);

/* ---- attach.c ---- */

typedef struct tn_versions {
  int32_t since, until;
} tn_versions; /* until INT32_MAX: the newest */

tn_versions tn_op_versions(const tn_op *op);
tn_versions tn_kernel_versions(const tn_kernel *kernel);
bool tn_versions_meet(tn_versions a, tn_versions b);
bool tn_op_is(const tn_opdef *op, const char *domain, const char *name);
/* True if a kernel cannot tell calls of the two apart: same arguments in number, order, name and
 * type, hence the same attribute struct. Defaults may differ. */
bool tn_schema_same_call(const tn_schema *a, const tn_schema *b);
bool tn_kernel_attaches(const tn_kernel_entry *kernel, const tn_opdef *op);
/* "ai.onnx" and NULL are "". */
const char *tn_domain_normal(const char *domain);

/* ---- vet.c: the tools; vet_*.c: the rules of each part ---- */

typedef struct tn_vet {
  tn_plug *plug;
  const tn_tables *known; /* what is registered */
  const tn_image *image;  /* NULL: linked in */
  tn_diag *diag;
  tn_status status; /* of the first breach */
  int32_t n_breaches;
  bool ops_are_missing; /* an operator of this plug-in was refused */
  const char *where;    /* "plug-in 'acme'", or its path while the name is not known */
  char part[160];       /* "op 'com.acme::Foo'"; "" for the plug-in itself */
} tn_vet;

/* Notes a breach of a rule; member may be NULL. Always answers false. */
bool tn_vet_fail(tn_vet *v, tn_status code, const char *member, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void tn_vet_part(tn_vet *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies what the plug-in has of a struct into the zeroed host struct `out` of `size` bytes.
 * needed: how much of it has to be there. False: breach noted, out is zero. */
bool tn_vet_copy(tn_vet *v, const void *from, uint32_t needed, uint32_t size, void *out);
/* True if the copied struct is of an ABI that this host serves, and as long as it was in that ABI.
 */
bool tn_vet_age(tn_vet *v, const void *from, uint32_t size);
/* Both. */
bool tn_vet_struct(tn_vet *v, const void *from, uint32_t needed, uint32_t size, void *out);
/* Memory of the plug-in's arena; NULL: noted. */
void *tn_vet_alloc(tn_vet *v, uint64_t n, size_t element);
/* True if `table` may be read as n pointers, n within limit. */
bool tn_vet_table(tn_vet *v, const char *member, const void *table, uint32_t n, uint32_t limit);
const void *tn_vet_row(const void *table, uint32_t index);
/* True if text is a UTF-8 string of at most limit bytes without control characters. Multi-line text
 * may have newlines. */
bool tn_vet_text(tn_vet *v, const char *member, const char *text, uint32_t limit);
/* True if it is one that also is a name: letters, digits and _ . - */
bool tn_vet_name(tn_vet *v, const char *member, const char *text);
/* True if it is "Foo" or "com.acme::Foo"; the parts go to the plug-in's arena. */
bool tn_vet_op_name(tn_vet *v, const char *member, const char *text, const char **out_domain,
                    const char **out_name);
bool tn_vet_flags(tn_vet *v, const char *member, uint64_t flags, uint64_t known);

typedef enum tn_member_kind { TN_MEMBER_NAME, TN_MEMBER_TEXT, TN_MEMBER_FUNCTION } tn_member_kind;

/* A member that is a pointer, and the rule for it. */
typedef struct tn_member {
  const char *name;
  uint32_t offset;
  tn_member_kind kind;
  bool required;
  uint32_t limit; /* bytes of a text */
} tn_member;

/* Every dtype that this host knows. */
#define TN_MASK_KNOWN ((TN_MASK(TN_DTYPE_COUNT) - 1) & ~TN_MASK(TN_NONE))

#define TN_MEMBER(type, member, kind, required, limit) \
  { #member, (uint32_t)offsetof(type, member), kind, required, limit }
#define TN_UPTO(type, member) ((uint32_t)(offsetof(type, member) + sizeof((type *)0)->member))

/* Checks the members of a copied struct; those that break a rule become NULL in the copy. */
bool tn_vet_members(tn_vet *v, void *copy, const tn_member *members, size_t n);
/* The same; the first member is the part's name, which messages about the others already use:
 * "kernel 'softmax'". */
bool tn_vet_named(tn_vet *v, const char *what, void *copy, const tn_member *members, size_t n);

enum {
  TN_LIMIT_NAME = 128,
  TN_LIMIT_TEXT = 1 << 16,
  TN_LIMIT_PARTS = 1 << 16,
  TN_LIMIT_ROWS = 256,
  TN_LIMIT_HEAD = 1 << 16
};

/* Vets the whole descriptor into v->plug. False: it is to be refused; name and the like are in
 * plug->info as far as they could be read. */
bool tn_vet_plugin(tn_vet *v, const tn_plugin *raw);
void tn_vet_ops(tn_vet *v);
void tn_vet_kernels(tn_vet *v);
void tn_vet_rewrites(tn_vet *v);
void tn_vet_formats(tn_vet *v);

/* ---- registry.c ---- */

struct tn_registry {
  const tn_allocator *a;
  _Atomic(const tn_tables *) tables;
  TN_VEC(tn_plug *) plugs; /* all that ever were, in order */
  void *ctx;
  pthread_mutex_t report_lock; /* guards the two below */
  tn_diag *reporting;          /* messages of the plug-in whose init is running; NULL: none is */
  const char *reporting_plugin;
};

static inline const tn_tables *tn_registry_tables(const tn_registry *r) {
  return atomic_load_explicit(&r->tables, memory_order_acquire);
}

#endif
