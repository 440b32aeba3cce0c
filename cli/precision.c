/* Comparing a model in the precision that the user wants with the same in f32, on the same
 * inputs. */
#include "precision.h"

#include <math.h>

#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

bool cli_is_narrow(const cli_common *c) { return c->precision && c->precision != TN_F32; }

/* ---- what runs in what ---- */

static bool reads_half(const tn_step_info *step) {
  for (uint32_t k = 0; k < step->n_inputs; k++) {
    const tn_tensor *t = step->inputs[k];
    if (t && (t->dtype == TN_F16 || t->dtype == TN_BF16)) return true;
  }
  return false;
}

static void count_steps(const cli_session *s, int64_t *out_n, int64_t *out_half) {
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  *out_n = *out_half = 0;
  for (int32_t k = 0; !tn_session_step(s->session, k, &step); k++) {
    ++*out_n;
    *out_half += reads_half(&step);
  }
}

void cli_precision_print(const cli_session *s) {
  int64_t n, half;
  if (!s->common || !cli_is_narrow(s->common)) return;
  count_steps(s, &n, &half);
  cli_print("precision: %lld of %lld steps read %s, the others f32; all compute in f32\n",
            (long long)half, (long long)n, tn_dtype_name(s->common->precision));
}

/* ---- one output ---- */

typedef struct difference {
  int64_t n, n_bad, n_unequal;     /* n_bad: not finite, but finite in f32 */
  double most, largest;            /* difference; magnitude in f32 */
  double error, power, other, dot; /* sums of squares of differences, of both; of products */
} difference;

static void add_element(difference *d, double got, double want) {
  d->n++;
  d->n_unequal += got != want && !(isnan(got) && isnan(want));
  if (!isfinite(want)) return;
  if (!isfinite(got)) {
    d->n_bad++;
    return;
  }
  d->most = fmax(d->most, fabs(got - want));
  d->largest = fmax(d->largest, fabs(want));
  d->error += (got - want) * (got - want);
  d->power += want * want;
  d->other += got * got;
  d->dot += got * want;
}

/* False: they are not numbers of one shape. */
static bool add_value(difference *d, const tn_tensor *got, const tn_tensor *want) {
  const cli_tolerance types = {.types_only = true};
  char why[300];
  if (!cli_same(got, want, &types, why, sizeof why)) return false;
  if (want->kind != TN_KIND_TENSOR) {
    for (int64_t k = 0; k < tn_list_size(want); k++)
      if (!add_value(d, tn_list_item(got, k), tn_list_item(want, k))) return false;
    return true;
  }
  if (want->dtype == TN_STRING || tn_dtype(want->dtype)->is_complex) return false;
  for (int64_t k = 0; k < tn_tensor_elements(want); k++)
    add_element(d, tn_load_f64(got->dtype, got->data, k), tn_load_f64(want->dtype, want->data, k));
  return true;
}

static double ratio_db(const difference *d) {
  return d->error > 0 ? 10 * log10(d->power / d->error) : INFINITY;
}

static double cosine(const difference *d) {
  return d->power > 0 && d->other > 0 ? d->dot / sqrt(d->power * d->other) : d->power == d->other;
}

static double relative(const difference *d) { return d->largest > 0 ? d->most / d->largest : 0; }

/* ---- the report ---- */

static void add_head(cli_table *t) {
  static const char *const head[] = {"output",     "elements", "differ", "largest difference",
                                     "of largest", "SNR",      "cosine", "new inf or NaN"};
  cli_table_init(t, 8, ~1u);
  cli_table_row(t, head);
}

static void add_row(cli_table *t, const char *name, const difference *d) {
  char n[32], unequal[32], most[32], part[32], snr[32], cos[32], bad[32];
  snprintf(n, sizeof n, "%lld", (long long)d->n);
  snprintf(unequal, sizeof unequal, "%lld", (long long)d->n_unequal);
  snprintf(most, sizeof most, "%.3g", d->most);
  snprintf(part, sizeof part, "%.3g", relative(d));
  if (isfinite(ratio_db(d)))
    snprintf(snr, sizeof snr, "%.1f dB", ratio_db(d));
  else
    snprintf(snr, sizeof snr, "exact");
  snprintf(cos, sizeof cos, "%.8f", cosine(d));
  snprintf(bad, sizeof bad, "%lld", (long long)d->n_bad);
  const char *cells[] = {name, n, unequal, most, part, snr, cos, bad};
  cli_table_row(t, cells);
}

static void add_json(cli_json *list, const char *name, const difference *d) {
  cli_json *o = cli_json_object(list, NULL);
  cli_json_text(o, "output", name);
  cli_json_int(o, "elements", d->n);
  cli_json_int(o, "differ", d->n_unequal);
  cli_json_number(o, "largest_difference", d->most);
  cli_json_number(o, "of_largest", relative(d));
  cli_json_number(o, "snr_db", ratio_db(d));
  cli_json_number(o, "cosine", cosine(d));
  cli_json_int(o, "new_not_finite", d->n_bad);
}

static void print_memory(const cli_session *s, const cli_session *plain) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];
  tn_plan_info now = {.head = TN_HEAD(tn_plan_info)}, then = {.head = TN_HEAD(tn_plan_info)};
  if (tn_session_plan(s->session, &now) || tn_session_plan(plain->session, &then)) return;
  cli_print("memory: prepared weights %s (%s in f32), constants %s (%s)\n",
            cli_bytes((double)now.state_bytes, a), cli_bytes((double)then.state_bytes, b),
            cli_bytes((double)now.const_bytes, c), cli_bytes((double)then.const_bytes, d));
}

static int report(cli_session *s, const cli_session *plain, const cli_tolerance *tolerance,
                  cli_json *list, bool quiet) {
  cli_table table;
  int code = CLI_OK;
  if (!quiet) add_head(&table);
  for (int32_t k = 0; k < tn_model_n_outputs(s->model); k++) {
    const char *name = tn_model_output_name(s->model, k);
    const tn_tensor *got = tn_session_output(s->session, k),
                    *want = tn_session_output(plain->session, k);
    difference d = {0};
    char why[300];
    const bool is_number = add_value(&d, got, want);
    if (is_number && !quiet) add_row(&table, name, &d);
    if (is_number) add_json(list, name, &d);
    if (d.n_bad) code = CLI_FAILED;
    if (is_number && !tolerance) continue;
    static const cli_tolerance none = {0};
    if (cli_same(got, want, tolerance ? tolerance : &none, why, sizeof why)) continue;
    cli_error("output %s in %s %s", name, tn_dtype_name(s->common->precision), why);
    code = CLI_FAILED;
  }
  if (quiet) return code;
  cli_precision_print(s);
  print_memory(s, plain);
  cli_table_print(&table, 0);
  return code;
}

int cli_precision_compare(cli_session *s, const cli_feed *feed, const char *path,
                          const cli_tolerance *tolerance, cli_json *list, bool quiet) {
  cli_session plain;
  cli_common common = *s->common;
  int code;
  common.precision = 0;
  if (cli_session_open(&plain, &common, feed, path, &code)) {
    tn_status status = cli_inputs_set(&plain.inputs, plain.session, false);
    if (!status) status = tn_session_run(plain.session, plain.diag);
    code = status ? cli_session_fail(&plain, status) : report(s, &plain, tolerance, list, quiet);
  }
  cli_session_close(&plain);
  return code;
}
