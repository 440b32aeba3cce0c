/* The generator: reads family files (docs/op-yaml.md) and writes the tables, headers and documents
 * that follow from them.
 *
 *   tree.c    YAML text -> nodes that know their line and column, merge keys resolved
 *   value.c   nodes -> strings, numbers, function names; problems are collected, not the first only
 *   names.c   the words of the language: dtypes, sets, instruction sets, layouts, flags
 *   parse*.c  entries -> operators, kernels, rewrites, formats      check.c   rules across files
 *   accept.c  arg_meta and the rows that follow from it             merge.c   libraries in order
 *   gpu.c     kernels of GPUs, emit_gpu.c their programs, gpu_<language>.c what they are written in
 *   emit*.c   the tables, the headers, the op tables in Markdown    main.c    the command
 *
 * Everything lives in one arena until the program ends; lack of memory ends it. */
#ifndef TN_GEN_GEN_H
#define TN_GEN_GEN_H

#include <stdbool.h>

#include "base/base.h"
#include "graph/schema.h"
#include "tenon/graph.h"

/* ---- YAML ---- */

typedef enum gen_kind { GEN_SCALAR, GEN_LIST, GEN_MAP } gen_kind;
typedef struct gen_node gen_node;

typedef struct gen_pair {
  gen_node *key, *value;
} gen_pair;

struct gen_node {
  gen_kind kind;
  const char *path; /* of the file it stands in */
  int line, column; /* from 1 */
  const char *text; /* scalar */
  gen_node **items; /* list */
  gen_pair *pairs;  /* map, merge keys resolved */
  int n;            /* of items or pairs */
};

/* ---- What the files say ---- */

typedef struct gen_alias {
  const char *name;
  uint64_t dtypes;
} gen_alias;

typedef TN_VEC(gen_alias) gen_aliases;

/* A dim order as a layout of Tenon: "TN_PLAIN" of rank 4 is 0,1,2,3. */
typedef struct gen_order {
  const char *layout, *suffix; /* suffix: "0123" */
  int rank;
} gen_order;

typedef struct gen_order_alias {
  const char *name;
  const gen_order *orders;
  int n;
} gen_order_alias;

typedef TN_VEC(gen_order_alias) gen_order_aliases;

typedef struct gen_rule {
  const char *name;
  const char *args; /* "X,W" */
  uint64_t dtypes;
  bool is_alias; /* binds its arguments to one dtype */
} gen_rule;

typedef struct gen_accept {
  const char *arg;
  uint64_t dtypes;
  const char *layout; /* as C: "TN_BLOCKED(16)" */
  int rank_min, rank_max;
  uint64_t flags;                /* TN_ACCEPT_... */
  bool typed;                    /* says which dtypes; 0 of them: any */
  const char *alias;             /* the one type_alias that dtypes come from; NULL: none */
  const gen_order_alias *orders; /* layout and rank are one of these; NULL: as above */
} gen_accept;

/* The C types of functions that YAML may name. */
typedef enum gen_signature {
  GEN_CALL, /* infer, reference, prepare */
  GEN_FLOPS,
  GEN_LOWER,
  GEN_EPILOGUE,
  GEN_REFUSE,
  GEN_PLAN,
  GEN_RUN,
  GEN_FINISH,
  GEN_INIT,
  GEN_SHUTDOWN,
  GEN_FORMAT,        /* no function: a tn_format */
  GEN_DRIVER,        /* likewise: a tn_device_driver */
  GEN_DEVICE_KERNEL, /* likewise: a tn_device_kernel */
  GEN_RECORD
} gen_signature;

typedef struct gen_function {
  const char *name, *family;
  gen_signature signature;
  const gen_node *at;
} gen_function;

typedef struct gen_op gen_op;

typedef struct gen_kernel {
  const gen_node *at;
  const char *family;
  const char *domain, *op; /* of the operator */
  const char *name, *device;
  int since, until, rank;
  uint64_t isa, flags;
  int library;  /* index; 0 goes before 1 */
  bool ranked;  /* rank is the author's, not that of the library */
  bool dropped; /* says nothing that a library before has not said */
  TN_VEC(gen_accept) accepts;
  const char *refuse, *plan, *prepare, *run, *finish; /* NULL: none */
  const char *record;                                 /* of devices; then run is NULL */
} gen_kernel;

