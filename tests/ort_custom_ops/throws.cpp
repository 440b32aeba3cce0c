// A library of custom operators whose functions throw: BAD says which.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "ort.h"

namespace {

void throw_if(const char *where) {
  const char *bad = std::getenv("BAD");
  if (!bad || std::strcmp(bad, where)) return;
  throw std::runtime_error("thrown while it was to " + std::string(where));
}

const char *name(const ort_op *) { return "Fail"; }
int type(const ort_op *, size_t) { return ORT_STRING; }
size_t one(const ort_op *) { return 1; }
void *create(const ort_op *, ort_table, const ort_info *) {
  throw_if("create");
  return nullptr;
}
void compute(void *, ort_context *) {
  throw_if("compute");
  throw 1;
}
void destroy(void *) {}

ort_op op;

} // namespace

extern "C" __attribute__((visibility("default"))) ort_status *RegisterCustomOps(
    ort_options *options, const ort_api_base *base) {
  throw_if("register");
  op.version = 1;
  op.name = name;
  op.n_inputs = op.n_outputs = one;
  op.input_type = op.output_type = type;
  op.create = create;
  op.compute = compute;
  op.destroy = destroy;
  const ort_table api = base->get_api(1);
  ort_domain *domain = nullptr;
  using create_fn = ort_status *(*)(const char *, ort_domain **);
  using add_fn = ort_status *(*)(ort_domain *, const ort_op *);
  using use_fn = ort_status *(*)(ort_options *, ort_domain *);
  ort_status *failed = ((create_fn)api[ORT_CreateCustomOpDomain])("com.acme", &domain);
  if (!failed) failed = ((add_fn)api[ORT_CustomOpDomain_Add])(domain, &op);
  return failed ? failed : ((use_fn)api[ORT_AddCustomOpDomain])(options, domain);
}
