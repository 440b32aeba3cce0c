/* Reads a header that keeps to the form of tenon/plugin.h and tenon/tenon.h: object and function
 * macros, anonymous enums, structs of plain members and function pointers, typedefs, prototypes,
 * static inline functions. What it does not understand is an error, so that nothing escapes the
 * lock. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/file.h"

const char *const abi_kind_words[ABI_KINDS] = {"struct", "member", "const", "value",
                                               "text",   "macro",  "type",  "function"};

typedef struct tokens {
  const char *at[ABI_TOKENS];
  int n;
} tokens;

static bool fail(abi_header *h, const char *format, ...) {
  va_list args;
  if (!h->failed) {
    fprintf(stderr, "%s:%d: ", h->path, h->line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
  }
  h->failed = true;
  return false;
}

static void *need(void *memory) {
  if (memory) return memory;
  fputs("tenon-abi: out of memory\n", stderr);
  exit(2);
}

static void declare(abi_header *h, abi_kind kind, const char *name, const char *type) {
  const abi_decl decl = {kind, name, type ? type : ""};
  if (tn_vec_push(tn_default_allocator(), &h->decls, decl)) need(NULL);
}

static bool is(const char *token, const char *text) { return token && !strcmp(token, text); }
static bool is_word(const char *token) {
  return token && (isalpha((unsigned char)*token) || *token == '_');
}

/* ---- text ---- */

/* Comments become blanks; a line that ends with a backslash goes on. Line ends stay. */
static char *without_comments(abi_header *h, const char *data, uint64_t size) {
  char *text = need(tn_arena_strn(&h->arena, data, (int64_t)size));
  for (char *p = text; *p; p++) {
    if (p[0] == '\\' && p[1] == '\n') {
      p[0] = ' ';
      p[1] = '\v'; /* counted as a line, and no end of the directive */
    }
    if (p[0] != '/' || p[1] != '*') continue;
    for (; *p && !(p[0] == '*' && p[1] == '/'); p++)
      if (*p != '\n') *p = ' ';
    if (*p) p[0] = p[1] = ' ';
  }
  return text;
}

static const char *next_token(abi_header *h, char **p) {
  char *begin = *p, *end = begin;
  if (isalnum((unsigned char)*begin) || *begin == '_') {
    while (isalnum((unsigned char)*end) || *end == '_') end++;
  } else if (*begin == '"') {
    for (end++; *end && *end != '"' && *end != '\n';) end++;
    if (*end == '"') end++;
  } else if (!strncmp(begin, "...", 3)) {
    end += 3;
  } else {
    end++;
  }
  *p = end;
  return need(tn_arena_strn(&h->arena, begin, end - begin));
}

/* Tokens with one blank between words, none elsewhere. */
static const char *joined(abi_header *h, const tokens *t, int begin, int end, int without) {
  tn_text text;
  tn_text_init(&text, tn_default_allocator());
  const char *last = "";
  for (int k = begin; k < end; k++) {
    if (k == without) continue;
    const bool blank = is_word(last) && (is_word(t->at[k]) || is(t->at[k], "*"));
    tn_text_add(&text, "%s%s",
                blank || is(last, ",") || (is(last, "*") && is_word(t->at[k])) ? " " : "",
                t->at[k]);
    last = t->at[k];
  }
  const char *result = need(tn_arena_str(&h->arena, tn_text_get(&text)));
  if (text.status) need(NULL);
  tn_text_free(&text);
  return result;
}

/* ---- types ---- */

static bool is_fixed(const char *word) {
  static const char *const known[] = {"const",    "struct",   "void",    "char",    "double",
                                      "int8_t",   "int16_t",  "int32_t", "int64_t", "uint8_t",
                                      "uint16_t", "uint32_t", "uint64_t"};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (is(word, known[k])) return true;
  return !strncmp(word, "tn_", 3);
}

static bool check_type(abi_header *h, const tokens *t, int begin, int end, int name) {
  for (int k = begin; k < end; k++)
    if (is_word(t->at[k]) && k != name && !is_fixed(t->at[k]))
      return fail(h, "type '%s' is not one of fixed width", t->at[k]);
  return true;
}

/* Index of the name in a parameter; -1: it has none. */
static int param_name(const tokens *t, int begin, int end) {
  int words = 0;
  for (int k = begin; k < end; k++)
    words += is_word(t->at[k]) && !is(t->at[k], "const") && !is(t->at[k], "struct");
  return words > 1 && is_word(t->at[end - 1]) ? end - 1 : -1;
}

/* "(a, b)" out of the tokens between parentheses, names of parameters left out. */
static const char *params(abi_header *h, const tokens *t, int begin, int end) {
  const char *all = "";
  for (int k = begin, from = begin; k <= end; k++) {
    if (k < end && !is(t->at[k], ",")) continue;
    const int name = param_name(t, from, k);
    if (!check_type(h, t, from, k, name)) return "";
    all = need(
        tn_arena_format(&h->arena, "%s%s%s", all, *all ? ", " : "", joined(h, t, from, k, name)));
    from = k + 1;
  }
  return need(tn_arena_format(&h->arena, "(%s)", all));
}

