/* What the signal operators refuse, and how they say it: lengths that do not fit, rows and bits out
 * of range, states that no run leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/tenon.h"

/* One node that is refused; words: some of what is said. All elements of an input are `value`. */
typedef struct refused {
  const char *op, *words;
  struct {
    const char *name;
    uint32_t dtype;
    int64_t n, value; /* n 0: a scalar */
  } inputs[6];
  struct {
    const char *name, *text;
  } attrs[9];
} refused;

#define NOISE_ATTRS                                                                    \
  {"alternate_one_minus_smoothing", "1"}, {"alternate_smoothing", "1"},                \
      {"min_signal_remaining", "1"}, {"one_minus_smoothing", "1"}, {"smoothing", "1"}, \
      {"spectral_subtraction_bits", "14"}, {                                           \
    "clamping", "0"                                                                    \
  }
#define BANK(start, width)                                                                         \
  {                                                                                                \
    {"input", TN_U32, 4, 1}, {"weights", TN_I16, 3, 1}, {"unweights", TN_I16, 3, 1},               \
        {"channel_frequency_starts", TN_I16, 3, start}, {"channel_weight_starts", TN_I16, 3, 0}, { \
      "channel_widths", TN_I16, 3, width                                                           \
    }                                                                                              \
  }

static const refused all[] = {
    {"SignalDelay", "must have 2 outputs", {{"input", TN_I16, 2, 0}}, {{"delay_length", "1"}}},
    {"SignalWindow",
     "attribute 'shift' is 32, but must be 0 to 31",
     {{"input", TN_I16, 4, 0}, {"weights", TN_I16, 4, 0}},
     {{"shift", "32"}}},
    {"SignalWindow",
     "input has 5 elements, which are no rows of 4 weights",
     {{"input", TN_I16, 5, 0}, {"weights", TN_I16, 4, 0}},
     {{"shift", "2"}}},
    {"SignalFftAutoScale", "input has rank 0, but must be a row", {{"input", TN_I16, 0, 0}}, {{0}}},
    {"SignalRfft",
     "attribute 'fft_length' is 2, but must be 4 to",
     {{"input", TN_I16, 2, 0}},
     {{"fft_length", "2"}}},
    {"SignalRfft",
     "'fft_length' is 14, which is no product",
     {{"input", TN_I16, 2, 0}},
     {{"fft_length", "14"}}},
    {"SignalRfft",
     "'fft_length' is 15, which is no product",
     {{"input", TN_I16, 2, 0}},
     {{"fft_length", "15"}}},
    {"SignalRfft",
     "input has rows of 9 elements, but attribute 'fft_length' is 8",
     {{"input", TN_I16, 9, 0}},
     {{"fft_length", "8"}}},
    {"SignalRfft",
     "attribute 'T' is 2, but the type of input has the number 7",
     {{"input", TN_I16, 8, 0}},
     {{"fft_length", "8"}, {"T", "2"}}},
    {"SignalIrfft",
     "input has rows of 8 elements, but attribute 'fft_length' 8 needs 10",
     {{"input", TN_F32, 8, 0}},
     {{"fft_length", "8"}}},
    {"SignalEnergy", "no pairs", {{"input", TN_I16, 7, 0}}, {{"end_index", "3"}}},
    {"SignalEnergy",
     "attribute 'end_index' is 4, but must be 0 to 3",
     {{"input", TN_I16, 6, 0}},
     {{"end_index", "4"}}},
    {"SignalEnergy",
     "attribute 'start_index' is 3, but must be 0 to 2",
     {{"input", TN_I16, 6, 0}},
     {{"end_index", "2"}, {"start_index", "3"}}},
    {"SignalFilterBank",
     "has 3 elements, but attribute 'num_channels' 4 needs 5",
     BANK(0, 1),
     {{"num_channels", "4"}}},
    {"SignalFilterBank",
     "channel 0 takes 3 elements of input from 2 on, but there are 4",
     BANK(2, 3),
     {{"num_channels", "2"}}},
    {"SignalFilterBank",
     "channel 0 takes 1 elements of input from -1 on",
     BANK(-1, 1),
     {{"num_channels", "2"}}},
    {"SignalFilterBank",
     "channel 0 takes 4 elements of weights from 0 on, but there are 3",
     BANK(0, 4),
     {{"num_channels", "2"}}},
    {"SignalFilterBankSquareRoot",
     "scale_bits is 32, but must be 0 to 31",
     {{"input", TN_U64, 2, 9}, {"scale_bits", TN_I32, 0, 32}},
     {{0}}},
    {"SignalPCAN",
     "gain_lut has 124 elements, but must have 125 or more",
     {{"input", TN_U32, 2, 0}, {"noise_estimate", TN_U32, 2, 0}, {"gain_lut", TN_I16, 124, 0}},
     {{"snr_shift", "6"}}},
    {"SignalPCAN",
     "input has 2 channels and noise_estimate 3",
     {{"input", TN_U32, 2, 0}, {"noise_estimate", TN_U32, 3, 0}, {"gain_lut", TN_I16, 125, 0}},
     {{"snr_shift", "6"}}},
    {"SignalFilterBankLog",
     "attribute 'input_correction_bits' is -1",
     {{"input", TN_U32, 2, 0}},
     {{"input_correction_bits", "-1"}, {"output_scale", "9"}}},
    {"SignalDelay",
     "attribute 'delay_length' is -1",
     {{"input", TN_I16, 2, 0}},
     {{"delay_length", "-1"}}},
    {"SignalDelay",
     "input 'before' does not have the shape that it leaves",
     {{"input", TN_I16, 2, 0}, {"before", TN_I16, 2, 0}},
     {{"delay_length", "3"}}},
    {"SignalFramer",
     "no rows of whole steps: attribute 'frame_step' is 2",
     {{"input", TN_I16, 3, 0}},
     {{"frame_size", "4"}, {"frame_step", "2"}}},
    {"SignalFramer",
     "attribute 'frame_step' is 5, but must be 1 to 4",
     {{"input", TN_I16, 5, 0}},
     {{"frame_size", "4"}, {"frame_step", "5"}, {"prefill", "1"}}},
    {"SignalFramer",
     "3 samples cannot wait for a frame",
     {{"input", TN_I16, 2, 0}, {"before", TN_I32, 5, 3}},
     {{"frame_size", "4"}, {"frame_step", "2"}}},
    {"SignalStacker",
     "attribute 'stacker_step' is 4, but must be 1 to 3",
     {{"input", TN_I16, 2, 0}},
     {{"num_channels", "2"},
      {"stacker_left_context", "1"},
      {"stacker_right_context", "1"},
      {"stacker_step", "4"}}},
    {"SignalStacker",
     "input has 3 elements, but attribute 'num_channels' is 2",
     {{"input", TN_I16, 3, 0}},
     {{"num_channels", "2"},
      {"stacker_left_context", "1"},
      {"stacker_right_context", "1"},
      {"stacker_step", "1"}}},
    {"SignalStacker",
     "5 samples cannot wait to be stacked",
     {{"input", TN_I16, 2, 0}, {"before", TN_I32, 8, 5}},
     {{"num_channels", "2"},
      {"stacker_left_context", "1"},
      {"stacker_right_context", "1"},
      {"stacker_step", "1"}}},
    {"SignalOverlapAdd",
     "input has no frames: its rank is below 2",
     {{"input", TN_F32, 4, 0}},
     {{"frame_step", "2"}}},
    {"SignalFilterBankSpectralSubtraction",
     "attribute 'smoothing_bits' is 32",
     {{"input", TN_U32, 2, 0}},
     {{"num_channels", "2"}, {"smoothing_bits", "32"}, NOISE_ATTRS}},
    {"SignalFilterBankSpectralSubtraction",
     "input has 2 elements, but attribute 'num_channels' is 3",
     {{"input", TN_U32, 2, 0}},
     {{"num_channels", "3"}, {"smoothing_bits", "0"}, NOISE_ATTRS}}};

