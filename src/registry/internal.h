/* What the files of the registry share: loaded plug-ins, the tables, and the way from a descriptor
 * to its vetted copy. */
#ifndef TN_REGISTRY_INTERNAL_H
#define TN_REGISTRY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h> /* which names the struct otherwise where a system lacks it */

#include "registry/allow.h"
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

/* Whether dlopen may be asked to map a file with these bytes: it crashes the process on some files,
 * and ends it on others. *out_has_keys: it calls pthread_key_create() or tss_create(), so that
 * threads which end later may run code of it. */
tn_status tn_elf_check(const char *path, const uint8_t *data, uint64_t size, tn_diag *diag,
                       bool *out_has_keys);
/* The same of the header alone, of which the data are there if the file has them. */
tn_status tn_elf_check_header(const char *path, const uint8_t *data, uint64_t size, tn_diag *diag);

/* ---- a plug-in ---- */

/* A kernel and the operator that its rows were checked against. def is first: the public lists
 * point to it. */
typedef struct tn_kernel_entry {
  tn_kerneldef def;
  const tn_opdef *vetted;
  int64_t order; /* earlier loaded first: the last word where ranks are equal */
} tn_kernel_entry;

/* Where a part stands, or will when it is first asked for: NULL until then. */
typedef _Atomic(tn_opdef *) tn_op_slot;
typedef _Atomic(tn_kernel_entry *) tn_kernel_slot;

typedef struct tn_plug tn_plug;
struct tn_plug {
  const tn_allocator *a;
  tn_arena arena;      /* copies and names */
  tn_part_owner owner; /* what its parts point to; see tn_plug_of */
  tn_plugin_info info; /* strings are copies: they outlive the library of a refused plug-in */
  tn_plugin plugin;    /* the host's copy */
  void *library;       /* from dlopen; NULL if linked in */
  struct stat *file;   /* what was loaded (load.c); NULL: nothing that may be hashed */
  const char *offers;  /* what its file says that it offers (offers.c); NULL: it says nothing */
  bool started;        /* init was fine, shutdown is owed */
  bool may_replace;    /* refused only since another one of its name is in use */
  /* By domain, name, since: of the library its own table, of others the host's copies. */
  const tn_op *const *op_rows;
  tn_op_slot *ops; /* of op_rows; those that were left out follow the n_ops that are registered */
  /* Two lists, one behind the other, each by op and rank: tn_plug_run(). */
  tn_kernel_slot *kernels;
  tn_rewritedef **rewrites;
  tn_format **formats;
  tn_driverdef **drivers;
  tn_compilerdef **compilers;
  tn_dispatcherdef **dispatchers;
  const struct tn_emitter **emitters;
  uint32_t n_ops, n_kernels, n_rewrites, n_formats, n_drivers, n_compilers, n_dispatchers;
  uint32_t n_left_out;
  uint32_t n_first_run;       /* of kernels; the rest is the second list */
  bool is_settled_later;      /* the library: slots are empty until they are asked for (settle.c) */
  int64_t first_order;        /* of its kernels: how many were registered before */
  TN_VEC(const char *) notes; /* info.notes */
  TN_VEC(tn_plug *) needs;    /* others whose operators its parts were checked against; counted */
  /* Under the registry's lock `uses`. */
  int64_t n_users; /* holders, and plug-ins that need it */
  bool closing;    /* is being unloaded: takes no more users */
  /* Held while that is made which is first asked for: settle.c, and info.sha256, which is "" until
   * then. */
  pthread_mutex_t settling;
};

static inline tn_plug *tn_plug_of(const tn_part_owner *owner) {
  return (tn_plug *)(void *)((char *)(uintptr_t)owner - offsetof(tn_plug, owner));
}

/* ---- tables.c ---- */

/* What belongs to one operator; made when somebody asks for it. */
typedef struct tn_op_row {
  const tn_kerneldef **kernels;   /* rank downwards, then order of loading */
  const tn_rewritedef **rewrites; /* in order of loading */
  int32_t n_kernels, n_rewrites;
} tn_op_row;
typedef _Atomic(tn_op_row *) tn_op_row_slot;

typedef struct tn_kernel_place {
  tn_plug *plug;
  uint32_t index;
} tn_kernel_place;