/* ---- members ---- */

static bool read_function_member(abi_header *h, const char *owner, const tokens *t, int begin,
                                 int star, int end) {
  /* result ( * name ) ( params ) */
  if (star + 4 > end || !is_word(t->at[star + 1]) || !is(t->at[star + 2], ")") ||
      !is(t->at[star + 3], "(") || !is(t->at[end - 1], ")"))
    return fail(h, "member of %s is not understood: %s", owner, joined(h, t, begin, end, -1));
  if (!check_type(h, t, begin, star - 1, -1)) return false;
  const char *type = need(tn_arena_format(&h->arena, "%s (*)%s", joined(h, t, begin, star - 1, -1),
                                          params(h, t, star + 4, end - 1)));
  const char *name = need(tn_arena_format(&h->arena, "%s.%s", owner, t->at[star + 1]));
  declare(h, ABI_MEMBER, name, type);
  return !h->failed;
}

/* One of `base a, *b, c[N]`. */
static bool read_declarator(abi_header *h, const char *owner, const char *base, const tokens *t,
                            int begin, int end) {
  int name = begin;
  while (name < end && (is(t->at[name], "*") || is(t->at[name], "const"))) name++;
  if (name == end || !is_word(t->at[name]) || (name + 1 < end && !is(t->at[name + 1], "[")))
    return fail(h, "member of %s is not understood: %s", owner, joined(h, t, begin, end, -1));
  const char *rest = joined(h, t, begin, end, name);
  const char *type = need(tn_arena_format(&h->arena, "%s%s%s", base, *rest ? " " : "", rest));
  declare(h, ABI_MEMBER, need(tn_arena_format(&h->arena, "%s.%s", owner, t->at[name])), type);
  return true;
}

static bool read_member(abi_header *h, const char *owner, const tokens *t, int begin, int end) {
  for (int k = begin; k + 1 < end; k++)
    if (is(t->at[k], "(")) return read_function_member(h, owner, t, begin, k + 1, end);
  int base = begin;
  while (base < end && (is(t->at[base], "const") || is(t->at[base], "struct"))) base++;
  if (!check_type(h, t, begin, ++base, -1)) return false;
  const char *type = joined(h, t, begin, base, -1);
  for (int k = base, from = base; k <= end; k++) {
    if (k < end && !is(t->at[k], ",")) continue;
    if (!read_declarator(h, owner, type, t, from, k)) return false;
    from = k + 1;
  }
  return true;
}

static bool read_struct(abi_header *h, const char *name, const tokens *t, int begin, int end) {
  declare(h, ABI_STRUCT, name, NULL);
  for (int k = begin, from = begin; k < end; k++) {
    if (!is(t->at[k], ";")) continue;
    if (!read_member(h, name, t, from, k)) return false;
    from = k + 1;
  }
  return true;
}

/* ---- declarations ---- */

static bool read_enum(abi_header *h, const tokens *t) {
  for (int k = 2; k < t->n - 1; k++) {
    if (!is_word(t->at[k])) return fail(h, "enum is not understood at '%s'", t->at[k]);
    declare(h, ABI_CONST, t->at[k], NULL);
    while (k < t->n - 1 && !is(t->at[k], ",")) k++;
  }
  return true;
}

static int find(const tokens *t, int from, const char *text) {
  while (from < t->n && !is(t->at[from], text)) from++;
  return from < t->n ? from : -1;
}

static bool read_typedef(abi_header *h, const tokens *t) {
  const int star = find(t, 0, "*"), open = find(t, 0, "(");
  if (t->n == 4 && is(t->at[1], "struct")) {
    declare(h, ABI_TYPE, t->at[3], "opaque");
    return true;
  }
  if (open > 0 && star >= 0) { /* result (*name)(params) */
    declare(h, ABI_TYPE, t->at[open + 2],
            need(tn_arena_format(&h->arena, "%s (*)%s", joined(h, t, 1, open, -1),
                                 params(h, t, open + 5, t->n - 1))));
    return !h->failed && check_type(h, t, 1, open, -1);
  }
  declare(h, ABI_TYPE, t->at[t->n - 1], joined(h, t, 1, t->n - 1, -1));
  return check_type(h, t, 1, t->n - 1, -1);
}

static bool read_function(abi_header *h, const tokens *t) {
  const int open = find(t, 0, "(");
  const int begin =
      is(t->at[0], "static") ? 2 : is(t->at[0], "TN_EXPORT") || is(t->at[0], "TN_API");
  if (open < 2 || !is(t->at[t->n - 1], ")") || !is_word(t->at[open - 1]))
    return fail(h, "declaration is not understood: %s", joined(h, t, 0, t->n, -1));
  declare(h, ABI_FUNCTION, t->at[open - 1],
          need(tn_arena_format(&h->arena, "%s %s", joined(h, t, begin, open - 1, -1),
                               params(h, t, open + 1, t->n - 1))));
  return !h->failed && check_type(h, t, begin, open - 1, -1);
}

