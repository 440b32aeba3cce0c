/* One operator, called by a host with tensors of its own; see operator.h. A session is kept for
 * each operator with the same attributes and types, and used again. */
#include "operator.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEPT = 64, KEY_BYTES = 4096, NAME_BYTES = 64 };

/* A session for one operator, attributes and types. */
typedef struct kept {
  struct kept *next;
  char *key;
  tn_model *model;
  tn_session *session;
} kept;

/* A call, by the operator's schema. */
typedef struct call {
  const operator_call *given;
  char attributes[OPERATOR_TEXT], names[OPERATOR_TENSORS][NAME_BYTES], key[KEY_BYTES];
  tn_op_arg args[OPERATOR_TENSORS];
  uint32_t n_args;
  char *why; /* what is wrong is written here */
  size_t why_size;
} call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn_runtime *runtime; /* as long as the process */
static kept *idle;          /* used last first; under the lock */
static int n_idle;

/* ---- errors ---- */

static bool fail(const call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(const call *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(c->why, c->why_size, format, args);
  va_end(args);
  return false;
}

/* Takes diag. */
static bool fail_take(const call *c, tn_diag *diag, tn_status status) {
  const char *text = diag ? tn_diag_text(diag) : "";
  fail(c, "%s", *text ? text : tn_status_text(status));
  tn_diag_destroy(diag);
  return false;
}

/* ---- arguments by the operator's schema ---- */

static const tn_op *find_op(const char *name) {
  char domain[200] = "";
  const char *colons = strstr(name, "::");
  if (colons) snprintf(domain, sizeof domain, "%.*s", (int)(colons - name), name);
  return tn_runtime_find_op(runtime, domain, colons ? colons + 2 : name, 0);
}

/* The name of tensor argument k of a schema "(Tensor x, Tensor[] y, *, int axis=0) -> ..."; a list
 * stands for itself and all that follow. */
static bool tensor_name(const char *schema, int64_t k, char *name) {
  const char *at = strchr(schema, '(');
  while (at && *at && *at != ')') {
    at += strspn(at, "(, ");
    const size_t n = strcspn(at, ",)");
    if (*at == '*' || !n) return false;
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)(n < 199 ? n : 199), at);
    text[strcspn(text, "=")] = 0;
    const char *space = strrchr(text, ' ');
    if (!space) return false;
    if (k-- == 0 || strchr(text, '[')) {
      snprintf(name, NAME_BYTES, "%s", space + 1);
      return true;
    }
    at += n;
  }
  return false;
}

static bool read_attributes(call *c) {
  char *rest = c->attributes, *one;
  while ((one = strtok_r(rest, ";", &rest))) {
    one += strspn(one, " ");
    char *equals = strchr(one, '=');
    if (!*one) continue;
    if (!equals || c->n_args == OPERATOR_TENSORS)
      return fail(c, "attributes are 'name=value; ...', not '%s'", one);
    *equals = 0;
    c->args[c->n_args++] = (tn_op_arg){.name = one, .text = equals + 1};
  }
  return true;
}

