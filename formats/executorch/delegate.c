/* Calls of delegates: parts of the program that were compiled for a backend. */
#include "xnnpack.h"

static tn_status payload_of(pte_reader *r, const tn_flat_table *delegate, pte_span *out) {
  enum { INLINE = 0 };
  const tn_flat_table data = tn_flat_sub(delegate, DELEGATE_DATA, &pte_reference_type);
  const uint64_t index = (uint64_t)tn_flat_uint(&data, REFERENCE_INDEX, 4, 0);
  const bool is_inline = tn_flat_int(&data, REFERENCE_LOCATION, 1, INLINE) == INLINE;
  if (pte_status(r)) return pte_status(r);
  if (!is_inline) return pte_segment(r, index, out);
  const tn_flat_vector list = tn_flat_vec(&r->program, PROGRAM_DELEGATE_DATA, 4);
  if (!pte_status(r) && index >= list.n)
    return pte_fail(r, TN_ERR_INVALID, data.at, "needs delegate data %llu; there are %llu",
                    (unsigned long long)index, (unsigned long long)list.n);
  const tn_flat_table t = tn_flat_item(&list, index, &pte_item_type);
  const tn_flat_vector bytes = tn_flat_vec(&t, ITEM, 1);
  *out = (pte_span){tn_flat_bytes(&bytes), bytes.n};
  return pte_status(r);
}

tn_status pte_delegate(pte_reader *r, const tn_flat_table *call) {
  pte_span payload;
  const int64_t index = tn_flat_int(call, CALL_INDEX, 4, 0);
  const tn_flat_vector args = tn_flat_vec(call, CALL_ARGS, 4);
  if (!pte_status(r) && (index < 0 || (uint64_t)index >= r->delegates.n))
    return pte_fail(r, TN_ERR_INVALID, r->at, "calls delegate %lld; there are %llu",
                    (long long)index, (unsigned long long)r->delegates.n);
  if (pte_status(r)) return pte_status(r);
  const tn_flat_table d = tn_flat_item(&r->delegates, (uint64_t)index, &pte_delegate_type);
  const char *id = pte_text(r, tn_flat_text(&d, DELEGATE_ID));
  if (!id) return pte_no_memory(r);
  if (strcmp(id, "XnnpackBackend"))
    return pte_fail(r, TN_ERR_UNSUPPORTED, d.at,
                    "not supported: a part of the program is compiled for the delegate '%.60s'",
                    id);
  const tn_status s = payload_of(r, &d, &payload);
  return s ? s : xnn_read(r, payload, &args);
}