static bool read_declaration(abi_header *h, const tokens *t) {
  const int typed = is(t->at[0], "typedef");
  if (t->n < 3) return fail(h, "declaration is not understood");
  if (is(t->at[0], "enum") && is(t->at[1], "{") && is(t->at[t->n - 1], "}")) return read_enum(h, t);
  if (is(t->at[typed], "struct") && t->n > typed + 2 && is(t->at[typed + 2], "{")) {
    const int end = typed ? t->n - 2 : t->n - 1;
    if (!is(t->at[end], "}") || (typed && strcmp(t->at[t->n - 1], t->at[2])))
      return fail(h, "struct %s is not understood", t->at[typed + 1]);
    return read_struct(h, t->at[typed + 1], t, typed + 3, end);
  }
  return typed ? read_typedef(h, t) : read_function(h, t);
}

/* ---- macros ---- */

/* A macro has a value if its text is an expression that any argument fits: all but tables, and what
 * asks for the size of its argument. */
static void read_macro(abi_header *h, char *line) {
  char *p = line;
  const char *name = next_token(h, &p);
  const bool function = *p == '(';
  char *close = function ? strchr(p, ')') : p;
  if (!close) {
    fail(h, "macro %s is not understood", name);
    return;
  }
  const char *list = need(tn_arena_strn(&h->arena, p, function ? close + 1 - p : 0));
  char *body = function ? close + 1 : p;
  while (isspace((unsigned char)*body)) body++;
  for (int64_t k = 0; k < h->decls.n; k++)
    if (!strcmp(h->decls.data[k].name, name)) return; /* other branch of an #if */
  if (!*body && !function) return;                    /* the guard */
  if (*body == '"') {
    declare(h, ABI_TEXT, name,
            need(tn_arena_strn(&h->arena, body + 1, (int64_t)strcspn(body + 1, "\""))));
    return;
  }
  const bool table = *body == '{' || *body == '_' || strstr(body, "static ") ||
                     strstr(body, "->") || strstr(body, "TN_TABLE(") || strstr(body, "(void)");
  if (table || !strcmp(body, "TN_EXPORT") || (function && strstr(body, "sizeof"))) {
    declare(h, ABI_MACRO, name, list);
    return;
  }
  tn_text call;
  tn_text_init(&call, tn_default_allocator());
  tn_text_add(&call, "%s", name);
  for (const char *c = list; *c; c++) /* every argument is 8 */
    tn_text_add(&call, "%s", *c == '(' ? "(8" : *c == ',' ? ",8" : *c == ')' ? ")" : "");
  declare(h, ABI_VALUE, need(tn_arena_str(&h->arena, tn_text_get(&call))), NULL);
  tn_text_free(&call);
}

/* p stands behind a `#`. Answers the end of the directive. */
static char *read_directive(abi_header *h, char *p, bool *cpp) {
  char *end = strchr(p, '\n');
  if (!end) end = p + strlen(p);
  const char keep = *end;
  *end = 0;
  for (char *c = p; *c; c++) h->line += *c == '\v';
  if (!strncmp(p, "ifdef __cplusplus", 17))
    *cpp = true;
  else if (*cpp && !strncmp(p, "endif", 5))
    *cpp = false;
  else if (!strncmp(p, "define ", 7))
    read_macro(h, p + 7);
  else if (strncmp(p, "if", 2) && strncmp(p, "el", 2) && strncmp(p, "endif", 5) &&
           strncmp(p, "include", 7))
    fail(h, "directive is not understood: #%s", p);
  *end = keep;
  return end;
}

static bool read_text(abi_header *h, char *p) {
  tokens t = {.n = 0};
  bool cpp = false;
  int depth = 0;
  while (*p && !h->failed) {
    if (*p == '\n') h->line++;
    if (*p == '#') {
      p = read_directive(h, p + 1, &cpp);
      continue;
    }
    if (isspace((unsigned char)*p) || cpp) {
      p++;
      continue;
    }
    const char *token = next_token(h, &p);
    depth += is(token, "{") - is(token, "}");
    const bool code = t.n > 0 && is(t.at[0], "static");
    if (code && (depth > 0 || is(token, "}"))) {
      if (depth > 0) continue; /* what it computes is not locked, what it takes and answers is */
      if (!read_declaration(h, &t)) return false;
      t.n = 0;
    } else if (is(token, ";") && depth == 0) {
      if (!read_declaration(h, &t)) return false;
      t.n = 0;
    } else if (t.n == ABI_TOKENS) {
      return fail(h, "declaration is too long");
    } else {
      t.at[t.n++] = token;
    }
  }
  return !h->failed && (t.n == 0 || fail(h, "the last declaration does not end"));
}

bool abi_read(abi_header *h, const char *path) {
  *h = (abi_header){.path = path, .line = 1};
  tn_arena_init(&h->arena, tn_default_allocator());
  tn_diag *diag = need(tn_diag_create());
  tn_mapping file;
  bool ok = !tn_file_map(path, diag, &file);
  if (!ok) fprintf(stderr, "tenon-abi: %s\n", tn_diag_text(diag));
  tn_diag_destroy(diag);
  if (!ok) return false;
  ok = read_text(h, without_comments(h, (const char *)file.data, file.size));
  tn_file_unmap(&file);
  return ok;
}
