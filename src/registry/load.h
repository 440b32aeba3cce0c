/* Taking plug-ins in, shared by what is linked in (registry.c), loaded from a path (load.c) and
 * discovered (discover.c). */
#ifndef TN_REGISTRY_LOAD_H
#define TN_REGISTRY_LOAD_H

#include "registry/internal.h"

/* Of plug-ins that are looked at and never used: beyond those of tenon.h. */
enum { TN_ORIGIN_EXAMINED = TN_ORIGIN_INSTALLED + 1 };

/* "TENON_PLUGIN_PATH" */
const char *tn_origin_text(uint32_t origin);

/* What comes along with a plug-in. */
typedef struct tn_offer {
  uint32_t origin; /* TN_ORIGIN_... */
  const tn_host *host;
  const tn_option *const *options;
  uint32_t n_options;
  /* Asks the plug-in for its descriptor, and fills plug of it: tn_plug_vet. */
  tn_status (*vet)(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query, tn_diag *diag);
  /* Tells what is worth knowing once it has started: tn_plug_note_all. NULL: nothing is. */
  void (*note)(tn_plug *plug, const tn_tables *known, const tn_diag *diag);
  const char *promise; /* what the file said that it offers when it was found; NULL: any will do */
} tn_offer;

tn_plug *tn_plug_new(tn_registry *r, const char *path, uint32_t origin); /* NULL: no memory */
void tn_plug_stop(tn_plug *plug); /* shuts it down if it was started */
void tn_plug_free(tn_plug *plug); /* stops it, unmaps it; NULL is legal */
/* Asks the plug-in for its descriptor and vets it (add.c). */
tn_status tn_plug_vet(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query, tn_diag *diag);
/* Vets, starts and registers the plug-in, or lists it as refused. Takes plug in either case. diag:
 * fresh, of this plug-in alone; its errors become the reason of the refusal. */
tn_status tn_plug_take(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query,
                       const tn_offer *offer, tn_diag *diag);
/* A plug-in that is linked in: taken, or listed as refused. */
tn_status tn_plug_add(tn_registry *r, tn_plugin_query_fn query, const tn_offer *offer,
                      tn_diag *diag);
/* Lists it as refused with the errors in diag; takes plug; answers status. */
tn_status tn_plug_refuse(tn_registry *r, tn_plug *plug, tn_status status, tn_diag *diag);
/* vet_child.c: runs the command that vets, or knows what it answered before. */
tn_status tn_plug_vet_in_child(tn_registry *r, tn_plug *plug, tn_diag *diag);
/* Adds to info.notes: one line; what its kernels mean for those of others; the warnings in diag. */
void(tn_plug_note)(tn_plug *plug, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tn_plug_note_all(tn_plug *plug, const tn_tables *known, const tn_diag *diag);
/* As tn_registry_unload(), without waiting for those who use it; under the registry's lock `change`
 * (unload.c). */
tn_status tn_plug_unload(tn_registry *r, const char *name, tn_diag *diag);
/* Takes in the file at path, or lists it as refused; diag as for tn_plug_take. */
tn_status tn_plug_load(tn_registry *r, const char *path, const tn_offer *offer, tn_diag *diag);

#endif
