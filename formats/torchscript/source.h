/* The source that TorchScript archives hold: what PyTorch's printer writes of Python, as a tree. */
#ifndef TN_FORMATS_TORCHSCRIPT_SOURCE_H
#define TN_FORMATS_TORCHSCRIPT_SOURCE_H

#include <stdbool.h>

#include "base/alloc.h"

typedef enum ts_token_kind {
  TS_END,
  TS_NEWLINE, /* ends a line of the program */
  TS_INDENT,
  TS_DEDENT,
  TS_WORD,
  TS_NUMBER, /* without a point or exponent */
  TS_REAL,
  TS_TEXT,
  TS_SIGN /* text: "(", "->", "**" ... */
} ts_token_kind;

typedef struct ts_token {
  ts_token_kind kind;
  const char *text; /* zero-terminated; of TS_TEXT what it stands for */
  int64_t n_text, i;
  double f;
  uint32_t line, column; /* from 1 */
} ts_token;

typedef enum ts_kind {
  /* expressions */
  TS_NAME,      /* name */
  TS_ATTRIBUTE, /* name of [0] */
  TS_SUBSCRIPT, /* [0] at [1] */
  TS_SLICE,     /* [0]:[1]:[2], each may be NULL */
  TS_CALL,      /* [0] with the rest; keywords are TS_KEYWORD */
  TS_KEYWORD,   /* name = [0] */
  TS_TUPLE,
  TS_LIST,
  TS_DICT, /* key, value, key, value ... */
  TS_INT,  /* i */
  TS_FLOAT,
  TS_STR, /* name, i bytes */
  TS_BOOL,
  TS_NONE,
  TS_OPERATOR, /* name: of the function that does it, "add"; [0] and, if there are two, [1] */
  /* statements */
  TS_ASSIGN,  /* targets [0 .. n-2], value [n-1]; type, or NULL */
  TS_DECLARE, /* [0] : type */
  TS_DO,      /* [0], for what it does */
  TS_IF,      /* [0], block [1], block [2] or NULL */
  TS_WHILE,   /* [0], block [1] */
  TS_FOR,     /* target [0] in [1], block [2] */
  TS_WITH,    /* [0], block [1]; name, or NULL, is what it gives */
  TS_RETURN,  /* [0] or NULL */
  TS_PASS,
  TS_IMPORT,
  TS_BLOCK,
  TS_DEF,   /* name, type of its result; parameters, then block [n-1] */
  TS_PARAM, /* name, type; default [0], if n is 1 */
  TS_CLASS  /* name, base: type; statements */
} ts_kind;

typedef struct ts_node ts_node;
struct ts_node {
  ts_kind kind;
  uint32_t line, column;
  const char *name;
  int64_t i;
  double f;
  ts_node *type;
  ts_node **items;
  int32_t n, height; /* height: 1 more than of the highest item */
};

/* A file of source, and what it defines at its outermost level. */
typedef struct ts_source {
  const char *path; /* "code/__torch__.py" */
  const char *text;
  uint64_t size;
  ts_node *module; /* TS_BLOCK */
} ts_source;

typedef struct ts_parser {
  tn_arena *arena;
  const char *path;
  char message[400]; /* once a call failed */
} ts_parser;

/* All tokens; the last one is TS_END. */
tn_status ts_lex(ts_parser *p, const char *text, uint64_t size, ts_token **out, int64_t *out_n);
tn_status ts_parse(ts_parser *p, ts_source *source);
/* Records "<path>, line <l>, column <c>: <message>". */
tn_status(ts_source_fail)(ts_parser *p, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
tn_status ts_source_no_memory(ts_parser *p);
/* The definition or class of that name; NULL: there is none. */
const ts_node *ts_find(const ts_node *block, ts_kind kind, const char *name);

#endif
