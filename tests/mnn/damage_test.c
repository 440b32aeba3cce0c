/* Damaged MNN files, and what is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "damage.h"

extern const tn_format mnn_format;

/* A network of one operator without parameters, whose type stands at byte 68. */
static void every_refused_type(void **state) {
  (void)state;
  enum { TYPE = 68 };
  uint8_t net[] = {24, 0, 0, 0, 20, 0, 12, 0, 0,  0, 0, 0, 0,  0, 4, 0, 0,  0, 0, 0, 0,   0, 8,  0,
                   20, 0, 0, 0, 8,  0, 0,  0, 48, 0, 0, 0, 1,  0, 0, 0, 20, 0, 0, 0, 16,  0, 12, 0,
                   0,  0, 0, 0, 0,  0, 0,  0, 4,  0, 8, 0, 16, 0, 0, 0, 8,  0, 0, 0, 0,   0, 0,  0,
                   1,  0, 0, 0, 0,  0, 0,  0, 1,  0, 0, 0, 4,  0, 0, 0, 1,  0, 0, 0, 'x', 0, 0,  0};
  uint32_t n = 0;
  for (uint32_t k = 0; k < mnn_format.n_ops; k++) {
    const tn_format_op *row = mnn_format.ops[k];
    char text[200];
    if (row->how != TN_FORMAT_REFUSED) continue;
    net[TYPE] = (uint8_t)row->code;
    net[TYPE + 1] = (uint8_t)(row->code >> 8);
    snprintf(text, sizeof text, "operator '' (%s): not supported: %s, at byte 60", row->name,
             row->note);
    if (!damage_says(net, sizeof net, text)) fail_msg("no message '%s'", text);
    n++;
  }
  assert_true(n > 0);
}

const damage_of damage_subject = {
    .format = &mnn_format,
    .files = {"tests/data/mnn/net/model.mnn", "tests/data/mnn/codes/model.mnn",
              "tests/data/mnn/steps/model.mnn", "tests/data/mnn/groups4/model.mnn",
              "tests/data/mnn/select/model.mnn", "tests/data/mnn/recurrent/model.mnn",
              "tests/data/mnn/control/model.mnn"},
    .more = every_refused_type,
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "no room"},
                 {DAMAGE_BYTES("\x20\0\0\0\0\0\0\0"), TN_ERR_INVALID,
                  "Net: stands outside the file, at byte 32"},
                 {DAMAGE_BYTES("\x08\0\0\0\4\0\4\0\4\0\0\0"), TN_ERR_INVALID,
                  "the network has no operators"}},
};
