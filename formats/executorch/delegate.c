/* Calls of delegates: what was compiled for a backend. */
#include "reader.h"

tn_status pte_delegate(pte_reader *r, const tn_flat_table *call) {
  const int64_t index = tn_flat_int(call, CALL_INDEX, 4, 0);
  if (!pte_status(r) && (index < 0 || (uint64_t)index >= r->delegates.n))
    return pte_fail(r, TN_ERR_INVALID, r->at, "calls delegate %lld; there are %llu",
                    (long long)index, (unsigned long long)r->delegates.n);
  if (pte_status(r)) return pte_status(r);
  const tn_flat_table d = tn_flat_item(&r->delegates, (uint64_t)index, &pte_delegate_type);
  const char *id = pte_text(r, tn_flat_text(&d, DELEGATE_ID));
  if (!id) return pte_no_memory(r);
  return pte_fail(r, TN_ERR_UNSUPPORTED, d.at,
                  "not supported: a part of the program is compiled for the delegate '%.60s'", id);
}
