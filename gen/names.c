/* The words of the family files, and how they are written in C. */
#include <stdio.h>
#include <string.h>

#include "base/c_name.h"
#include "gen.h"

#define WORD(name, c) \
  { name, c, #c }

const gen_word gen_isa_words[] = {WORD("sse41", TN_ISA_SSE41),
                                  WORD("avx", TN_ISA_AVX),
                                  WORD("avx2", TN_ISA_AVX2),
                                  WORD("avx512", TN_ISA_AVX512),
                                  WORD("avx512_vnni", TN_ISA_AVX512_VNNI),
                                  WORD("avx512_bf16", TN_ISA_AVX512_BF16),
                                  WORD("avx_vnni", TN_ISA_AVX_VNNI),
                                  WORD("avx512_fp16", TN_ISA_AVX512_FP16),
                                  WORD("amx_int8", TN_ISA_AMX_INT8),
                                  WORD("amx_bf16", TN_ISA_AMX_BF16),
                                  WORD("neon", TN_ISA_NEON),
                                  WORD("neon_dot", TN_ISA_NEON_DOT),
                                  WORD("neon_f16", TN_ISA_NEON_F16),
                                  WORD("neon_i8mm", TN_ISA_NEON_I8MM),
                                  WORD("neon_bf16", TN_ISA_NEON_BF16),
                                  WORD("sve", TN_ISA_SVE),
                                  WORD("sve2", TN_ISA_SVE2),
                                  WORD("rvv", TN_ISA_RVV),
                                  WORD("rvv_f16", TN_ISA_RVV_F16),
                                  {NULL, 0, NULL}};

/* TN_OP_SAME_AS_INPUT and TN_OP_BROADCAST are said by `infer`. */
const gen_word gen_op_flag_words[] = {
    WORD("impure", TN_OP_IMPURE),           WORD("elementwise", TN_OP_ELEMENTWISE),
    WORD("lower_early", TN_OP_LOWER_EARLY), WORD("lower_always", TN_OP_LOWER_ALWAYS),
    WORD("types_only", TN_OP_TYPES_ONLY),   WORD("fold_late", TN_OP_FOLD_LATE),
    WORD("open_attrs", TN_OP_OPEN_ATTRS),   {NULL, 0, NULL}};

const gen_word gen_kernel_flag_words[] = {
    WORD("epilogue", TN_KERNEL_EPILOGUE), WORD("serial", TN_KERNEL_SERIAL), {NULL, 0, NULL}};

const gen_word gen_plugin_flag_words[] = {WORD("threads", TN_PLUGIN_THREADS),
                                          WORD("lazy_constants", TN_PLUGIN_LAZY_CONSTANTS),
                                          {NULL, 0, NULL}};

const gen_word gen_layout_words[] = {
    WORD("plain", TN_PLAIN),           WORD("channels_last", TN_CHANNELS_LAST),
    WORD("blocked4", TN_BLOCKED(4)),   WORD("blocked8", TN_BLOCKED(8)),
    WORD("blocked16", TN_BLOCKED(16)), WORD("blocked32", TN_BLOCKED(32)),
    WORD("any", TN_ANY_LAYOUT),        {NULL, 0, NULL}};

static const gen_word dtype_words[] = {WORD("f32", TN_F32),
                                       WORD("f64", TN_F64),
                                       WORD("f16", TN_F16),
                                       WORD("bf16", TN_BF16),
                                       WORD("i8", TN_I8),
                                       WORD("i16", TN_I16),
                                       WORD("i32", TN_I32),
                                       WORD("i64", TN_I64),
                                       WORD("u8", TN_U8),
                                       WORD("u16", TN_U16),
                                       WORD("u32", TN_U32),
                                       WORD("u64", TN_U64),
                                       WORD("bool", TN_BOOL),
                                       WORD("string", TN_STRING),
                                       WORD("c64", TN_C64),
                                       WORD("c128", TN_C128),
                                       WORD("f8e4m3fn", TN_F8E4M3FN),
                                       WORD("f8e4m3fnuz", TN_F8E4M3FNUZ),
                                       WORD("f8e5m2", TN_F8E5M2),
                                       WORD("f8e5m2fnuz", TN_F8E5M2FNUZ),
                                       WORD("f8e8m0", TN_F8E8M0),
                                       WORD("f4e2m1", TN_F4E2M1),
                                       WORD("i4", TN_I4),
                                       WORD("u4", TN_U4),
                                       WORD("i2", TN_I2),
                                       WORD("u2", TN_U2),
                                       WORD("f6e2m3", TN_F6E2M3),
                                       WORD("f6e3m2", TN_F6E3M2),
                                       {NULL, 0, NULL}};

_Static_assert(sizeof dtype_words / sizeof dtype_words[0] == TN_DTYPE_COUNT,
               "every dtype has a name: the end of the table stands for TN_NONE");

/* The types of PyTorch by its own names. */
static const gen_word torch_words[] = {WORD("Float", TN_F32),
                                       WORD("Double", TN_F64),
                                       WORD("Half", TN_F16),
                                       WORD("BFloat16", TN_BF16),
                                       WORD("Char", TN_I8),
                                       WORD("Short", TN_I16),
                                       WORD("Int", TN_I32),
                                       WORD("Long", TN_I64),
                                       WORD("Byte", TN_U8),
                                       WORD("UInt16", TN_U16),
                                       WORD("UInt32", TN_U32),
                                       WORD("UInt64", TN_U64),
                                       WORD("Bool", TN_BOOL),
                                       WORD("ComplexFloat", TN_C64),
                                       WORD("ComplexDouble", TN_C128),
                                       WORD("Float8_e4m3fn", TN_F8E4M3FN),
                                       WORD("Float8_e4m3fnuz", TN_F8E4M3FNUZ),
                                       WORD("Float8_e5m2", TN_F8E5M2),
                                       WORD("Float8_e5m2fnuz", TN_F8E5M2FNUZ),
                                       WORD("Float8_e8m0fnu", TN_F8E8M0),
                                       {NULL, 0, NULL}};

#define MASK_OTHER (TN_MASK(TN_BOOL) | TN_MASK(TN_STRING) | TN_MASK(TN_C64) | TN_MASK(TN_C128))
#define MASK_ANY (TN_MASK(TN_DTYPE_COUNT) - TN_MASK(TN_F32))
_Static_assert(TN_F32 == 1, "MASK_ANY begins with the first dtype");

static const gen_word set_words[] = {{"float", TN_MASK_FLOAT, NULL},
                                     {"int", TN_MASK_INT, NULL},
                                     {"number", TN_MASK_FLOAT | TN_MASK_INT, NULL},
                                     {"all", TN_MASK_FLOAT | TN_MASK_INT | MASK_OTHER, NULL},
                                     {"any", MASK_ANY, NULL},
                                     {NULL, 0, NULL}};

const gen_word *gen_word_find(const gen_word *words, const char *name) {
  for (; words->name; words++) {
    if (strcmp(words->name, name) == 0) return words;
  }
  return NULL;
}

const char *gen_words_text(gen *g, const gen_word *words) {
  const char *text = "";
  for (; words->name; words++) {
    text = gen_format_text(g, "%s%s%s", text, *text ? ", " : "", words->name);
  }
  return text;
}

const char *gen_mask_c(gen *g, const gen_word *words, uint64_t mask) {
  const char *text = "";
  for (; words->name; words++) {
    if (!(mask & words->value)) continue;
    text = gen_format_text(g, "%s%s%s", text, *text ? " | " : "", words->c_name);
  }
  return *text ? text : "0";
}

uint64_t gen_word_value(gen *g, const gen_node *at, const char *name, const char *key,
                        const gen_word *words) {
  const gen_word *word = gen_word_find(words, name);
  if (word) return word->value;
  gen_problem_add(g, at, "unknown word '%s' in %s; known are: %s", name, key,
                  gen_words_text(g, words));
  return 0;
}

uint64_t gen_words_at(gen *g, const gen_node *map, const char *key, const gen_word *words) {
  const gen_node *list = gen_get(map, key);
  uint64_t mask = 0;
  for (int k = 0; k < gen_n_items(list); k++) {
    const gen_node *item = gen_item(list, k);
    mask |= gen_word_value(g, item, gen_str(g, item, key), key, words);
  }
  return mask;
}

uint64_t gen_dtype_mask(const char *name) {
  const gen_word *word = gen_word_find(dtype_words, name);
  if (!word) word = gen_word_find(torch_words, name);
  if (word) return TN_MASK(word->value);
  word = gen_word_find(set_words, name);
  return word ? word->value : 0;
}

uint64_t gen_dtypes_any(void) { return MASK_ANY; }

const char *gen_dtypes_c(gen *g, uint64_t dtypes) {
  const char *text = "";
  for (const gen_word *w = dtype_words; w->name; w++) {
    if (!(dtypes & TN_MASK(w->value))) continue;
    text = gen_format_text(g, "%s%sTN_MASK(%s)", text, *text ? " | " : "", w->c_name);
  }
  return *text ? text : "0";
}

const char *gen_dtypes_text(gen *g, uint64_t dtypes) {
  const char *text = "";
  for (const gen_word *w = dtype_words; w->name; w++) {
    if (!(dtypes & TN_MASK(w->value))) continue;
    text = gen_format_text(g, "%s%s%s", text, *text ? " " : "", w->name);
  }
  return text;
}

bool gen_is_wide(uint64_t isa) {
  return (isa & (TN_ISA_AVX512 | TN_ISA_AVX512_VNNI | TN_ISA_AVX512_BF16)) != 0;
}

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool gen_is_identifier(const char *name) {
  static const char *const keywords[] = {
      "auto",    "break",  "case",     "char",   "const",    "continue", "default",
      "do",      "double", "else",     "enum",   "extern",   "float",    "for",
      "goto",    "if",     "inline",   "int",    "long",     "register", "restrict",
      "return",  "short",  "signed",   "sizeof", "static",   "struct",   "switch",
      "typedef", "union",  "unsigned", "void",   "volatile", "while",    NULL};
  for (const char *const *k = keywords; *k; k++) {
    if (strcmp(*k, name) == 0) return false;
  }
  if (!*name || is_digit(*name)) return false;
  for (; *name; name++) {
    if (!is_lower(*name) && !is_upper(*name) && !is_digit(*name) && *name != '_') return false;
  }
  return true;
}

const char *gen_c_name(gen *g, const char *name) {
  const char *colons = strstr(name, "::");
  if (!colons) return name;
  return gen_format_text(g, "%.*s_%s", (int)(colons - name), name, gen_c_name(g, colons + 2));
}

const char *gen_snake_case(gen *g, const char *name) {
  tn_text out;
  tn_text_init(&out, g->a);
  tn_c_name_add(&out, name);
  const char *text = gen_format_text(g, "%s", tn_text_get(&out));
  tn_text_free(&out);
  return text;
}

void gen_split_name(gen *g, const char *full, const char **out_domain, const char **out_name) {
  const char *colons = strstr(full, "::");
  *out_domain = colons ? gen_format_text(g, "%.*s", (int)(colons - full), full) : "";
  *out_name = colons ? colons + 2 : full;
}

const char *gen_full_name(gen *g, const char *domain, const char *name) {
  return *domain ? gen_format_text(g, "%s::%s", domain, name) : name;
}
