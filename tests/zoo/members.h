/* The table of the zoo: the members of the structs that a plug-in hands over, and the ways in which
 * each kind of member can be damaged. Their product is a row of animals, each with what Tenon has
 * to say: plug-in, part, member, rule. `*` stands for any text. */
#ifndef TENON_ZOO_MEMBERS_H
#define TENON_ZOO_MEMBERS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tenon/accelerator.h"
#include "tenon/device.h"

typedef enum zoo_owner {
  OF_PLUGIN,
  OF_OP,
  OF_RULE,
  OF_CASE,
  OF_KERNEL,
  OF_ACCEPT,
  OF_REWRITE,
  OF_FORMAT,
  OF_EXTENSION,
  OF_COMPILER,
  OF_TARGET,
  OF_DISPATCHER,
  OF_DRIVER,
  OF_DEVICE_KERNEL,
  OF_PROGRAM,
  OF_FORM
} zoo_owner;

/* How messages name a part; before: while its own name is not known. */
static const struct zoo_struct {
  const char *name, *before, *after;
} zoo_structs[] = {
    {"plugin", "plug-in *zoo.so", "plug-in 'zoo'"},
    {"op", "plug-in 'zoo', op 0", "plug-in 'zoo', op 'zoo::Twice' since 1"},
    {"rule", "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0",
     "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0"},
    {"case", "", "plug-in 'zoo', op 'zoo::Twice' since 1"},
    {"kernel", "plug-in 'zoo', kernel 0", "plug-in 'zoo', kernel 'twice_f32_c'"},
    {"accept", "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts",
     "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts"},
    {"rewrite", "plug-in 'zoo', rewrite 0", "plug-in 'zoo', rewrite 'twice_away'"},
    {"format", "plug-in 'zoo', format 0", "plug-in 'zoo', format 'zoo'"},
    {"extension", "plug-in 'zoo', extension 0", "plug-in 'zoo', extension 'profiler.v1'"},
    {"compiler", "plug-in 'zoo', compiler 0", "plug-in 'zoo', compiler 'zoo-npu'"},
    {"target", "plug-in 'zoo', compiler 'zoo-npu'", "plug-in 'zoo', compiler 'zoo-npu'"},
    {"dispatcher", "plug-in 'zoo', dispatcher 0", "plug-in 'zoo', dispatcher 'zoo-npu'"},
    {"driver", "plug-in 'zoo', driver 0", "plug-in 'zoo', driver 'zoo-gpu'"},
    {"device_kernel", "plug-in 'zoo', device kernel 0", "plug-in 'zoo', device kernel 0"},
    {"program", "plug-in 'zoo', device kernel 0", "plug-in 'zoo', device kernel 0"},
    {"program_form", "plug-in 'zoo', device kernel 0", "plug-in 'zoo', device kernel 0"}};

typedef enum zoo_kind {
  IS_HEAD = 1,
  IS_NAME = 2, /* letters, digits and _ . - */
  IS_TEXT = 4,
  IS_FUNCTION = 8,
  IS_TABLE = 16, /* of pointers; they are counted */
  IS_FLAGS = 32,
  IS_FLAGS32 = 64,
  IS_DTYPES = 128,
  IS_ROW_DTYPES = 256 /* of tn_accept: TN_ANY_DTYPE is known there */
} zoo_kind;

typedef struct zoo_member {
  zoo_owner owner;
  const char *name;
  zoo_kind kind;
  bool required;
  bool first;       /* vetted before its part is known by name */
  uint32_t offset;  /* in its struct */
  uint32_t count;   /* of a table: offset of how many there are */
  uint32_t limit;   /* of a table's entries, or of a text's bytes */
  const char *said; /* how messages name it; NULL: by its name */
} zoo_member;

#define ZOO_HEAD(owner) \
  { owner, "head", IS_HEAD, true, true, 0, 0, 0, NULL }
