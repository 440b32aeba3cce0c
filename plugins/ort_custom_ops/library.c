/* Opening libraries of custom operators, and what they register. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "ort.h"

ort_entry ort_entries[ORT_MOST_ENTRIES];
uint32_t ort_n_entries;
static uint32_t n_offered; /* entries that Tenon knows: they stay as they are */
char ort_failure[1024];

/* They stay: libraries may use them as long as they like. */
struct ort_domain {
  ort_domain *next;
  char name[129];
  uint32_t n;
  const ort_op *ops[ORT_MOST_ENTRIES];
};

static ort_domain *domains;

enum { MOST_DOMAINS = 64 };
struct ort_options { /* of one library */
  const ort_domain *domains[MOST_DOMAINS];
  uint32_t n_domains;
};

/* ---- notes ---- */

enum { MOST_NOTES = 32, NOTE_BYTES = 400 };
static char notes[MOST_NOTES][NOTE_BYTES];
static uint32_t n_notes;

const char *ort_note(uint32_t index) { return index < n_notes ? notes[index] : NULL; }

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...) {
  if (n_notes == MOST_NOTES) return;
  va_list args;
  va_start(args, format);
  vsnprintf(notes[n_notes++], NOTE_BYTES, format, args);
  va_end(args);
}

/* ---- is it an operator? ---- */

static const char *lacks(const ort_op *op) {
  if (!op->name) return "GetName";
  if (!op->n_inputs) return "GetInputTypeCount";
  if (!op->n_outputs) return "GetOutputTypeCount";
  if (!op->input_type) return "GetInputType";
  if (!op->output_type) return "GetOutputType";
  if (!op->destroy) return "KernelDestroy";
  if (!op->create && !ORT_HAS(op, create_v2, 16)) return "CreateKernel";
  if (!op->compute && !ORT_HAS(op, compute_v2, 16)) return "KernelCompute";
  return NULL;
}

