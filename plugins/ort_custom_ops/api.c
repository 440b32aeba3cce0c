/* The table of functions that libraries of custom operators are handed. */
#include <stdlib.h>

#include "ort.h"

/* Functions that are not here: each answers a status with its own name. Who calls one that answers
 * nothing has no use of the status. */
static ort_status *missing(const char *name) {
  return ort_fail(ORT_NOT_IMPLEMENTED, "Tenon has no %s of ONNX Runtime's API", name);
}
#define ORT_MISSING(name) \
  static ort_status *missing_##name(void) { return missing(#name); }
ORT_SLOTS(ORT_MISSING)

#define ORT_MISSING_PLACE(name) [ORT_##name] = (ort_function)missing_##name,
static ort_function table[ORT_N_SLOTS] = {ORT_SLOTS(ORT_MISSING_PLACE)};

/* Once, before any library is opened: libraries_open calls it. */
static void fill(void) {
  ort_status_functions(table);
  ort_type_functions(table);
  ort_value_functions(table);
  ort_info_functions(table);
  ort_context_functions(table);
  ort_shape_functions(table);
  ort_library_functions(table);
}

ort_table ort_api(void) {
  if (table[ORT_CreateStatus] == (ort_function)missing_CreateStatus) fill();
  return table;
}

/* The table of one version is the beginning of that of the next. */
static ort_table get_api(uint32_t version) {
  return version >= 1 && version <= ORT_API_VERSION ? ort_api() : NULL;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
static const char *version(void) { return "1." TEXT(ORT_API_VERSION) ".0"; }

const ort_api_base ort_base = {get_api, version};
