/* Damaged TensorFlow files, and what is said of them. */
#include "damage.h"

extern const tn_format tensorflow_format;

const damage_of damage_subject = {
    .format = &tensorflow_format,
    .files = {"tests/data/tensorflow/net/model.pb", "tests/data/tensorflow/moves/model.pb",
              "tests/data/tensorflow/control/model.pb"},
    .wild_numbers = true,
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "the file is empty"},
                 {DAMAGE_BYTES("\x0a\x09"), TN_ERR_INVALID,
                  "field 1 of GraphDef is longer than what it stands in, at byte 0"},
                 {DAMAGE_BYTES("\x0a\x06\x0a\x01x\x12\x01y\x0a\x06\x0a\x01x\x12\x01y"),
                  TN_ERR_INVALID, "two nodes are called 'x'"},
                 {DAMAGE_BYTES("\x0a\x09\x0a\x01x\x12\x01y\x1a\x01z\x0a\x09\x0a\x01z\x12\x01y\x1a"
                               "\x01x\x0a\x09\x0a\x01o\x12\x01y\x1a\x01x"),
                  TN_ERR_INVALID, "reads, in the end, what it makes itself"},
                 {DAMAGE_BYTES("node {\n name: \"a }\n"), TN_ERR_INVALID,
                  ":2:8: the string has no end"}},
};