static bool is_name(const char *text) {
  const size_t n = text ? strlen(text) : 0;
  return n && n <= 128 &&
         text[strspn(text,
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_.-")] == 0;
}

static bool is_for_cpu(const ort_op *op) {
  const char *provider = op->provider ? op->provider(op) : NULL;
  return !provider || !*provider || !strcmp(provider, "CPUExecutionProvider");
}

static bool has_free_type(const ort_op *op, bool inputs) {
  const size_t n = inputs ? op->n_inputs(op) : op->n_outputs(op);
  for (size_t k = 0; k < n; k++)
    if ((inputs ? op->input_type(op, k) : op->output_type(op, k)) == ORT_UNDEFINED) return true;
  return false;
}

static bool has_known_types(const ort_op *op) {
  for (size_t k = 0; k < op->n_inputs(op); k++)
    if (op->input_type(op, k) != ORT_UNDEFINED && !ort_dtype(op->input_type(op, k))) return false;
  for (size_t k = 0; k < op->n_outputs(op); k++)
    if (op->output_type(op, k) != ORT_UNDEFINED && !ort_dtype(op->output_type(op, k))) return false;
  return true;
}

/* NULL: it can be used; else why not. */
static const char *what_is_wrong(const ort_op *op) {
  if (!is_name(op->name(op))) return "its name is none";
  if (!is_for_cpu(op)) return "it is for another execution provider than the CPU's";
  if (op->n_inputs(op) > ORT_MOST_ARGS || op->n_outputs(op) > ORT_MOST_ARGS)
    return "it has more than 64 inputs or outputs";
  if (!op->n_outputs(op)) return "it has no output";
  if (!has_known_types(op)) return "an element type is none that is known here";
  if (has_free_type(op, false) && !has_free_type(op, true) && !ORT_HAS(op, infer, 17))
    return "the type of an output cannot be told: no input is of any type";
  return NULL;
}

/* Answers false after a note. */
static bool check(const char *path, const ort_op *op) {
  if (op->version < 1 || op->version > ORT_API_VERSION) {
    note("%.200s: an operator is left out: it says it is of version %u; known are 1 to %d", path,
         op->version, ORT_API_VERSION);
    return false;
  }
  const char *member = lacks(op);
  const char *name = op->name ? op->name(op) : NULL, *why = member ? NULL : what_is_wrong(op);
  if (!member && !why) return true;
  note("%.150s: operator '%.80s' is left out: %s%s", path, name ? name : "?",
       member ? "it lacks " : why, member ? member : "");
  return false;
}

/* ---- entries ---- */

static int since_of(const ort_op *op) {
  const int since = ORT_HAS(op, since, 17) ? op->since(op) : 1;
  return since > 1 ? since : 1;
}

static int until_of(const ort_op *op) {
  const int until = ORT_HAS(op, until, 17) ? op->until(op) : 0;
  return until > 0 && until < INT32_MAX ? until : 0;
}

/* Overloads differ in nothing but element types. */
static bool is_alike(const ort_op *a, const ort_op *b) {
  if (a->n_inputs(a) != b->n_inputs(b) || a->n_outputs(a) != b->n_outputs(b)) return false;
  for (size_t k = 0; k < a->n_inputs(a); k++)
    if (ort_kind(a, true, k) != ort_kind(b, true, k)) return false;
  for (size_t k = 0; k < a->n_outputs(a); k++)
    if (ort_kind(a, false, k) != ort_kind(b, false, k)) return false;
  return true;
}

static ort_entry *find(const char *domain, const ort_op *op) {
  for (uint32_t k = 0; k < ort_n_entries; k++) {
    ort_entry *e = &ort_entries[k];
    if (!strcmp(e->domain, domain) && !strcmp(e->name, op->name(op)) && e->since == since_of(op))
      return e;
  }
  return NULL;
}

static void overload(const char *path, ort_entry *e, const ort_op *op) {
  for (uint32_t k = 0; k < e->n_overloads; k++)
    if (e->overloads[k] == op) return; /* of a library that was named twice */
  if (e < ort_entries + n_offered)
    note("%.150s: operator '%.80s' is left out: an earlier library has one of that name", path,
         e->name);
  else if (e->n_overloads == ORT_MOST_OVERLOADS || !is_alike(e->overloads[0], op))
    note(
        "%.150s: operator '%.80s' is left out: there is one of that name with other inputs or "
        "outputs",
        path, e->name);
  else
    e->overloads[e->n_overloads++] = op;
}

static void add(const char *path, const ort_domain *domain, const ort_op *op) {
  if (!check(path, op)) return;
  ort_entry *e = find(domain->name, op);
  if (e) {
    overload(path, e, op);
    return;
  }
  const ort_entry made = {
      ort_keep(domain->name), ort_keep(op->name(op)), {op}, 1, since_of(op), until_of(op)};
  if (made.domain && made.name && ort_n_entries < ORT_MOST_ENTRIES)
    ort_entries[ort_n_entries++] = made;
  else
    note("%.150s: operator '%.80s' is left out: there is no room for more", path, op->name(op));
}

/* ---- what a library calls while it registers ---- */

static ort_status *create_domain(const char *name, ort_domain **out) {
  const bool is_onnx = name && !*name;
  if (!is_onnx && !is_name(name)) return ort_fail(ORT_INVALID_ARGUMENT, "the domain has no name");
  if (!(*out = calloc(1, sizeof **out))) return ort_fail(ORT_FAIL, "out of memory");
  memcpy((*out)->name, name, strlen(name));
  (*out)->next = domains;
  domains = *out;
  return NULL;
}

static ort_status *add_op(ort_domain *domain, const ort_op *op) {
  if (!op) return ort_fail(ORT_INVALID_ARGUMENT, "an operator is NULL");
  if (domain->n == ORT_MOST_ENTRIES)
    return ort_fail(ORT_FAIL, "more than %d operators", ORT_MOST_ENTRIES);
  domain->ops[domain->n++] = op;
  return NULL;
}

/* Operators may be added to a domain later. */
static ort_status *add_domain(ort_options *options, const ort_domain *domain) {
  if (options->n_domains == MOST_DOMAINS)
    return ort_fail(ORT_FAIL, "more than %d domains", MOST_DOMAINS);
  options->domains[options->n_domains++] = domain;
  return NULL;
}

static void release_domain(ort_domain *domain) { (void)domain; }

void ort_library_functions(ort_function *table) {
  ORT_SET(table, CreateCustomOpDomain, create_domain);
  ORT_SET(table, CustomOpDomain_Add, add_op);
  ORT_SET(table, AddCustomOpDomain, add_domain);
  ORT_SET(table, ReleaseCustomOpDomain, release_domain);
}

/* ---- libraries ---- */

static char *opened[ORT_MOST_LIBRARIES];
static uint32_t n_opened;

typedef ort_status *(*register_fn)(ort_options *, const ort_api_base *);

static bool fail(const char *path, const char *what, const char *why) {
  snprintf(ort_failure, sizeof ort_failure, "%.300s: %s: %.600s", path, what, why);
  return false;
}

static bool find_register(const char *path, register_fn *out) {
  if (*path != '/') return fail(path, "is not loaded", "the path is not absolute");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const char *why = library ? NULL : dlerror();
  if (!library) return fail(path, "cannot be loaded", why ? why : "no reason given");
  void *symbol = dlsym(library, "RegisterCustomOps");
  memcpy(out, &symbol, sizeof symbol);
  return symbol || fail(path, "is not loaded", "it does not export RegisterCustomOps");
}

typedef struct registration {
  register_fn call;
  ort_options options;
  ort_status *failed;
} registration;

static void register_all(void *arg) {
  registration *r = arg;
  r->failed = r->call(&r->options, &ort_base);
}

static void thrown(void *arg, const char *what) {
  ((registration *)arg)->failed = ort_fail(ORT_FAIL, "%s", what);
}

static bool is_open(const char *path) {
  for (uint32_t k = 0; k < n_opened; k++)
    if (!strcmp(opened[k], path)) return true;
  return false;
}

static bool open_library(const char *path) {
  registration r = {.failed = NULL};
  if (n_opened == ORT_MOST_LIBRARIES) return fail(path, "is not loaded", "there are 64 already");
  if (!find_register(path, &r.call)) return false;
  ort_guard(register_all, &r, thrown);
  if (r.failed) {
    fail(path, "RegisterCustomOps failed", ort_status_text(r.failed));
    ort_status_free(r.failed);
    return false;
  }
  for (uint32_t k = 0; k < r.options.n_domains; k++)
    for (uint32_t i = 0; i < r.options.domains[k]->n; i++)
      add(path, r.options.domains[k], r.options.domains[k]->ops[i]);
  opened[n_opened] = strdup(path);
  if (!opened[n_opened]) return fail(path, "is not loaded", "out of memory");
  n_opened++;
  return true;
}

void ort_libraries_open(void) {
  const char *named = secure_getenv("TENON_ORT_CUSTOM_OPS");
  char *paths = named ? strdup(named) : NULL, *rest = NULL;
  (void)ort_api();
  n_offered = ort_n_entries;
  *ort_failure = 0;
  bool ok = true;
  for (char *path = paths ? strtok_r(paths, ":", &rest) : NULL; path && ok;
       path = strtok_r(NULL, ":", &rest))
    ok = is_open(path) || open_library(path);
  free(paths);
}