#define ZOO_MEMBER(owner, type, member, kind, required, ...) \
  { owner, #member, kind, required, .offset = offsetof(type, member), __VA_ARGS__ }
#define ZOO_FUNCTION(owner, type, member, required) \
  ZOO_MEMBER(owner, type, member, IS_FUNCTION, required, .limit = 0)
#define ZOO_TABLE(owner, type, member, most)                                           \
  ZOO_MEMBER(owner, type, member, IS_TABLE, true, .count = offsetof(type, n_##member), \
             .limit = most)

static const zoo_member zoo_members[] = {
    ZOO_HEAD(OF_PLUGIN),
    ZOO_MEMBER(OF_PLUGIN, tn_plugin, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_PLUGIN, tn_plugin, version, IS_TEXT, false, .limit = 128),
    ZOO_MEMBER(OF_PLUGIN, tn_plugin, license, IS_TEXT, false, .limit = 128),
    ZOO_MEMBER(OF_PLUGIN, tn_plugin, build_id, IS_TEXT, false, .limit = 128),
    ZOO_MEMBER(OF_PLUGIN, tn_plugin, needs, IS_TEXT, false, .limit = 65536),
    ZOO_MEMBER(OF_PLUGIN, tn_plugin, flags, IS_FLAGS32, true, .said = "flags"),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, ops, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, kernels, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, rewrites, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, formats, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, drivers, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, device_kernels, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, compilers, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, dispatchers, 65536),
    ZOO_TABLE(OF_PLUGIN, tn_plugin, extensions, 256),
    ZOO_FUNCTION(OF_PLUGIN, tn_plugin, init, false),
    ZOO_FUNCTION(OF_PLUGIN, tn_plugin, shutdown, false),
    ZOO_FUNCTION(OF_PLUGIN, tn_plugin, notify, false),

    ZOO_HEAD(OF_OP),
    ZOO_MEMBER(OF_OP, tn_op, domain, IS_NAME, false, .first = true, .limit = 128),
    ZOO_MEMBER(OF_OP, tn_op, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_OP, tn_op, schema, IS_TEXT, true, .limit = 65536),
    ZOO_TABLE(OF_OP, tn_op, types, 256),
    ZOO_MEMBER(OF_OP, tn_op, flags, IS_FLAGS, true, .said = "flags"),
    ZOO_FUNCTION(OF_OP, tn_op, infer, false),
    ZOO_FUNCTION(OF_OP, tn_op, flops, false),
    ZOO_FUNCTION(OF_OP, tn_op, lower, false),
    ZOO_FUNCTION(OF_OP, tn_op, reference, false),
    ZOO_FUNCTION(OF_OP, tn_op, epilogue, false),
    ZOO_TABLE(OF_OP, tn_op, cases, 65536),
    ZOO_MEMBER(OF_OP, tn_op, doc, IS_TEXT, false, .limit = 65536),
    ZOO_MEMBER(OF_OP, tn_op, source, IS_TEXT, false, .limit = 65536),
    {OF_CASE, "text", IS_TEXT, true, .limit = 65536, .said = "cases"},

    ZOO_HEAD(OF_RULE),
    ZOO_MEMBER(OF_RULE, tn_type_rule, name, IS_TEXT, true, .limit = 128),
    ZOO_MEMBER(OF_RULE, tn_type_rule, args, IS_TEXT, true, .limit = 65536),
    ZOO_MEMBER(OF_RULE, tn_type_rule, dtypes, IS_DTYPES, true, .said = "types: dtypes"),

    ZOO_HEAD(OF_KERNEL),
    ZOO_MEMBER(OF_KERNEL, tn_kernel, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_KERNEL, tn_kernel, op, IS_TEXT, true, .limit = 256),
    ZOO_MEMBER(OF_KERNEL, tn_kernel, device, IS_NAME, false, .limit = 128),
    ZOO_MEMBER(OF_KERNEL, tn_kernel, flags, IS_FLAGS, true, .said = "flags"),
    ZOO_TABLE(OF_KERNEL, tn_kernel, accepts, 256),
    ZOO_FUNCTION(OF_KERNEL, tn_kernel, refuse, false),
    ZOO_FUNCTION(OF_KERNEL, tn_kernel, plan, false),
    ZOO_FUNCTION(OF_KERNEL, tn_kernel, prepare, false),
    ZOO_FUNCTION(OF_KERNEL, tn_kernel, run, true),
    ZOO_FUNCTION(OF_KERNEL, tn_kernel, finish, false),
    ZOO_MEMBER(OF_KERNEL, tn_kernel, source, IS_TEXT, false, .limit = 65536),

    ZOO_HEAD(OF_ACCEPT),
    ZOO_MEMBER(OF_ACCEPT, tn_accept, arg, IS_TEXT, true, .limit = 128),
    ZOO_MEMBER(OF_ACCEPT, tn_accept, dtypes, IS_ROW_DTYPES, true, .said = "accepts: dtypes"),
    ZOO_MEMBER(OF_ACCEPT, tn_accept, flags, IS_FLAGS, true, .said = "accepts: flags"),

    ZOO_HEAD(OF_REWRITE),
    ZOO_MEMBER(OF_REWRITE, tn_rewrite, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_REWRITE, tn_rewrite, root, IS_TEXT, true, .limit = 256),
    ZOO_FUNCTION(OF_REWRITE, tn_rewrite, apply, true),
    ZOO_MEMBER(OF_REWRITE, tn_rewrite, makes, IS_TEXT, false, .limit = 256),

    ZOO_HEAD(OF_FORMAT),
    ZOO_MEMBER(OF_FORMAT, tn_format, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_FORMAT, tn_format, extensions, IS_TEXT, false, .limit = 65536),
    ZOO_FUNCTION(OF_FORMAT, tn_format, probe, false),
    ZOO_FUNCTION(OF_FORMAT, tn_format, read, false),
    ZOO_FUNCTION(OF_FORMAT, tn_format, write, false),
    ZOO_FUNCTION(OF_FORMAT, tn_format, read_value, false),
    ZOO_MEMBER(OF_FORMAT, tn_format, domains, IS_TEXT, false, .limit = 65536),

    ZOO_HEAD(OF_EXTENSION),
    ZOO_MEMBER(OF_EXTENSION, tn_extension, name, IS_NAME, true, .first = true, .limit = 128),

    ZOO_HEAD(OF_COMPILER),
    ZOO_MEMBER(OF_COMPILER, tn_compiler, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_COMPILER, tn_compiler, vendor, IS_TEXT, true, .limit = 128),
    ZOO_MEMBER(OF_COMPILER, tn_compiler, format, IS_NAME, true, .limit = 128),
    ZOO_TABLE(OF_COMPILER, tn_compiler, targets, 65536),
    ZOO_FUNCTION(OF_COMPILER, tn_compiler, compatible, false),
    ZOO_FUNCTION(OF_COMPILER, tn_compiler, partition, true),
    ZOO_FUNCTION(OF_COMPILER, tn_compiler, compile, true),
    ZOO_FUNCTION(OF_COMPILER, tn_compiler, release, true),

    ZOO_HEAD(OF_TARGET),
    ZOO_MEMBER(OF_TARGET, tn_target, name, IS_NAME, true, .limit = 128),
    ZOO_MEMBER(OF_TARGET, tn_target, hardware, IS_NAME, true, .limit = 128),
    ZOO_MEMBER(OF_TARGET, tn_target, sdk, IS_TEXT, false, .limit = 128),

    ZOO_HEAD(OF_DISPATCHER),
    ZOO_MEMBER(OF_DISPATCHER, tn_dispatcher, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_DISPATCHER, tn_dispatcher, vendor, IS_TEXT, true, .limit = 128),
    ZOO_MEMBER(OF_DISPATCHER, tn_dispatcher, format, IS_NAME, true, .limit = 128),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, open, true),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, close, true),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, load, true),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, unload, true),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, port, false),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, run, true),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, stamp, false),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, start, false),
    ZOO_FUNCTION(OF_DISPATCHER, tn_dispatcher, wait, false),

    ZOO_HEAD(OF_DRIVER),
    ZOO_MEMBER(OF_DRIVER, tn_device_driver, name, IS_NAME, true, .first = true, .limit = 128),
    ZOO_MEMBER(OF_DRIVER, tn_device_driver, vendor, IS_TEXT, true, .limit = 128),
    ZOO_MEMBER(OF_DRIVER, tn_device_driver, kinds, IS_TEXT, true, .limit = 128),
    ZOO_MEMBER(OF_DRIVER, tn_device_driver, languages, IS_TEXT, true, .limit = 128),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, count, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, open, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, close, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, describe, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, refuse, false),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, buffer_new, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, buffer_map, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, buffer_free, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, buffer_sync, false),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, program_new, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, program_free, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_begin, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_dispatch, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_copy, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_fill, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_barrier, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_end, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, record_free, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, queue_new, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, queue_free, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, submit, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, wait, true),
    ZOO_FUNCTION(OF_DRIVER, tn_device_driver, program_save, false),

    ZOO_HEAD(OF_DEVICE_KERNEL),
    ZOO_TABLE(OF_DEVICE_KERNEL, tn_device_kernel, programs, 256),
    ZOO_FUNCTION(OF_DEVICE_KERNEL, tn_device_kernel, record, true),
    ZOO_HEAD(OF_PROGRAM),
    ZOO_MEMBER(OF_PROGRAM, tn_program, name, IS_NAME, true, .limit = 128),
    ZOO_MEMBER(OF_PROGRAM, tn_program, constants, IS_TEXT, false, .limit = 65536),
    ZOO_TABLE(OF_PROGRAM, tn_program, forms, 256),
    ZOO_HEAD(OF_FORM),
    ZOO_MEMBER(OF_FORM, tn_program_form, language, IS_NAME, true, .limit = 128)};