/* Appends to the key; what is too long is seen at the end. */
static void add_key(call *c, size_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_key(call *c, size_t *at, const char *format, ...) {
  va_list args;
  if (*at >= KEY_BYTES) return;
  va_start(args, format);
  const int n = vsnprintf(c->key + *at, KEY_BYTES - *at, format, args);
  va_end(args);
  *at += n > 0 ? (size_t)n : 0;
}

static bool read_tensors(call *c, const tn_op *op, size_t *at) {
  const operator_call *g = c->given;
  for (uint32_t k = 0; k < g->n_inputs + g->n_outputs; k++) {
    const tn_tensor *t = &g->tensors[k];
    const bool is_input = k < g->n_inputs;
    if (is_input && !tensor_name(op->schema, k, c->names[k]))
      return fail(c, "%s: input %u is one too many", g->op, k);
    if (is_input) c->args[c->n_args++] = (tn_op_arg){.name = c->names[k], .tensor = t};
    add_key(c, at, "%s%s", is_input ? "" : ">", tn_dtype_name(t->dtype));
    for (int32_t d = 0; d < t->rank; d++) add_key(c, at, ",%lld", (long long)t->shape[d]);
    add_key(c, at, ";");
  }
  return true;
}

static bool read_call(call *c) {
  const operator_call *g = c->given;
  size_t at = 0;
  const tn_op *op = find_op(g->op);
  if (!op) return fail(c, "there is no operator '%s'", g->op);
  memcpy(c->attributes, g->attributes, sizeof c->attributes);
  add_key(c, &at, "%s|%s|", g->op, g->attributes);
  if (!read_tensors(c, op, &at)) return false;
  if (at >= KEY_BYTES) return fail(c, "%s: the arguments are too many", g->op);
  return read_attributes(c);
}

/* ---- sessions ---- */

static void drop(kept *k) {
  tn_session_destroy(k->session);
  tn_model_destroy(k->model);
  free(k->key);
  free(k);
}

static kept *take(const char *key) {
  pthread_mutex_lock(&lock);
  kept **at = &idle;
  while (*at && strcmp((*at)->key, key)) at = &(*at)->next;
  kept *k = *at;
  if (k) *at = k->next, n_idle--;
  pthread_mutex_unlock(&lock);
  return k;
}

static void give(kept *k) {
  kept *last = NULL;
  pthread_mutex_lock(&lock);
  k->next = idle;
  idle = k;
  if (++n_idle > MOST_KEPT) {
    kept **at = &idle;
    while ((*at)->next) at = &(*at)->next;
    last = *at;
    *at = NULL;
    n_idle--;
  }
  pthread_mutex_unlock(&lock);
  if (last) drop(last);
}

static kept *make(const call *c, tn_diag *diag, tn_status *out_status) {
  const operator_call *g = c->given;
  kept *k = calloc(1, sizeof *k);
  if (k) k->key = strdup(c->key);
  *out_status = k && k->key ? TN_OK : TN_ERR_MEMORY;
  if (!*out_status)
    *out_status = tn_model_from_op(runtime, g->op, 0, c->args, c->n_args, g->n_outputs, NULL, diag,
                                   &k->model);
  if (!*out_status) *out_status = tn_session_create(k->model, diag, &k->session);
  if (!*out_status) return k;
  if (k) drop(k);
  return NULL;
}

static int32_t leading_ones(const tn_tensor *t) {
  int32_t n = 0;
  while (n < t->rank && t->shape[n] == 1) n++;
  return n;
}

static bool is_same_shape(const operator_call *g, const tn_tensor *a, const tn_tensor *b) {
  const int32_t skip_a = g->drops_ones ? leading_ones(a) : 0,
                skip_b = g->drops_ones ? leading_ones(b) : 0, rank = a->rank - skip_a;
  if (a->rank < 0 || b->rank < 0 || rank != b->rank - skip_b) return false;
  for (int32_t k = 0; k < rank; k++)
    if (a->shape[skip_a + k] != b->shape[skip_b + k]) return false;
  return true;
}

/* Output k as given, with the dims that the operator answers if these are the same. */
static tn_tensor output_of(const operator_call *g, const tn_session *session, uint32_t k) {
  const tn_tensor given = g->tensors[g->n_inputs + k];
  tn_tensor type = {.head = TN_HEAD(tn_tensor)};
  if (tn_session_output_type(session, (int32_t)k, &type) || !is_same_shape(g, &type, &given))
    return given;
  return tn_tensor_make(given.dtype, type.rank, type.shape, given.data);
}

/* Outputs are of the types that the operator answers, or it is an error. */
static tn_status run_in(const operator_call *g, tn_session *session, tn_diag *diag) {
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < g->n_inputs && !status; k++)
    status = tn_session_set_input(session, (int32_t)k, &g->tensors[k], diag);
  if (!status) status = tn_session_prepare(session, diag);
  for (uint32_t k = 0; k < g->n_outputs && !status; k++) {
    const tn_tensor y = output_of(g, session, k);
    status = tn_session_set_output(session, (int32_t)k, &y, diag);
  }
  return status ? status : tn_session_run(session, diag);
}

static bool are_outputs_right(const call *c, const tn_session *session) {
  const operator_call *g = c->given;
  for (uint32_t k = 0; k < g->n_outputs; k++) {
    const tn_tensor *given = &g->tensors[g->n_inputs + k],
                    *y = tn_session_output(session, (int32_t)k);
    if (!y || y->dtype != given->dtype || y->data != given->data || !is_same_shape(g, y, given))
      return fail(c, "%s: output %u is %s of rank %d, or of other dims", g->op, k,
                  y ? tn_dtype_name(y->dtype) : "?", y ? y->rank : -1);
  }
  return true;
}

/* ---- what hosts call ---- */

static bool start(const call *c) {
  tn_diag *diag = tn_diag_create();
  pthread_mutex_lock(&lock);
  const tn_status status = runtime ? TN_OK : tn_runtime_create(NULL, diag, &runtime);
  pthread_mutex_unlock(&lock);
  if (status) return fail_take(c, diag, status);
  tn_diag_destroy(diag);
  return true;
}

bool operator_run(const operator_call *given, char *why, size_t size) {
  call c = {.given = given, .why = why, .why_size = size};
  tn_status status;
  if (!start(&c) || !read_call(&c)) return false;
  tn_diag *diag = tn_diag_create();
  kept *k = take(c.key);
  if (!k) k = make(&c, diag, &status);
  if (!k) return fail_take(&c, diag, status);
  status = run_in(given, k->session, diag);
  const bool right = !status && are_outputs_right(&c, k->session);
  if (right)
    give(k);
  else
    drop(k);
  if (status) return fail_take(&c, diag, status);
  tn_diag_destroy(diag);
  return right;
}

bool operator_load_plugin(const char *path, char *why, size_t size) {
  const call c = {.why = why, .why_size = size};
  if (!start(&c)) return false;
  tn_diag *diag = tn_diag_create();
  const tn_status status = tn_runtime_load_plugin(runtime, path, NULL, 0, diag);
  if (status) return fail_take(&c, diag, status);
  tn_diag_destroy(diag);
  return true;
}