/* Everything look-ups need. Once published never changed but for what is asked for first; freed
 * when no reader can have it. */
typedef struct tn_tables {
  tn_arena arena;
  pthread_mutex_t making;      /* held while rows and `listed` are made; guards the arena then */
  const tn_op *const *op_rows; /* by domain, name, since: all that searches look at */
  tn_op_slot **op_slots;       /* of op_rows; NULL: those of `alone`, which is all there is */
  tn_plug *alone;
  tn_op_row_slot *rows;                 /* of op_rows */
  _Atomic(tn_kernel_place *) listed;    /* all kernels by op and rank; NULL: nobody has asked */
  const tn_rewritedef *const *rewrites; /* in order of loading */
  const tn_format *const *formats;      /* likewise */
  const tn_driverdef *const *drivers;
  const tn_compilerdef *const *compilers;
  const tn_dispatcherdef *const *dispatchers;
  tn_plug *const *plugs; /* refused ones too */
  int32_t n_ops, n_kernels, n_rewrites, n_formats, n_drivers, n_compilers, n_dispatchers, n_plugs;
} tn_tables;

/* Of the parts of these plug-ins, in order of listing. Refused ones are listed, their parts left
 * out. */
tn_status tn_tables_build(const tn_allocator *a, tn_plug *const *plugs, int64_t n,
                          tn_tables **out_tables);
void tn_tables_free(tn_tables *t); /* NULL is legal */
/* By name, as in the tables; kernels have their order then. */
void tn_ops_sort(tn_op_slot *ops, uint32_t n);
void tn_kernels_sort(tn_kernel_slot *kernels, uint32_t n);
/* The operators of a plug-in as searches look at them, once they are sorted. */
tn_status tn_plug_list_ops(tn_plug *plug);
/* Operator `op` of these tables, made if nobody has asked for it yet. NULL: no memory. */
const tn_opdef *tn_tables_op(const tn_tables *t, int32_t op);
/* What belongs to it. NULL: no memory. */
const tn_op_row *tn_tables_row(const tn_tables *t, int32_t op);
/* Kernel `index` of all, by op and rank. NULL: no memory. */
const tn_kerneldef *tn_tables_kernel(const tn_tables *t, int32_t index);
/* The index of an operator; -1 if it is none of these tables'. */
int32_t tn_tables_find(const tn_tables *t, const tn_opdef *op);

/* First of the *out_n operators domain::name in a sorted list. */
int32_t tn_ops_find(const tn_op *const *ops, int32_t n, const char *domain, const char *name,
                    int32_t *out_n);

/* What is known of kernel k before anybody has asked for it. */
const tn_kernel *tn_plug_kernel_row(const tn_plug *plug, uint32_t k);
/* Where the kernels for domain::name stand in the first or the second list: from the answer to
 * before *out_end. */
uint32_t tn_plug_run(const tn_plug *plug, int second, const char *domain, const char *name,
                     uint32_t *out_end);

/* ---- load.c ---- */

/* info.sha256: of the file as it was loaded; "" where that cannot be told any more. */
const char *tn_plug_sha256(tn_plug *plug);

/* ---- settle.c ---- */

/* All versions of an operator of the library, and its kernels for them: their slots are full then.
 * TN_ERR_MEMORY: they may not be. Any thread. */
tn_status tn_op_settle(tn_plug *plug, const char *domain, const char *name);
/* The same of kernel k alone, of which nobody knows yet what it is for. NULL: no memory. */
const tn_kernel_entry *tn_kernel_settle(tn_plug *plug, uint32_t k);

/* ---- attach.c ---- */

typedef struct tn_versions {
  int32_t since, until;
} tn_versions; /* until INT32_MAX: the newest */

tn_versions tn_op_versions(const tn_op *op);
tn_versions tn_kernel_versions(const tn_kernel *kernel);
bool tn_versions_meet(tn_versions a, tn_versions b);
bool tn_op_is(const tn_op *op, const char *domain, const char *name);
/* True if a kernel cannot tell calls of the two apart: same arguments in number, order, name and
 * type, hence the same attribute struct. Defaults may differ. */
bool tn_schema_same_call(const tn_schema *a, const tn_schema *b);
bool tn_kernel_attaches(const tn_kernel_entry *kernel, const tn_opdef *op);
/* The operator, out of all versions of its name, that a kernel's rows speak of: one that infers, if
 * there is one. NULL: no version meets the kernel's. */
