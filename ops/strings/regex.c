/* The compiler and the machine of regex.h. Repetitions read their part of the pattern again for
 * every copy. */
#include "regex.h"

#include <string.h>

#include "letters.h"

enum { MAX_STEPS = 100000, MAX_REPEAT = 1000, MAX_DEPTH = 200, LAST_CODE_POINT = 0x10ffff };

typedef struct compiler {
  regex *r;
  tn_str text;
  int64_t at;
  bool ignore_case, dot_all;
  int depth;
} compiler;

static bool pattern_fail(compiler *c, const char *why, bool unsupported) {
  if (c->r->problem) return false;
  c->r->problem = why;
  c->r->unsupported = unsupported;
  c->r->where = c->at;
  return false;
}

static bool more(const compiler *c) { return c->at < c->text.size; }
static bool ahead(const compiler *c, const char *s) {
  int64_t n = (int64_t)strlen(s);
  return c->text.size - c->at >= n && !memcmp(c->text.data + c->at, s, (size_t)n);
}
static bool take(compiler *c, const char *s) {
  if (!ahead(c, s)) return false;
  c->at += (int64_t)strlen(s);
  return true;
}

/* ---- program ---- */

/* Puts a step in at `place`; what stands behind moves, with its distances. */
static bool insert(compiler *c, int32_t place, regex_step step) {
  regex *r = c->r;
  if (r->n_steps >= MAX_STEPS) return pattern_fail(c, "the pattern is too large", true);
  if (r->steps) {
    memmove(r->steps + place + 1, r->steps + place,
            (size_t)(r->n_steps - place) * sizeof *r->steps);
    r->steps[place] = step;
  }
  r->n_steps++;
  return true;
}

static bool emit(compiler *c, int32_t op) {
  return insert(c, c->r->n_steps, (regex_step){op, 0, 0});
}

static bool add_range(compiler *c, uint32_t first, uint32_t last) {
  regex *r = c->r;
  if (r->n_ranges >= 4 * MAX_STEPS) return pattern_fail(c, "the pattern is too large", true);
  if (r->ranges) r->ranges[r->n_ranges] = (regex_range){first, last};
  r->n_ranges++;
  return true;
}

/* The ranges from `first` on become a set. */
static bool emit_set(compiler *c, int32_t first) {
  return insert(c, c->r->n_steps, (regex_step){REGEX_SET, first, c->r->n_ranges - first});
}

/* Ranges, and with them the other case of their letters. */
static bool add_letters(compiler *c, uint32_t first, uint32_t last) {
  if (!add_range(c, first, last)) return false;
  for (uint32_t k = first; c->ignore_case && k <= last && k < 0x20000; k++) {
    uint32_t lower = letter_to(k, CASE_LOWER), upper = letter_to(k, CASE_UPPER);
    if (lower != k && !add_range(c, lower, lower)) return false;
    if (upper != k && !add_range(c, upper, upper)) return false;
  }
  return true;
}

/* Turns the ranges from `first` on into those between them. Without a buffer, counts as many as
 * there could be. */
static bool negate(compiler *c, int32_t first) {
  regex *r = c->r;
  int32_t n = r->n_ranges - first;
  if (!r->ranges) return add_range(c, 0, 0);
  regex_range *x = r->ranges + first;
  for (int32_t i = 1; i < n; i++)
    for (int32_t k = i; k > 0 && x[k].first < x[k - 1].first; k--) {
      regex_range swap = x[k];
      x[k] = x[k - 1];
      x[k - 1] = swap;
    }
  uint32_t next = 0;
  int32_t kept = 0;
  for (int32_t i = 0; i < n; i++) {
    const regex_range own = x[i];
    if (own.first > next) x[kept++] = (regex_range){next, own.first - 1}; /* kept <= i */
    if (own.last + 1 > next) next = own.last + 1;
  }
  if (next <= LAST_CODE_POINT) x[kept++] = (regex_range){next, LAST_CODE_POINT};
  r->n_ranges = first + kept;
  return true;
}

