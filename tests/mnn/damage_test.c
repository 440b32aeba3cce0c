/* Damaged MNN files, and what is said of them. */
#include "damage.h"

extern const tn_format mnn_format;

const damage_of damage_subject = {
    .format = &mnn_format,
    .files = {"tests/data/mnn/net/model.mnn", "tests/data/mnn/shapes/model.mnn"},
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "no room"},
                 {DAMAGE_BYTES("\x20\0\0\0\0\0\0\0"), TN_ERR_INVALID,
                  "Net: stands outside the file, at byte 32"},
                 {DAMAGE_BYTES("\x08\0\0\0\4\0\4\0\4\0\0\0"), TN_ERR_INVALID,
                  "the network has no operators"}},
};