const tn_opdef *tn_kernel_op(const tn_kernel *kernel, tn_op_slot *ops, int32_t n);
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
  bool is_starved;      /* memory ran out: what is found from then on may come of that */
  bool ops_are_missing; /* an operator of this plug-in was refused */
  const char *where;    /* "plug-in 'acme'", or its path while the name is not known */
  tn_map names;         /* of kernels that were seen */
  tn_text offers;       /* info.offers */
  /* What is looked at. There are thousands, so they become text only where there is something to
   * say: "op 'com.acme::Foo' since 3", or "op 7" while there is no name; kind NULL: the plug-in. */
  const char *kind, *domain, *name;
  uint32_t index;
  int32_t since; /* 0: nothing with versions */
  /* Of that: "row ", 3, " of accepts"; row[0] NULL: all of it. */
  const char *row[2];
  uint32_t row_index;
} tn_vet;

/* Something that is left out of a plug-in, though it breaks no rule: a warning. */
void(tn_vet_warn)(tn_vet *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes a breach of a rule; member may be NULL. Always answers false. */
bool(tn_vet_fail)(tn_vet *v, tn_status code, const char *member, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* From here on part number `index` of its kind is looked at; it can be called by name later. */
void tn_vet_part(tn_vet *v, const char *kind, uint32_t index);
/* "plug-in 'acme', op 'Foo' since 3" */
void tn_vet_where(const tn_vet *v, char *buf, size_t size);

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

/* What is part of the library is not looked at member by member each time that a runtime is made,
 * nor settled before it is asked for: builds with a sanitizer of memory do so, and run all tests.
 */
static inline bool tn_vet_trusts(const tn_vet *v) {
  const uint64_t looks = TN_FLAVOUR_ASAN | TN_FLAVOUR_MSAN;
  return v->plug->owner.is_builtin && !(TN_FLAVOUR & looks);
}

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
/* What follows from an operator's schema, for def; false: v->status says why not. */
bool tn_vet_op_schema(tn_vet *v, tn_opdef *def);
/* True if the plug-in's own operator of that name and one of these versions was left out, because
 * another one is registered: what was made for it does not fit the other. */
bool tn_vet_left_out(const tn_vet *v, const char *domain, const char *name, tn_versions versions);
void tn_vet_kernels(tn_vet *v);
/* What a kernel's row may leave out, and its operator's domain and name; false: v->status. */
bool tn_vet_kernel_defaults(tn_vet *v, tn_kernel_entry *entry);
void tn_vet_rewrites(tn_vet *v);
void tn_vet_formats(tn_vet *v);
void tn_vet_drivers(tn_vet *v);
void tn_vet_device_kernels(tn_vet *v);
/* The row of a kernel that programs do: it joins those of the plug-in, for which tn_vet_kernels has
 * kept room. programs: the host's copy of the rest. */
bool tn_vet_device_row(tn_vet *v, const void *raw, const tn_device_kernel *programs);
void tn_vet_compilers(tn_vet *v);
void tn_vet_dispatchers(tn_vet *v);
void tn_vet_extensions(tn_vet *v);
/* The table of TN_EMIT_C_EXTENSION. *out_name: what is listed. */
bool tn_vet_emitter(tn_vet *v, const void *raw, const char **out_name);
/* Adds to what the plug-in offers besides operators, kernels, rewrites and formats. */
void tn_vet_offer(tn_vet *v, const char *what, const char *name);

/* Notes that this plug-in cannot be without the owner of `owner`. */
void tn_vet_need(tn_vet *v, const tn_part_owner *owner);

/* ---- registry.c ---- */

struct tn_registry {
  const tn_allocator *a;
  pthread_mutex_t change; /* held while plug-ins are added or taken away */
  _Atomic(tn_tables *) tables;
  TN_VEC(tn_plug *) plugs;   /* all that are, in order of loading */
  TN_VEC(tn_tables *) old;   /* that readers may still have */
  TN_VEC(tn_plug *) retired; /* refused ones whose place others took; readers may still have them */
  int64_t n_kernels;         /* that ever were: their order */
  /* In place of parts of the library for which there is no memory when they are asked for. */
  tn_part_owner nobody;
  tn_opdef starved_op; /* is_unsettled */
  tn_kernel_entry starved_kernel;
  tn_arena arena;       /* rules and folders */
  tn_allow *allow;      /* lists that all have to allow a library; NULL: anything is allowed */
  const char *vet;      /* the command that vets libraries; NULL: none does */
  uint32_t vet_limit_s; /* how long it may take */
  TN_VEC(tn_folder_info) folders; /* that discovery looked into */
  struct tn_finder *found;        /* what it found there (discover.c); NULL: nothing that waited */
  _Atomic(struct tn_finder *)
      waiting;             /* the same while it waits for a look-up; NULL: it does not */
  _Atomic(tn_diag *) late; /* what was said of it since, for whoever asks first; NULL: nothing */
  void *ctx;
  pthread_mutex_t report_lock; /* guards the two below */
  tn_plug *starting;           /* whose init is running; NULL: none is */
  tn_diag *reporting;          /* its messages */
  /* readers.c: look-ups that have begun in each of two phases */
  atomic_int phase;
  atomic_int readers[2];
  /* holders.c */
  pthread_mutex_t uses; /* guards all below, and who uses which plug-in */
  pthread_cond_t let_go;
  tn_holder *holders;
  uint64_t n_let_go; /* how often anything was let go */
};

static inline const tn_tables *tn_registry_tables(const tn_registry *r) {
  return atomic_load(&((tn_registry *)(uintptr_t)r)->tables);
}

/* ---- discover.c: plug-ins that were found and wait until a look-up may find something of theirs.
 * They are loaded all at once and in the order in which they were found, so that nobody can tell
 * that they waited. */

/* True if one of them has a part of that kind: TN_OFFERS_FORMATS and so on. */
bool tn_waiting_have(const tn_registry *r, const char *word);
/* True if one of them brings that operator in one of these versions, or has kernels or rewrites for
 * it; the domain is normal. */
bool tn_waiting_have_op(const tn_registry *r, const char *domain, const char *name,
                        tn_versions versions);
/* Loads them. Any thread, but under no lock. */
void tn_waiting_load(const tn_registry *r);
void tn_waiting_free(tn_registry *r);

static inline bool tn_registry_waits(const tn_registry *r) {
  return atomic_load_explicit(&((tn_registry *)(uintptr_t)r)->waiting, memory_order_acquire) !=
         NULL;
}

/* Tables with all parts of all plug-ins. */
static inline const tn_tables *tn_registry_whole(const tn_registry *r) {
  if (tn_registry_waits(r)) tn_waiting_load(r);
  return tn_registry_tables(r);
}

/* Makes room for what tn_registry_publish keeps. */
tn_status tn_registry_reserve(tn_registry *r);
/* New tables; the old ones are freed once no reader can have them. Under `change`. */
void tn_registry_publish(tn_registry *r, tn_tables *tables);
/* Frees old tables and retired plug-ins: no reader can have them any more. Under `change`. */
void tn_registry_free_old(tn_registry *r);

/* ---- readers.c ---- */

/* True if nobody reads at this moment: what was published before is all that anybody can have. */
bool tn_readers_none(const tn_registry *r);
/* Waits until all who began to read before this call have left; false: the time (tn_now_ns) came
 * first. Under `change`. */
bool tn_readers_wait(tn_registry *r, uint64_t until_ns);

/* ---- holders.c ---- */

tn_status tn_holders_open(tn_registry *r);
void tn_holders_close(tn_registry *r);
/* A plug-in that came into use holds those that it needs; one that goes lets go of them. */
void tn_plug_hold_needs(tn_registry *r, tn_plug *plug);
void tn_plug_drop_needs(tn_registry *r, tn_plug *plug);
/* Marks a plug-in that nobody uses as closing: true. False: it is in use, by whom goes to diag;
 * *out_seen is for tn_holders_wait. */
bool tn_plug_close(tn_registry *r, tn_plug *plug, uint64_t *out_seen, tn_diag *diag);
void tn_plug_reopen(tn_registry *r, tn_plug *plug);
/* Waits until anything is let go after `seen` was read; false: the time came first. */
bool tn_holders_wait(tn_registry *r, uint64_t seen, uint64_t until_ns);

#endif
