/* Damaged TorchScript archives, and what is said of them and of programs that are none. */
#include "damage.h"

extern const tn_format torchscript_format;

const damage_of damage_subject = {
    .format = &torchscript_format,
    .files = {"tests/fuzz/corpus/torchscript/BufferSlices",
              "tests/data/torchscript/InPlace/model.pt"},
    .wild_numbers = true,
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "the archive has no end record"},
                 {DAMAGE_BYTES("PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), TN_ERR_INVALID,
                  "the archive has no data.pkl"}},
};