/* ---- characters ---- */

typedef struct named {
  const char *name, *ranges; /* pairs of ASCII characters */
} named;

/* Adds the ranges, or (negated) all others. */
static bool add_named(compiler *c, const char *ranges, bool negated) {
  uint32_t next = 0;
  for (const char *p = ranges; *p; p += 2) {
    uint32_t first = (uint8_t)p[0], last = (uint8_t)p[1];
    if (!negated && !add_range(c, first, last)) return false;
    if (negated && first > next && !add_range(c, next, first - 1)) return false;
    next = last + 1;
  }
  return !negated || add_range(c, next, LAST_CODE_POINT);
}

/* \d \w \s and their opposites, after the backslash: false if it is none of them. Ranges in rising
 * order. */
static const char *perl_class(char letter) {
  switch (letter | 0x20) {
    case 'd': return "09";
    case 'w': return "09AZ__az";
    case 's': return "\t\n\f\r  ";
    default: return NULL;
  }
}

static const char *posix_class(compiler *c, bool *negated) {
  static const named all[] = {{"alnum", "09AZaz"},
                              {"alpha", "AZaz"},
                              {"ascii", "\x01\x7f"},
                              {"blank", "\t\t  "},
                              {"cntrl", "\x01\x1f\x7f\x7f"},
                              {"digit", "09"},
                              {"graph", "!~"},
                              {"lower", "az"},
                              {"print", " ~"},
                              {"punct", "!/:@[`{~"},
                              {"space", "\t\r  "},
                              {"upper", "AZ"},
                              {"word", "09AZ__az"},
                              {"xdigit", "09AFaf"}};
  if (!ahead(c, "[:")) return NULL;
  int64_t start = c->at;
  c->at += 2;
  *negated = take(c, "^");
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    int64_t before = c->at;
    if (take(c, all[k].name) && take(c, ":]")) return all[k].ranges;
    c->at = before;
  }
  c->at = start;
  return NULL;
}

static int hex_digit(char x) {
  return x >= '0' && x <= '9'                     ? x - '0'
         : (x | 0x20) >= 'a' && (x | 0x20) <= 'f' ? (x | 0x20) - 'a' + 10
                                                  : -1;
}

/* After \x: two digits, or any number in braces. */
static bool hex(compiler *c, uint32_t *out) {
  bool braces = take(c, "{");
  int digits = 0;
  *out = 0;
  for (; more(c) && hex_digit(c->text.data[c->at]) >= 0 && digits < (braces ? 6 : 2); digits++)
    *out = *out * 16 + (uint32_t)hex_digit(c->text.data[c->at++]);
  if (!digits || (braces && !take(c, "}")) || *out > LAST_CODE_POINT)
    return pattern_fail(c, "\\x is followed by no number", false);
  return true;
}