/* n elements of the value, whatever their width. */
static void fill(uint32_t dtype, int64_t n, int64_t value, void *data) {
  for (int64_t k = 0; k < (n ? n : 1); k++)
    if (dtype == TN_I16)
      ((int16_t *)data)[k] = (int16_t)value;
    else if (dtype == TN_U64)
      ((uint64_t *)data)[k] = (uint64_t)value;
    else
      ((int32_t *)data)[k] = (int32_t)value;
}

/* What the operator must have, unless that is what is refused. */
static uint32_t n_outputs(const refused *r) {
  static const char *const two[] = {"SignalFftAutoScale", "SignalDelay", "SignalOverlapAdd"};
  static const char *const three[] = {"SignalFramer", "SignalStacker",
                                      "SignalFilterBankSpectralSubtraction"};
  for (uint32_t k = 0; k < 3 && !strstr(r->words, "outputs"); k++)
    if (!strcmp(r->op, two[k]) || !strcmp(r->op, three[k])) return strcmp(r->op, two[k]) ? 3 : 2;
  return 1;
}

static void check(tn_runtime *rt, tn_diag *diag, const refused *r) {
  static int64_t data[6][128];
  char op[80] = "tflite::";
  tn_tensor in[6], *y[3];
  tn_op_arg args[15] = {{0}};
  uint32_t n = 0;
  strcat(op, r->op);
  for (; n < 6 && r->inputs[n].name; n++) {
    const int64_t size = r->inputs[n].n;
    fill(r->inputs[n].dtype, size, r->inputs[n].value, data[n]);
    in[n] = tn_tensor_make(r->inputs[n].dtype, size > 0, &size, data[n]);
    args[n] = (tn_op_arg){.name = r->inputs[n].name, .tensor = &in[n]};
  }
  for (uint32_t k = 0; k < 9 && r->attrs[k].name; k++)
    args[n++] = (tn_op_arg){.name = r->attrs[k].name, .text = r->attrs[k].text};
  tn_diag_clear(diag);
  assert_int_not_equal(tn_op_run(rt, op, 0, args, n, y, n_outputs(r), diag), TN_OK);
  if (!strstr(tn_diag_text(diag), r->words)) fail_msg("%s: %s", r->words, tn_diag_text(diag));
}

static void test_refused(void **state) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *rt = NULL;
  tn_diag *diag = tn_diag_create();
  (void)state;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  if (tn_runtime_create(&options, diag, &rt) ||
      tn_runtime_load_plugin(rt, TEST_PLUGIN, NULL, 0, diag))
    fail_msg("%s", tn_diag_text(diag));
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) check(rt, diag, &all[k]);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
