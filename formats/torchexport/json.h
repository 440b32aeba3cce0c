/* JSON, read strictly into a tree, as RFC 8259 has it, at most 128 levels deep; of equal keys the
 * first counts. What is wrong is said with its byte. */
#ifndef TN_FORMATS_TORCHEXPORT_JSON_H
#define TN_FORMATS_TORCHEXPORT_JSON_H

#include <stdbool.h>

#include "base/base.h"

typedef enum json_kind {
  JSON_NULL,
  JSON_BOOL,   /* i */
  JSON_INT,    /* i, and f */
  JSON_FLOAT,  /* f */
  JSON_STRING, /* s, zero-terminated, too */
  JSON_LIST,   /* first, n */
  JSON_OBJECT  /* first, n; each member has a key */
} json_kind;

typedef struct json_value {
  json_kind kind;
  uint32_t n;
  uint64_t at; /* byte where it begins */
  tn_str key;  /* zero-terminated; of members of objects */
  tn_str s;
  int64_t i;
  double f;
  struct json_value *first, *next;
} json_value;

typedef struct json_reader {
  tn_arena *arena; /* holds the tree */
  const uint8_t *data;
  uint64_t size, at;
  int32_t depth;
  uint64_t room; /* values that may still be made */
  char message[200];
} json_reader;

/* TN_ERR_INVALID, TN_ERR_OVERFLOW (too deep or too large) or TN_ERR_MEMORY: message says why. */
tn_status json_read(json_reader *r, tn_arena *arena, const uint8_t *data, uint64_t size,
                    json_value **out);

/* All take NULL, and answer NULL or `missing` where there is nothing of that kind. */
const json_value *json_get(const json_value *object, const char *key);
const json_value *json_object(const json_value *object, const char *key);
const json_value *json_list(const json_value *object, const char *key);
int64_t json_int(const json_value *object, const char *key, int64_t missing);
const char *json_text(const json_value *object, const char *key); /* NULL: there is none */
/* The only member of an object: "as_tensor" of {"as_tensor": {...}}. */
const json_value *json_union(const json_value *object);
bool json_is(const json_value *member, const char *key);

#endif