struct gen_op {
  const gen_node *at;
  const char *family;
  const char *domain, *name, *word; /* word: snake_case name */
  int since, until;
  const char *doc, *schema_text;
  tn_schema schema;
  gen_aliases aliases;
  TN_VEC(gen_rule) rules;
  uint64_t flags;
  const char *infer, *flops, *lower, *epilogue, *reference; /* NULL: none */
  double flops_per_element;                                 /* where flops is NULL; 0: none */
  TN_VEC(const char *) cases;
  int library;
  const char *torch;         /* "aten::add.out": in the form of PyTorch; NULL: in ours */
  const char *default_infer; /* torch: the function if no library names one */
  bool header_only; /* described elsewhere, or by a library before: only its struct counts */
};

typedef struct gen_rewrite {
  const gen_node *at;
  const char *family, *name, *root, *apply, *makes; /* makes: NULL: always applied */
} gen_rewrite;

/* A row of `operators` of a format. */
typedef struct gen_format_op {
  const char *name, *to, *note, *attrs;
  const char *how; /* as C: "TN_FORMAT_DIRECT" */
  int code;
} gen_format_op;

typedef struct gen_format {
  const gen_node *at;
  const char *family, *name, *descriptor;
  const char *domain; /* operators of these domains in PyTorch's form are rows, too; or NULL */
  gen_format_op *ops;
  int n_ops;
  bool file_kinds; /* its code asks what kind a file is: with the service of that name */
} gen_format;

/* A table of tn_plugin.drivers or device_kernels that C has. */
typedef struct gen_device_table {
  const gen_node *at;
  const char *family, *name, *descriptor;
} gen_device_table;

/* ---- GPU kernels ---- */

typedef enum gen_gpu_kind {
  GEN_GPU_IN,
  GEN_GPU_OUT,
  GEN_GPU_INT,
  GEN_GPU_FLOAT,
  GEN_GPU_CONST,
  GEN_GPU_EPILOGUE
} gen_gpu_kind;

typedef struct gen_gpu_arg {
  gen_gpu_kind kind;
  const char *name;
} gen_gpu_arg;

/* KERNEL(name, (IN(A), OUT(B), EPILOGUE), (INT(n), CONST(K)), x, y, z) { body; CUDA_KERNEL(...: of
 * that language alone */
typedef struct gen_program {
  const char *family, *path, *name, *common, *body; /* common: what stands before the first */
  const char *group[3];
  int line; /* of the body */
  bool is_cuda_only;
  TN_VEC(gen_gpu_arg) args;
} gen_program;

/* The plug-in that is made; all NULL for the parts that ship with Tenon. */
typedef struct gen_plugin {
  const char *name, *version, *license, *init, *shutdown;
  uint64_t flags; /* TN_PLUGIN_... */
} gen_plugin;

/* The schema of an operator that `op: add.out` only names. */
typedef struct gen_known {
  const char *name; /* "aten::add.out" */
  const gen_node *entry;
} gen_known;

typedef struct gen_problem {
  const char *path;
  int line, column;
  const char *text;
} gen_problem;

typedef struct gen {
  const tn_allocator *a;
  tn_arena arena;
  TN_VEC(gen_problem) problems;
  TN_VEC(const char *) families; /* in the order of the files */
  TN_VEC(gen_op) ops;
  TN_VEC(gen_kernel) kernels;
  TN_VEC(gen_rewrite) rewrites;
  TN_VEC(gen_format) formats;
  TN_VEC(const char *) without; /* services that a selected build is linked without */
  TN_VEC(gen_device_table) drivers, device_kernels;
  TN_VEC(gen_program) programs;
  TN_VEC(gen_function) functions;
  TN_VEC(gen_known) known;
  int library, n_libraries; /* of the file that is read; of all files */
  gen_plugin plugin;
  const char *dir;       /* where tables are written */
  const char *headers;   /* the folder of Tenon's; NULL: not known */
  const char *glslang;   /* the compiler of SPIR-V; NULL: there is none */
  bool bare;             /* the table does not say where parts are written */
  bool compact;          /* it stands there in a form without pointers, too (emit_compact.c) */
  uint64_t content_hash; /* of all files */
  const char *family;    /* of the file that is read */
  const char *op_word;   /* what {op} stands for while an entry is read; NULL: nothing */
  const char *isa_word;  /* the same for {isa} while a kernel is read */
} gen;

/* ---- Memory and problems ---- */

