/* What a selected build is linked without (docs/small.md). A file of this room has the functions by
 * which others call a part of the library, and each says that it is not there, or does nothing
 * where that is right. The table of a selected build names `tn_without_...` of each part that its
 * list leaves out; the linker then takes these functions, and the part is called by nobody.
 *
 * A file here calls no function that another one stands for: the linker would take that one, too.
 * It holds all that is called from outside of the files it stands for: one that is missing, and the
 * linker finds others twice. It holds no function of tenon.h: a program that calls one would get it
 * though the part is there. */
#ifndef TN_WITHOUT_WITHOUT_H
#define TN_WITHOUT_WITHOUT_H

extern const char tn_without_devices, tn_without_plugins, tn_without_weight_cache,
    tn_without_writers, tn_without_file_kinds, tn_without_values, tn_without_pins,
    tn_without_tuning, tn_without_vetting;
/* where no kernel is listed that converts */
extern const char tn_without_conversions;
/* of tn_feature_names */
extern const char tn_without_merge_regions, tn_without_share_prefixes, tn_without_narrow_weights,
    tn_without_promote_halves, tn_without_move_transposes, tn_without_functions,
    tn_without_subgraphs, tn_without_continuations, tn_without_states, tn_without_external_data,
    tn_without_folding, tn_without_packed_weights, tn_without_dynamic_values,
    tn_without_sparse_weights, tn_without_typed_data, tn_without_other_formats;

/* What readers say of it. */
#define TN_READER_WITHOUT(what) \
  what ", which this program was linked without; to have them: tenon select MODEL"

#endif
