/* What is worth knowing about a plug-in that came into use: which kernels of others its own stand
 * before, and what vetting warned of. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "registry/load.h"

void(tn_plug_note)(tn_plug *plug, const char *format, ...) {
  if (!*format) return; /* its text is left out: TENON_MESSAGES */
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *note = tn_arena_str(&plug->arena, text);
  if (!note || tn_vec_push(plug->a, &plug->notes, note)) return; /* no memory: it is not said */
  plug->info.notes = plug->notes.data;
  plug->info.n_notes = (uint32_t)plug->notes.n;
}

/* How a kernel stands to those of other plug-ins for one operator. */
static void note_kernel(tn_plug *plug, const tn_kernel *mine, const tn_kerneldef *const *others,
                        int32_t n) {
  const tn_kernel *best = &others[0]->kernel;
  const char *stands = mine->rank > best->rank   ? "stands before"
                       : mine->rank < best->rank ? "stands behind"
                                                 : "stands beside";
  const char *then = mine->rank > best->rank   ? "where both can run a node, this one does"
                     : mine->rank < best->rank ? "where both can run a node, the other one does, "
                                                 "unless this one is pinned"
                                               : "where both can run a node, the cheaper one does";
  char more[40] = "";
  if (n > 1) snprintf(more, sizeof more, " and %d more", n - 1);
  tn_plug_note(plug, "kernel '%s' of %s, rank %d, %s '%s' of plug-in '%s', rank %d%s: %s",
               mine->name, mine->op, mine->rank, stands, best->name, others[0]->owner->name,
               best->rank, more, then);
}

static void note_overrides(tn_plug *plug, const tn_tables *known) {
  for (uint32_t k = 0; k < plug->n_kernels; k++) {
    const tn_kernel_entry *entry = plug->kernels[k];
    int32_t n;
    const int32_t first =
        tn_ops_find(known->op_rows, known->n_ops, entry->def.domain, entry->def.op, &n);
    for (int32_t i = first + n - 1; i >= first; i--) { /* the newest version it is for */
      const tn_op_row *row = tn_tables_row(known, i);
      if (!row || !row->n_kernels || !tn_kernel_attaches(entry, tn_tables_op(known, i))) continue;
      note_kernel(plug, &entry->def.kernel, row->kernels, row->n_kernels);
      break;
    }
  }
}

static void note_warnings(tn_plug *plug, const tn_diag *diag) {
  for (int64_t k = 0; k < tn_diag_count(diag); k++) {
    int32_t severity = 0;
    const char *text = tn_diag_message(diag, k, &severity);
    if (severity == TN_DIAG_WARNING) tn_plug_note(plug, "%s", text);
  }
}

void tn_plug_note_all(tn_plug *plug, const tn_tables *known, const tn_diag *diag) {
  if (!plug->is_settled_later) note_overrides(plug, known);
  note_warnings(plug, diag);
}
