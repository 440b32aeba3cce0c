/* Damaged Caffe files, and what is said of them. */
#include "damage.h"

extern const tn_format caffe_format;

const damage_of damage_subject = {
    .format = &caffe_format,
    .files = {"tests/fuzz/corpus/caffe/whole.caffemodel",
              "tests/fuzz/corpus/caffe/layers.prototxt"},
    .wild_numbers = true,
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "the file is empty"},
                 {DAMAGE_BYTES("\x0a\x09"), TN_ERR_INVALID,
                  "field 1 of NetParameter is longer than what it stands in, at byte 0"},
                 {DAMAGE_BYTES("layer {\n name: \"a }\n"), TN_ERR_INVALID,
                  ":2:8: the string has no end"}},
};
