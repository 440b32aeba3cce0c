/* The version of the library and the status codes in words. */
#include "tenon/tenon.h"

const char *tn_version(void) { return "0.1.0"; }

const char *tn_status_text(tn_status status) {
  switch (status) {
    case TN_OK: return "TN_OK: success";
    case TN_ERR_INVALID: return "TN_ERR_INVALID: an argument, file or descriptor breaks a rule";
    case TN_ERR_MEMORY: return "TN_ERR_MEMORY: memory could not be had";
    case TN_ERR_UNSUPPORTED: return "TN_ERR_UNSUPPORTED: well-formed, but not supported";
    case TN_ERR_NOT_FOUND: return "TN_ERR_NOT_FOUND: a file, name or index does not exist";
    case TN_ERR_IO: return "TN_ERR_IO: the operating system failed to read or write";
    case TN_ERR_SHAPE: return "TN_ERR_SHAPE: shapes or dtypes do not fit together";
    case TN_ERR_OVERFLOW: return "TN_ERR_OVERFLOW: a size is too large or a limit is exceeded";
    case TN_ERR_VERSION: return "TN_ERR_VERSION: an ABI or format version that cannot be served";
    case TN_ERR_STATE: return "TN_ERR_STATE: called in the wrong order, or the object is in use";
    case TN_ERR_INTERNAL: return "TN_ERR_INTERNAL: a bug in Tenon or in a plug-in";
    case TN_ERR_CANCELLED: return "TN_ERR_CANCELLED: the user asked to stop";
    case TN_NEEDS_DATA: return "TN_NEEDS_DATA: the answer depends on data that is not known yet";
    default: return "unknown status";
  }
}
