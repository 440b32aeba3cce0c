/* Damaged files of torch.export, and what is said of them. */
#include "damage.h"

extern const tn_format torchexport_format;

const damage_of damage_subject = {
    .format = &torchexport_format,
    .files = {"tests/data/torchexport/views/model.pt2", "tests/data/torchexport/old/model.pt2"},
    .messages = {{DAMAGE_BYTES(""), TN_ERR_INVALID, "the archive has no end record"},
                 {DAMAGE_BYTES("PK\3\4 and no more of it than this"), TN_ERR_INVALID,
                  "the archive has no end record"}},
};
