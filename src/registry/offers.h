/* What the file of a plug-in says that it offers: the words of TN_OFFERS (tenon/kit/offers.h). */
#ifndef TN_REGISTRY_OFFERS_H
#define TN_REGISTRY_OFFERS_H

#include <string.h>

#include "registry/internal.h"

#define TN_OFFERS_FORMATS "+formats"
#define TN_OFFERS_DRIVERS "+drivers"
#define TN_OFFERS_COMPILERS "+compilers"
#define TN_OFFERS_DISPATCHERS "+dispatchers"
#define TN_OFFERS_EXTENSIONS "+extensions"

/* An operator's full name as it stands among words: those of ONNX without a domain. */
static inline const char *tn_offers_word(const char *name) {
  static const char onnx[] = "ai.onnx::";
  return strncmp(name, onnx, sizeof onnx - 1) ? name : name + sizeof onnx - 1;
}
/* The words, a blank between, in memory of the arena; NULL: it says nothing, or not in a way that
 * is understood here. fd: a regular file, of which little is read. */
const char *tn_offers_read(tn_arena *arena, int fd);
/* Adds the words of a text to a map that borrows its keys. */
tn_status tn_offers_add(tn_arena *arena, const char *text, tn_map *words);
/* True if a variable of the environment is set that makes what is offered another. */
bool tn_offers_depend(tn_arena *arena, const char *text);
/* The versions of an operator that are named; its domain is normal. Until is below since: none. */
tn_versions tn_offers_of(const tn_map *words, const char *domain, const char *name);
/* A plug-in whose file says what it offers has nothing else. */
void tn_vet_offers(tn_vet *v);

#endif