enum { ZOO_MEMBERS = sizeof zoo_members / sizeof *zoo_members };

/* ---- damages ---- */

typedef enum zoo_way {
  BY_SIZE,    /* of the head */
  BY_MAJOR,   /* of the head */
  BY_TEXT,    /* the pointer leads to this text */
  BY_ADDRESS, /* the pointer is this; of a head, the pointer to the struct */
  BY_SHIFT,   /* the pointer leads as many bytes further */
  BY_DATA,    /* the pointer leads to data */
  BY_HEAP,    /* the pointer leads to a copy on the heap */
  BY_ENDLESS, /* the pointer leads to a text without end */
  BY_LONG,    /* the pointer leads to a text that is a letter too long */
  BY_COUNT,   /* of a table */
  BY_BIT
} zoo_way;

typedef struct zoo_damage {
  int kinds; /* of members */
  const char *name, *wrong;
  zoo_way way;
  int64_t number;
  const char *text, *rule; /* %u in a rule: the member's limit */
} zoo_damage;

#define WILD "points to *, which is not inside the tables of a loaded library"
#define LETTERS ", but names are made of letters, digits and _ . -"

static const zoo_damage zoo_damages[] = {
    {IS_HEAD, "size_zero", "no bytes", BY_SIZE, 0, NULL,
     ".size: is 0, but at least the first * bytes of this struct have to be there"},
    {IS_HEAD, "size_short", "ends before its last required member", BY_SIZE, 16, NULL,
     ".size: is 16, but at least the first * bytes of this struct have to be there"},
    {IS_HEAD, "size_odd", "a size that is no multiple of a pointer", BY_SIZE, 1003, NULL,
     ".size: is 1003, which is no multiple of 8"},
    {IS_HEAD, "size_huge", "4 GB", BY_SIZE, UINT32_MAX, NULL,
     ".size: is 4294967295, no struct is that large"},
    {IS_HEAD, "major_future", "a later major version", BY_MAJOR, TN_ABI_MAJOR + 1, NULL,
     ".major: is *: made for ABI *, this host serves ABI *"},
    {IS_HEAD, "major_far", "version 99 of the ABI", BY_MAJOR, 99, NULL,
     ".major: is 99: made for ABI 99.*, this host serves ABI *"},
    {IS_HEAD, "major_past", "an earlier major version", BY_MAJOR, TN_ABI_MAJOR - 1, NULL,
     ".major: is *: made for ABI *, this host serves ABI *"},
    {IS_HEAD, "null", "NULL", BY_ADDRESS, 0, NULL, ": is NULL"},
    {IS_HEAD | IS_TABLE, "shifted", "at an odd address", BY_SHIFT, 4, NULL,
     ": points to *, which is not aligned"},
    {IS_HEAD | IS_TABLE, "heap", "on the heap", BY_HEAP, 0, NULL, ": " WILD},
    {IS_HEAD | IS_TABLE | IS_NAME | IS_TEXT, "wild", "at an address where nothing is", BY_ADDRESS,
     0xdead0000, NULL, ": " WILD},
    {IS_HEAD | IS_TABLE | IS_NAME | IS_TEXT, "first_page", "in the first page of memory",
     BY_ADDRESS, 64, NULL, ": " WILD},
    {IS_HEAD | IS_TABLE, "last_page", "in the last page of memory", BY_ADDRESS, -8, NULL,
     ": " WILD},

    {IS_NAME | IS_TEXT | IS_FUNCTION, "missing", "NULL", BY_ADDRESS, 0, NULL, ": must be given"},
    {IS_NAME, "empty", "empty", BY_TEXT, 0, "", ": is empty"},
    {IS_NAME, "letters", "a blank and a slash", BY_TEXT, 0, "../my zoo",
     ": is '../my zoo'" LETTERS},
    {IS_NAME, "colons", "a domain in a name", BY_TEXT, 0, "zoo::Twice",
     ": is 'zoo::Twice'" LETTERS},
    {IS_NAME, "equals", "what cannot be pinned", BY_TEXT, 0, "twice=fast",
     ": is 'twice=fast'" LETTERS},
    {IS_NAME, "format", "a printf format", BY_TEXT, 0, "%s%s%n", ": is '%s%s%n'" LETTERS},
    {IS_NAME | IS_TEXT, "utf8", "no UTF-8", BY_TEXT, 0, "caf\xe9", ": is not UTF-8"},
    {IS_NAME | IS_TEXT, "surrogate", "half a surrogate pair", BY_TEXT, 0, "\xed\xa0\x80",
     ": is not UTF-8"},
    {IS_NAME | IS_TEXT, "control", "what moves the cursor of a terminal", BY_TEXT, 0, "1.0\x1b[2J",
     ": has control characters"},
    {IS_NAME | IS_TEXT, "c1", "an 8-bit control character", BY_TEXT, 0, "MIT\xc2\x9b",
     ": has control characters"},
    {IS_NAME | IS_TEXT, "delete", "the delete character", BY_TEXT, 0, "MIT\x7f",
     ": has control characters"},
    {IS_NAME | IS_TEXT, "endless", "without end", BY_ENDLESS, 0, NULL,
     ": does not end within %u bytes"},

    {IS_NAME | IS_TEXT, "long", "a letter too long", BY_LONG, 0, NULL,
     ": does not end within %u bytes"},

    {IS_FUNCTION, "data", "data", BY_DATA, 0, NULL, ": is no function of a loaded library"},
    {IS_FUNCTION, "wild", "at an address where nothing is", BY_ADDRESS, 0xdead0000, NULL,
     ": is no function of a loaded library"},
    {IS_TABLE, "missing", "counted, and NULL", BY_ADDRESS, 0, NULL,
     ": is NULL, but * entries are counted"},
    {IS_TABLE, "count", "four thousand million entries", BY_COUNT, UINT32_MAX, NULL,
     ": is counted as 4294967295 entries, the limit is %u"},
    {IS_FLAGS | IS_FLAGS32, "unknown", "a bit that nobody knows", BY_BIT, 30, NULL,
     ": has bits 0x40000000, which ABI * does not know"},
    {IS_FLAGS | IS_DTYPES | IS_ROW_DTYPES, "high", "a high bit that nobody knows", BY_BIT, 62, NULL,
     ": has bits 0x4000000000000000, which ABI * does not know"},
    {IS_DTYPES, "none", "no dtype, as one of several", BY_BIT, TN_NONE, NULL,
     ": has bits 0x1, which ABI * does not know"},
    {IS_ROW_DTYPES, "any", "any dtype, and some by name", BY_BIT, TN_NONE, NULL,
     ": has TN_ANY_DTYPE beside other types"}};
