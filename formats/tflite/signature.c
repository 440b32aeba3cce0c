/* Signatures: names for subgraphs, and for their inputs and outputs. They are the entries of the
 * model; without one by name, the first subgraph is read, as its interpreter does. */
#include "reader.h"

/* The tensors that the signature names are called so. */
static tn_status take_names(tflite_reader *r, const tn_flat_table *signature, uint32_t field,
                            tflite_names *out) {
  const tn_flat_vector list = tn_flat_vec(signature, field, 4);
  tn_status s = tflite_status(r);
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const tn_flat_table map = tn_flat_item(&list, k, &tflite_tensor_map_type);
    const tflite_alias alias = {tn_flat_uint(&map, MAP_TENSOR, 4, 0),
                                tflite_name(r, tn_flat_text(&map, MAP_NAME))};
    if (!alias.name || tn_vec_push(&r->allocator, out, alias)) return tflite_no_memory(r);
    s = tflite_status(r);
  }
  return s;
}

static tn_status not_found(tflite_reader *r, const tn_flat_vector *list) {
  const char *names = "";
  for (uint64_t k = 0; k < list->n && names; k++) {
    const tn_flat_table t = tn_flat_item(list, k, &tflite_signature_type);
    const char *name = tflite_name(r, tn_flat_text(&t, SIGNATURE_KEY));
    if (name) names = tn_arena_format(&r->arena, "%s%s'%s'", names, k ? ", " : "", name);
  }
  if (!names) return tflite_no_memory(r);
  return tflite_fail(r, TN_ERR_NOT_FOUND, 0, "there is no signature '%s'; %s%s", r->source->entry,
                     *names ? "there are: " : "the file has none", names);
}

tn_status tflite_signatures_read(tflite_reader *r, uint64_t *out_subgraph) {
  const char *wanted = TN_HAS(r->source, entry) ? r->source->entry : NULL;
  const tn_flat_vector list = tn_flat_vec(&r->model, MODEL_SIGNATURES, 4);
  bool is_found = !wanted;
  tn_status s = tflite_status(r);
  *out_subgraph = 0;
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &tflite_signature_type);
    const char *name = tflite_name(r, tn_flat_text(&t, SIGNATURE_KEY));
    const uint64_t subgraph = (uint64_t)tn_flat_uint(&t, SIGNATURE_SUBGRAPH, 4, 0);
    if (!name) return tflite_no_memory(r);
    if (subgraph >= r->subgraphs.n && !tflite_status(r))
      return tflite_fail(r, TN_ERR_INVALID, t.at, "signature '%.80s' is for subgraph %llu of %llu",
                         name, (unsigned long long)subgraph, (unsigned long long)r->subgraphs.n);
    if (*name && r->api->entry_add(r->main, name) == TN_ERR_MEMORY) return tflite_no_memory(r);
    if (wanted && !is_found && !strcmp(name, wanted)) {
      is_found = true;
      *out_subgraph = subgraph;
      s = take_names(r, &t, SIGNATURE_INPUTS, &r->aliases);
      if (!s) s = take_names(r, &t, SIGNATURE_OUTPUTS, &r->aliases);
    }
    if (!s) s = tflite_status(r);
  }
  return s || is_found ? s : not_found(r, &list);
}
