/* Vetting of emitters: what writes a kernel of the plug-in as C. They are kept as the host's
 * copies. */
#include <string.h>

#include "registry/internal.h"
#include "tenon/experimental/emit_c.h"

static const tn_member members[] = {
    /* first: it names the part in all messages that follow */
    TN_MEMBER(tn_emitter, kernel, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_emitter, refuse, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_emitter, scratch, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_emitter, emit, TN_MEMBER_FUNCTION, true, 0),
};

static bool has_kernel(const tn_plug *plug, const char *name) {
  bool has = false;
  for (uint32_t k = 0; k < plug->n_kernels; k++)
    has = has || !strcmp(tn_plug_kernel_row(plug, k)->name, name);
  return has;
}

bool tn_vet_emitter(tn_vet *v, const void *raw, const char **out_name) {
  tn_plug *plug = v->plug;
  tn_emitter *e = tn_vet_alloc(v, 1, sizeof *e);
  if (!e || !tn_vet_struct(v, raw, TN_UPTO(tn_emitter, emit), sizeof *e, e)) return false;
  if (!tn_vet_named(v, "emitter of", e, members, sizeof members / sizeof *members)) return false;
  if (!tn_vet_trusts(v) && !has_kernel(plug, e->kernel))
    return tn_vet_fail(v, TN_ERR_NOT_FOUND, "kernel", "the plug-in has no kernel of this name");
  if (e->scratch_type >= TN_DTYPE_COUNT)
    return tn_vet_fail(v, TN_ERR_INVALID, "scratch_type", "is %u, which is no dtype",
                       e->scratch_type);
  if (!plug->emitters)
    plug->emitters = tn_vet_alloc(v, plug->plugin.n_extensions, sizeof *plug->emitters);
  if (!plug->emitters) return false;
  plug->emitters[plug->owner.n_emitters++] = e;
  plug->owner.emitters = plug->emitters;
  *out_name = e->kernel;
  return true;
}
