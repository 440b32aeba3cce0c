/* What the operators on strings share. */
#ifndef TN_OPS_STRINGS_STRINGS_H
#define TN_OPS_STRINGS_STRINGS_H

#include <string.h>

#include "strings.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/text.h"

static inline const tn_str *strings_of(const tn_tensor *t) { return (const tn_str *)t->data; }

static inline bool strings_equal(tn_str a, tn_str b) {
  return a.size == b.size && (!a.size || !memcmp(a.data, b.data, (size_t)a.size));
}

/* Room to put a string together: most need no memory. */
typedef struct strings_room {
  char own[256], *data;
  int64_t size;
} strings_room;

/* At least n bytes; NULL: no memory. What the room held is lost. */
char *strings_room_for(const tn_call *call, strings_room *room, int64_t n);
void strings_room_free(const tn_call *call, strings_room *room);

#endif
