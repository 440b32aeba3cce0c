/* Optional, OptionalGetElement, OptionalHasElement. From version 18 on, the last two take what is
 * no optional, too. */
#include "sequence.h"

tn_status optional_infer(const tn_call *call) {
  const tn_optional_attrs *a = call->attrs;
  if (!tn_has_input(call, 0) && !a->has_type)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "has neither an input nor the attribute 'type'");
  sequence_list_of(call->outputs[0], TN_KIND_OPTIONAL,
                   tn_has_input(call, 0) ? call->inputs[0] : a->type);
  return TN_OK;
}

tn_status optional_get_element_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  if (in->kind == TN_KIND_OPTIONAL)
    sequence_item_of(call->outputs[0], in);
  else
    *call->outputs[0] = *in;
  call->outputs[0]->data = NULL;
  return TN_OK;
}

tn_status optional_has_element_infer(const tn_call *call) {
  tn_infer_shape(call, 0, TN_BOOL, 0, NULL);
  return TN_OK;
}

tn_status optional_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return tn_has_input(call, 0) ? call->host->list_append(call->ctx, 0, call->inputs[0]) : TN_OK;
}

tn_status optional_get_element_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *in = call->inputs[0];
  if (in->kind == TN_KIND_OPTIONAL) in = call->host->list_item(call->ctx, in, 0);
  if (!in) return call->host->fail(call->ctx, TN_ERR_INVALID, "the optional is empty");
  return call->host->output_set(call->ctx, 0, in);
}

tn_status optional_has_element_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_tensor *in = tn_has_input(call, 0) ? call->inputs[0] : NULL;
  *(uint8_t *)call->outputs[0]->data =
      in && (in->kind != TN_KIND_OPTIONAL || call->host->list_size(call->ctx, in) > 0);
  return TN_OK;
}
