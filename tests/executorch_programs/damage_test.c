/* Damaged programs of ExecuTorch, and what is said of them. */
#include "damage.h"

extern const tn_format executorch_format;

const damage_of damage_subject = {
    .format = &executorch_format,
    .files = {"tests/data/executorch/linear/model.pte", "tests/data/executorch/state/model.pte",
              "tests/data/executorch/cond/model.pte", "tests/data/executorch/flat/model.pte",
              "tests/data/executorch/xnnpack/model.pte", "tests/data/executorch/dynamic4/model.pte",
              "tests/data/executorch/loops/model.pte"},
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "no room"},
                 {DAMAGE_BYTES("\x20\0\0\0ET12"), TN_ERR_INVALID,
                  "Program: stands outside the file, at byte 32"},
                 {DAMAGE_BYTES("\x0c\0\0\0ET12\4\0\4\0\4\0\0\0"), TN_ERR_INVALID,
                  "the program has no method, at byte 12"}},
};