enum { ZOO_DAMAGES = sizeof zoo_damages / sizeof *zoo_damages };

/* ---- their product ---- */

enum { ZOO_PRODUCT = ZOO_MEMBERS * ZOO_DAMAGES, ZOO_NAME = 64, ZOO_SAYS = 256 };

static inline const zoo_member *zoo_member_of(int product) {
  return &zoo_members[product / ZOO_DAMAGES];
}

static inline const zoo_damage *zoo_damage_of(int product) {
  return &zoo_damages[product % ZOO_DAMAGES];
}

/* False: this member cannot be damaged in this way, or it does no harm. */
static inline bool zoo_is_animal(int product) {
  const zoo_member *m = zoo_member_of(product);
  const zoo_damage *d = zoo_damage_of(product);
  if (!(d->kinds & (int)m->kind)) return false;
  if (!m->required && (!strcmp(d->name, "missing") || !strcmp(d->name, "empty"))) return false;
  /* the others are said in other words: see animals.h */
  return m->owner != OF_PLUGIN || strcmp(d->name, "null") != 0;
}

/* "kernel_run_missing" */
static inline const char *zoo_name(int product, char *buf) {
  const zoo_member *m = zoo_member_of(product);
  snprintf(buf, ZOO_NAME, "%s_%s_%s", zoo_structs[m->owner].name, m->name,
           zoo_damage_of(product)->name);
  return buf;
}

/* What Tenon has to say. The name of a plug-in is known before its version is looked at. */
static inline const char *zoo_says(int product, char *buf) {
  const zoo_member *m = zoo_member_of(product);
  const zoo_damage *d = zoo_damage_of(product);
  const bool named = !m->first && m->kind != IS_HEAD;
  const char *where = named || (m->owner == OF_PLUGIN && d->way == BY_MAJOR)
                          ? zoo_structs[m->owner].after
                          : zoo_structs[m->owner].before;
  const int n = snprintf(buf, ZOO_SAYS, "%s, member %s", where, m->said ? m->said : m->name);
  const char *limit = strstr(d->rule, "%u");
  if (limit)
    snprintf(buf + n, ZOO_SAYS - (size_t)n, "%.*s%u%s", (int)(limit - d->rule), d->rule, m->limit,
             limit + 2);
  else
    snprintf(buf + n, ZOO_SAYS - (size_t)n, "%s", d->rule);
  return buf;
}

#endif