void gen_clear(gen *g);
void *gen_need(void *memory); /* ends the program if memory is NULL */
const char *gen_format_text(gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define gen_push(g, v, x) ((void)(tn_vec_push((g)->a, (v), (x)) ? gen_need(NULL) : NULL))

/* Notes a problem at a node: "path:line:column: text". */
void gen_problem_add(gen *g, const gen_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A problem of a file as a whole, or at a place in it (line 0: nowhere). */
void gen_problem_add_at(gen *g, const char *path, int line, int column, const char *text);
/* Prints all problems, sorted by place; answers how many. */
int64_t gen_problems_print(gen *g);

/* ---- tree.c ---- */

/* The document of a file; NULL and problems if there is none. An empty file is an empty list. */
gen_node *gen_tree_load(gen *g, const char *path);

/* ---- value.c ---- */

/* Value of a key, or NULL. */
const gen_node *gen_get(const gen_node *map, const char *key);
/* False and a problem if node is no map; a problem for every key that is not in `keys` (a list
 * ending with NULL). */
bool gen_check_keys(gen *g, const gen_node *node, const char *what, const char *const *keys);
/* The text of a scalar with {op} and {isa} replaced; "" and a problem if it is none. */
const char *gen_str(gen *g, const gen_node *node, const char *what);
/* The same for map[key]; NULL if the key is missing, with a problem if it is required. */
const char *gen_str_at(gen *g, const gen_node *map, const char *key, bool required);
/* An integer in lo..hi at map[key]; `missing` if there is none, or it is no such integer (a
 * problem). */
int gen_int_at(gen *g, const gen_node *map, const char *key, int lo, int hi, int missing);
bool gen_int(gen *g, const gen_node *node, const char *what, int lo, int hi, int *out);
bool gen_bool_at(gen *g, const gen_node *map, const char *key);
bool gen_is_null(const gen_node *node); /* null, ~ or nothing */
/* A scalar counts as a list of one; node NULL has no items. */
int gen_n_items(const gen_node *node);
const gen_node *gen_item(const gen_node *node, int k);
/* The function named at map[key], noted with its type; NULL if there is none. */
const char *gen_function_at(gen *g, const gen_node *map, const char *key, gen_signature signature);
const char *gen_function_note(gen *g, const gen_node *at, const char *name,
                              gen_signature signature);

/* ---- names.c ---- */

typedef struct gen_word {
  const char *name;
  uint64_t value;
  const char *c_name;
} gen_word;
extern const gen_word gen_isa_words[], gen_op_flag_words[], gen_kernel_flag_words[],
    gen_plugin_flag_words[], gen_layout_words[];

/* A word of a table ending with a NULL name; NULL if it is none. */
const gen_word *gen_word_find(const gen_word *words, const char *name);
/* All names of a table, ", " between. */
const char *gen_words_text(gen *g, const gen_word *words);
/* The bits of a mask as C: "TN_ISA_AVX2 | TN_ISA_AVX512"; "0". */
const char *gen_mask_c(gen *g, const gen_word *words, uint64_t mask);
/* The value of a word; 0 and a problem that names the key if it is none. */
uint64_t gen_word_value(gen *g, const gen_node *at, const char *name, const char *key,
                        const gen_word *words);
/* The OR of a list of words at map[key]. */
uint64_t gen_words_at(gen *g, const gen_node *map, const char *key, const gen_word *words);

/* Mask of a type name or set; 0: unknown. */
uint64_t gen_dtype_mask(const char *name);
const char *gen_dtypes_c(gen *g, uint64_t dtypes);    /* "TN_MASK(TN_F32) | TN_MASK(TN_F64)" */
const char *gen_dtypes_text(gen *g, uint64_t dtypes); /* "f32 f64" */
uint64_t gen_dtypes_any(void);
bool gen_is_wide(uint64_t isa);           /* vectors of 16 f32, not 8 */
bool gen_is_identifier(const char *name); /* of C, no keyword */
/* torch::executor::add_out -> torch_executor_add_out */
const char *gen_c_name(gen *g, const char *name);
/* HardSwish -> hard_swish, ReduceL1 -> reduce_l1, MatMulNBits -> mat_mul_n_bits, IsNaN ->
 * is_nan. */
const char *gen_snake_case(gen *g, const char *name);
/* "com.acme::Foo" -> "com.acme", "Foo"; without "::" the domain is "". */
void gen_split_name(gen *g, const char *full, const char **out_domain, const char **out_name);
const char *gen_full_name(gen *g, const char *domain, const char *name);

/* ---- parse*.c, accept.c, cases.c, check.c, merge.c ---- */

void gen_parse_file(gen *g, const char *path);
void gen_parse_op(gen *g, const gen_node *entry, const char *family);
/* What operators of both forms may say: types, functions, cases; for those of ours doc and schema,
 * too. */
void gen_parse_op_parts(gen *g, const gen_node *entry, gen_op *op);
/* The schema in text, noted in op; false and a problem if it is none. */
bool gen_parse_schema(gen *g, const gen_node *at, const char *text, gen_op *op);
/* `func: ns::name.overload(...) -> ...` or `op: name.overload`, as in PyTorch and ExecuTorch. */
bool gen_is_torch(const gen_node *entry);
void gen_parse_torch(gen *g, const gen_node *entry, const char *family);
/* Notes the schemas of a file in the form of native_functions.yaml. */
void gen_parse_known(gen *g, const char *path);
void gen_parse_aliases(gen *g, const gen_node *entry, gen_aliases *out);
/* Types in a scalar or list: dtypes, sets and aliases. 0 and a problem if one is unknown. */
uint64_t gen_parse_dtypes(gen *g, const gen_node *node, const gen_aliases *aliases);
const gen_alias *gen_alias_find(const gen_aliases *aliases, const char *name);
/* The kernels of an entry. op NULL: an operator that is described elsewhere. `prototype` has what
 * the entry says for all. */
void gen_parse_kernels(gen *g, const gen_node *entry, const gen_op *op, const gen_aliases *aliases,
                       const gen_kernel *prototype);
void gen_parse_orders(gen *g, const gen_node *entry, gen_order_aliases *out);
/* arg_meta of a kernel. op NULL: described elsewhere, names are checked by the host. */
void gen_parse_accepts(gen *g, const gen_node *map, const gen_op *op, const gen_aliases *aliases,
                       const gen_order_aliases *orders, gen_kernel *k);
/* Adds the kernel once for each combination of what its aliases stand for. */
void gen_push_rows(gen *g, const gen_kernel *k, bool torch);
void gen_check_case(gen *g, const gen_node *at, const gen_op *op, const char *text);
/* Sorts all parts and reports duplicates. */
void gen_check_all(gen *g);
/* Rows of formats that follow from operators in PyTorch's form. */
void gen_add_torch_rows(gen *g);
/* Operators and kernels that several libraries describe become one; ranks by precedence; conflicts.
 * After operators are sorted. */
void gen_merge(gen *g);

/* ---- select.c ---- */

/* Keeps the parts of a list (base/part_list.h) alone, for the table. False after a message. */
bool gen_select(gen *g, const char *path);

/* ---- gpu.c, emit_gpu.c ---- */

/* The kernels in <family>_gpu.c and <family>_..._gpu.c beside the family file. */
void gen_parse_gpu(gen *g, const char *yaml, const char *family);
int64_t gen_n_programs(const gen *g, const char *family);
/* Their tables, and of each family one of all: programs_<family>. False after a message. */
bool gen_emit_programs(gen *g, tn_text *out);
/* For the header of the family: the number of each in that table, GPU_<name>. */
void gen_emit_program_numbers(gen *g, tn_text *out, const char *family);

/* ---- emit.c, emit_table.c, emit_compact.c, emit_header.c, emit_docs.c ---- */

/* Replaces dir/name by text unless it holds that already, so that nothing is built again in
 * vain. */
bool gen_write(gen *g, const char *dir, const char *name, tn_text *text);
void gen_emit_c_string(tn_text *out, const char *s); /* with quotes; NULL: NULL */
/* Text as part of a C comment. */
void gen_emit_comment(tn_text *out, const char *s);
/* The declarations of all functions that a family names, or all families (NULL). */
void gen_emit_declarations(gen *g, tn_text *out, const char *family);
/* tn_softmax_attrs, tn_clip_v6_attrs */
const char *gen_attrs_name(gen *g, const gen_op *op);
/* "13 and later", "6 to 10", "6" */
const char *gen_versions_text(gen *g, int since, int until);
bool gen_emit_table(gen *g, const char *dir);
/* What a row accepts where it names no types, too. */
uint64_t gen_accept_dtypes(const gen_accept *a);
/* The function of an operator that makes so many operations an element. */
const char *gen_flops_id(gen *g, double per_element);
/* "#if ...": what a kernel stands behind, with an #endif; "" where it needs no ISA. */
const char *gen_kernel_condition(const gen_kernel *k);
/* emit_compact.c: the parts without pointers. */
void gen_emit_compact(gen *g, tn_text *out);
bool gen_emit_headers(gen *g, const char *dir);
bool gen_emit_docs(gen *g, const char *dir);
/* embedded.c: the text of the files named in g->families, as `const new_file new_files[]`. */
bool gen_emit_embedded(gen *g, const char *dir);

#endif