/* After a backslash: a character that stands for itself or has a name. */
static bool escape(compiler *c, uint32_t *out) {
  static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  if (!more(c)) return pattern_fail(c, "the pattern ends with a backslash", false);
  char x = c->text.data[c->at];
  const char *name = strchr(names, x);
  if (x == 'x') {
    c->at++;
    return hex(c, out);
  }
  bool letter = (x >= '0' && x <= '9') || (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z');
  if (letter && !name) return pattern_fail(c, "this escape is not supported", true);
  int64_t n;
  *out = name ? (uint8_t)values[name - names]
              : letter_read(c->text.data + c->at, c->text.size - c->at, &n);
  if (name) n = 1;
  c->at += n;
  return true;
}

static bool character(compiler *c, uint32_t *out) {
  if (take(c, "\\")) return escape(c, out);
  int64_t n;
  *out = letter_read(c->text.data + c->at, c->text.size - c->at, &n);
  c->at += n;
  return *out <= LAST_CODE_POINT || pattern_fail(c, "the pattern is no UTF-8", false);
}

/* After "[". A "]" that comes first stands for itself. */
static bool bracket(compiler *c) {
  const int32_t first = c->r->n_ranges;
  const bool negated = take(c, "^");
  for (bool begin = true; begin || !take(c, "]"); begin = false) {
    bool other = false;
    uint32_t low, high;
    if (!more(c)) return pattern_fail(c, "'[' has no end", false);
    const char *ranges = posix_class(c, &other);
    if (!ranges && ahead(c, "\\") && c->at + 1 < c->text.size &&
        (ranges = perl_class(c->text.data[c->at + 1]))) {
      other = c->text.data[c->at + 1] < 'a';
      c->at += 2;
    }
    if (ranges) {
      if (!add_named(c, ranges, other)) return false;
      continue;
    }
    if (!character(c, &low)) return false;
    high = low;
    if (ahead(c, "-") && !ahead(c, "-]")) {
      c->at++;
      if (!more(c) || !character(c, &high)) return pattern_fail(c, "a range has no end", false);
    }
    if (high < low) return pattern_fail(c, "a range is the wrong way round", false);
    if (!add_letters(c, low, high)) return false;
  }
  return (!negated || negate(c, first)) && emit_set(c, first);
}

/* ---- expressions ---- */

static bool alternation(compiler *c);

/* After "(". Flags hold until the group ends. */
static bool group(compiler *c) {
  const bool ignore_case = c->ignore_case, dot_all = c->dot_all;
  bool closed = false;
  if (take(c, "?P<") || take(c, "?<")) {
    while (more(c) && c->text.data[c->at] != '>') c->at++;
    if (!take(c, ">")) return pattern_fail(c, "the name of a group has no end", false);
  } else if (take(c, "?")) {
    while (more(c) && !ahead(c, ":") && !closed) {
      if (take(c, "i"))
        c->ignore_case = true;
      else if (take(c, "s"))
        c->dot_all = true;
      else if (!(closed = take(c, ")")))
        return pattern_fail(c, "these flags are not supported", true);
    }
    if (closed) return true; /* from here to the end of the group around it */
    if (!take(c, ":")) return pattern_fail(c, "a group has no end", false);
  }
  if (++c->depth > MAX_DEPTH) return pattern_fail(c, "groups are nested too deep", true);
  if (!alternation(c)) return false;
  c->depth--;
  c->ignore_case = ignore_case;
  c->dot_all = dot_all;
  return take(c, ")") || pattern_fail(c, "a group has no end", false);
}

static bool escaped_atom(compiler *c) {
  const int32_t first = c->r->n_ranges;
  const char *ranges = c->at + 1 < c->text.size ? perl_class(c->text.data[c->at + 1]) : NULL;
  uint32_t x;
  if (take(c, "\\b")) return emit(c, REGEX_WORD_EDGE);
  if (take(c, "\\B")) return emit(c, REGEX_NO_WORD_EDGE);
  if (take(c, "\\A")) return emit(c, REGEX_BEGIN);
  if (take(c, "\\z")) return emit(c, REGEX_END);
  if (ranges) {
    c->at += 2;
    return add_named(c, ranges, c->text.data[c->at - 1] < 'a') && emit_set(c, first);
  }
  return character(c, &x) && add_letters(c, x, x) && emit_set(c, first);
}

static bool atom(compiler *c) {
  const int32_t first = c->r->n_ranges;
  uint32_t x;
  if (take(c, "(")) return group(c);
  if (take(c, "[")) return bracket(c);
  if (take(c, "^")) return emit(c, REGEX_BEGIN);
  if (take(c, "$")) return emit(c, REGEX_END);
  if (ahead(c, "\\")) return escaped_atom(c);
  if (ahead(c, "*") || ahead(c, "+") || ahead(c, "?"))
    return pattern_fail(c, "there is nothing to repeat", false);
  if (take(c, "."))
    return (c->dot_all ? add_range(c, 0, LAST_CODE_POINT) : add_named(c, "\n\n", true)) &&
           emit_set(c, first);
  return character(c, &x) && add_letters(c, x, x) && emit_set(c, first);
}

static bool number(compiler *c, int32_t *out) {
  int64_t first = c->at;
  for (*out = 0;
       more(c) && c->text.data[c->at] >= '0' && c->text.data[c->at] <= '9' && *out <= MAX_REPEAT;
       c->at++)
    *out = *out * 10 + (c->text.data[c->at] - '0');
  return c->at > first;
}

typedef struct repetition {
  int32_t low, high; /* high -1: no end */
  bool lazy;         /* as few as will do */
} repetition;

/* "*", "+", "?", "{m}", "{m,}", "{m,n}", lazy with a "?" behind. False: there is none. */
static bool quantifier(compiler *c, repetition *out) {
  int32_t *low = &out->low, *high = &out->high;
  int64_t start = c->at;
  *low = ahead(c, "+");
  *high = ahead(c, "?") ? 1 : -1;
  bool found = take(c, "*") || take(c, "+") || take(c, "?");
  if (!found && take(c, "{")) {
    found = number(c, low);
    *high = *low;
    if (found && take(c, ",") && !number(c, high)) *high = -1;
    found = found && take(c, "}");
  }
  out->lazy = found && take(c, "?");
  if (!found) c->at = start; /* a brace that stands for itself */
  return found;
}

/* The steps from `first` on become optional; loop: they may be repeated. */
static bool make_optional(compiler *c, int32_t first, bool loop, bool lazy) {
  int32_t n = c->r->n_steps - first, past = n + (loop ? 2 : 1);
  const regex_step split = {REGEX_SPLIT, lazy ? past : 1, lazy ? 1 : past};
  if (!insert(c, first, split)) return false;
  return !loop || insert(c, c->r->n_steps, (regex_step){REGEX_JUMP, -(n + 1), 0});
}

/* Goes back to before the atom and makes it low times, then up to high times, optional each, or any
 * number of times. */
static bool repeat(compiler *c, int64_t atom_at, int32_t first, int32_t first_range,
                   repetition times) {
  const int32_t low = times.low, high = times.high;
  const int64_t after = c->at;
  const bool ignore_case = c->ignore_case, dot_all = c->dot_all;
  if (low > MAX_REPEAT || high > MAX_REPEAT || (high >= 0 && high < low))
    return pattern_fail(c, "a repetition is out of range", false);
  c->r->n_steps = first;
  c->r->n_ranges = first_range;
  for (int32_t k = 0; k < (high < 0 ? low + 1 : high); k++) {
    const int32_t begin = c->r->n_steps;
    c->at = atom_at;
    if (!atom(c) || (k >= low && !make_optional(c, begin, high < 0, times.lazy))) return false;
    c->ignore_case = ignore_case;
    c->dot_all = dot_all;
  }
  c->at = after;
  return true;
}

static bool sequence(compiler *c) {
  while (more(c) && !ahead(c, "|") && !ahead(c, ")")) {
    const int64_t atom_at = c->at;
    const int32_t first = c->r->n_steps, first_range = c->r->n_ranges;
    repetition times;
    if (!atom(c)) return false;
    if (quantifier(c, &times)) {
      if (!repeat(c, atom_at, first, first_range, times)) return false;
      if (quantifier(c, &times)) return pattern_fail(c, "a repetition is repeated", false);
    }
  }
  return true;
}

static bool alternation(compiler *c) {
  const int32_t first = c->r->n_steps;
  if (!sequence(c)) return false;
  if (!take(c, "|")) return true;
  const int32_t n = c->r->n_steps - first;
  if (!insert(c, first, (regex_step){REGEX_SPLIT, 1, n + 2}) || !emit(c, REGEX_JUMP)) return false;
  const int32_t jump = c->r->n_steps - 1;
  if (++c->depth > MAX_DEPTH * 10) return pattern_fail(c, "there are too many alternatives", true);
  if (!alternation(c)) return false;
  c->depth--;
  if (c->r->steps) c->r->steps[jump].a = c->r->n_steps - jump;
  return true;
}

bool regex_compile(tn_str pattern, regex *r) {
  compiler c = {.r = r, .text = pattern};
  r->n_steps = r->n_ranges = 0;
  r->problem = NULL;
  if (!alternation(&c)) return false;
  if (more(&c)) return pattern_fail(&c, "')' without '('", false);
  return emit(&c, REGEX_MATCH);
}

/* ---- the machine ---- */

static bool is_word(uint32_t c) {
  return c < 128 &&
         ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'));
}

bool regex_passes(const regex_step *step, uint32_t before, uint32_t after) {
  switch (step->op) {
    case REGEX_BEGIN: return before == REGEX_EDGE;
    case REGEX_END: return after == REGEX_EDGE;
    case REGEX_WORD_EDGE: return is_word(before) != is_word(after);
    default: return is_word(before) == is_word(after);
  }
}

bool regex_in_set(const regex *r, const regex_step *step, uint32_t c) {
  for (int32_t k = 0; k < step->b; k++)
    if (c >= r->ranges[step->a + k].first && c <= r->ranges[step->a + k].last) return true;
  return false;
}

typedef struct machine {
  const regex *r;
  int32_t *now, *next, *stack, *seen; /* seen[step]: the round in which it was last reached */
  int32_t n_now, n_next, round;
} machine;

static void reach(machine *m, int32_t *stack_size, int32_t step) {
  if (m->seen[step] == m->round) return;
  m->seen[step] = m->round;
  m->stack[(*stack_size)++] = step;
}

/* Adds a step to those that wait between two code points, and all that can be reached from it
 * without reading. */
static void wait_at(machine *m, int32_t *list, int32_t *n, int32_t step, uint32_t before,
                    uint32_t after) {
  int32_t size = 0;
  reach(m, &size, step);
  while (size > 0) {
    const int32_t at = m->stack[--size];
    const regex_step *s = &m->r->steps[at];
    if (s->op == REGEX_SET || s->op == REGEX_MATCH)
      list[(*n)++] = at;
    else if (s->op == REGEX_JUMP)
      reach(m, &size, at + s->a);
    else if (s->op == REGEX_SPLIT)
      reach(m, &size, at + s->a), reach(m, &size, at + s->b);
    else if (regex_passes(s, before, after))
      reach(m, &size, at + 1);
  }
}

static uint32_t read_at(tn_str text, int64_t at, int64_t *bytes) {
  *bytes = 0;
  return at < text.size ? letter_read(text.data + at, text.size - at, bytes) : REGEX_EDGE;
}

bool regex_match(const regex *r, tn_str text, int32_t *room) {
  machine m = {r, room, room + r->n_steps, room + 2 * r->n_steps, room + 3 * r->n_steps, 0, 0, 1};
  int64_t n, n_after;
  uint32_t c = read_at(text, 0, &n);
  memset(m.seen, 0, (size_t)r->n_steps * sizeof *m.seen);
  wait_at(&m, m.now, &m.n_now, 0, REGEX_EDGE, c);
  for (int64_t at = 0; at < text.size && m.n_now; at += n, n = n_after) {
    const uint32_t after = read_at(text, at + n, &n_after);
    m.round = m.round == INT32_MAX ? 1 : m.round + 1;
    if (m.round == 1) memset(m.seen, 0, (size_t)r->n_steps * sizeof *m.seen);
    m.n_next = 0;
    for (int32_t k = 0; k < m.n_now; k++) {
      const regex_step *s = &r->steps[m.now[k]];
      if (s->op == REGEX_SET && regex_in_set(r, s, c))
        wait_at(&m, m.next, &m.n_next, m.now[k] + 1, c, after);
    }
    int32_t *swap = m.now;
    m.now = m.next;
    m.next = swap;
    m.n_now = m.n_next;
    c = after;
  }
  for (int32_t k = 0; k < m.n_now; k++)
    if (r->steps[m.now[k]].op == REGEX_MATCH) return true;
  return false;
}
