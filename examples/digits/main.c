/* Reads handwritten digits with a small transformer whose attention is an operator from a plug-in.
 *
 * usage: digits PLUGIN.so MODEL.onnx IMAGES.npy LABELS.npy [LEAST-ACCURACY-IN-PERCENT]
 * Prints where each node of the model runs, some digits with the answers, and the accuracy over all
 * images; exit code 1 if that is less than asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npy.h"
#include "show.h"

typedef struct demo {
  tn_diag *diag;
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  tn_tensor images, labels;
  const float *pixels;
  const int64_t *truth;
} demo;

static double now_us(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static tn_status complain(demo *d, tn_status status) {
  fprintf(stderr, "digits: %s\n%s\n", tn_status_text(status), tn_diag_text(d->diag));
  return status;
}

static int read_array(const char *path, tn_tensor *out) {
  const char *wrong = npy_read(path, out);
  if (wrong) fprintf(stderr, "digits: %s %s\n", path, wrong);
  return wrong != NULL;
}

static int read_data(demo *d, const char *images, const char *labels) {
  if (read_array(images, &d->images) || read_array(labels, &d->labels)) return 1;
  const tn_tensor *x = &d->images, *y = &d->labels;
  d->pixels = x->data;
  d->truth = y->data;
  if (x->dtype == TN_F32 && x->rank == 3 && x->shape[1] == SIDE && x->shape[2] == SIDE &&
      y->dtype == TN_I64 && y->rank == 1 && y->shape[0] == x->shape[0] && y->shape[0] > 0)
    return 0;
  fprintf(stderr, "digits: the images must be f32 [n, 8, 8], the labels i64 [n]\n");
  return 1;
}

static tn_status load(demo *d, const char *plugin, const char *model) {
  tn_status status = tn_runtime_create(NULL, d->diag, &d->runtime);
  if (!status) status = tn_runtime_load_plugin(d->runtime, plugin, NULL, 0, d->diag);
  if (!status) status = tn_model_load(d->runtime, model, NULL, d->diag, &d->model);
  if (!status) status = tn_session_create(d->model, d->diag, &d->session);
  return status;
}

/* Probabilities of images first .. first+n-1: [n][CLASSES], until the next run. */
static const float *classify(demo *d, int64_t first, int64_t n) {
  float *image = (float *)d->images.data + first * SIDE * SIDE;
  tn_tensor x = tn_tensor_make(TN_F32, 3, (int64_t[]){n, SIDE, SIDE}, image);
  if (tn_session_set_input(d->session, 0, &x, d->diag) || tn_session_run(d->session, d->diag))
    return NULL;
  const tn_tensor *p = tn_session_output(d->session, 0);
  if (p && p->dtype == TN_F32 && tn_tensor_elements(p) == n * CLASSES) return p->data;
  fprintf(stderr, "digits: the model's first output is not f32 [n, %d]\n", CLASSES);
  return NULL;
}

/* One image again and again: the fastest run, then the steps with their mean times. */
static tn_status show_plan(demo *d) {
  double best = 1e9;
  for (int k = 0; k < 200; k++) {
    double begin = now_us();
    if (!classify(d, 0, 1)) return TN_ERR_INVALID;
    double took = now_us() - begin;
    best = took < best ? took : best;
  }
  tn_status status = tn_session_profile(d->session, 1);
  for (int k = 0; k < 50 && !status; k++) status = classify(d, 0, 1) ? TN_OK : TN_ERR_INVALID;
  if (!status) status = tn_session_profile(d->session, 0);
  printf("\nWhere each node of the model runs, and how long it takes for one image:\n\n");
  if (!status) status = show_steps(d->session);
  printf("\nOne image takes %.0f us.\n", best);
  return status;
}

static tn_status show_digits(demo *d) {
  int64_t n = d->images.shape[0];
  printf("\nImages that were held out of training, and the answers:\n");
  for (int k = 0; k < 3; k++) {
    int64_t at = (k * 137 + 5) % n;
    const float *p = classify(d, at, 1);
    if (!p) return TN_ERR_INVALID;
    printf("\n   image %lld, a %lld\n", (long long)at, (long long)d->truth[at]);
    show_digit(d->pixels + at * SIDE * SIDE, p, d->truth[at]);
  }
  return TN_OK;
}

/* All images in one run. Answers the accuracy in percent, -1 on failure. */
static double show_accuracy(demo *d) {
  int64_t n = d->images.shape[0], right = 0;
  const float *p = classify(d, 0, n); /* the first run of a shape plans it */
  double begin = now_us();
  p = p ? classify(d, 0, n) : NULL;
  double took = now_us() - begin;
  if (!p) return -1;
  for (int64_t k = 0; k < n; k++) right += argmax(p + k * CLASSES) == d->truth[k];
  printf("\nAll %lld held-out images in one run of %.1f ms: %lld right, %.2f %%.\n", (long long)n,
         took * 1e-3, (long long)right, 100 * (double)right / (double)n);
  return 100 * (double)right / (double)n;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc > 6)
    return fprintf(stderr,
                   "usage: digits PLUGIN.so MODEL.onnx IMAGES.npy LABELS.npy [LEAST-ACCURACY]\n"),
           2;
  demo d = {.diag = tn_diag_create()};
  double least = argc > 5 ? strtod(argv[5], NULL) : 0, accuracy = -1;
  tn_status status = d.diag ? TN_OK : TN_ERR_MEMORY;
  if (!status && read_data(&d, argv[3], argv[4])) status = TN_ERR_IO;
  if (!status) status = load(&d, argv[1], argv[2]);
  if (!status) status = show_plan(&d);
  if (!status) status = show_digits(&d);
  if (!status) accuracy = show_accuracy(&d);
  if (status || accuracy < 0) complain(&d, status ? status : TN_ERR_INVALID);
  if (accuracy >= 0 && accuracy < least)
    fprintf(stderr, "digits: expected at least %g %%\n", least);
  tn_session_destroy(d.session);
  tn_model_destroy(d.model);
  tn_runtime_destroy(d.runtime);
  tn_diag_destroy(d.diag);
  free(d.images.data);
  free(d.labels.data);
  return status || accuracy < 0 || accuracy < least;
}
