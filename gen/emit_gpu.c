/* GPU kernels as programs, in each language that devices take: the tables, and what the languages
 * (gpu_<language>.c) share. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"
#include "gpu_emit.h"

/* ---- what all languages share ---- */

bool gen_gpu_is_buffer(const gen_gpu_arg *a) {
  return a->kind == GEN_GPU_IN || a->kind == GEN_GPU_OUT;
}

bool gen_gpu_has_epilogue(const gen_program *p) {
  for (int64_t k = 0; k < p->args.n; k++)
    if (p->args.data[k].kind == GEN_GPU_EPILOGUE) return true;
  return false;
}

/* "S_A:dtype S_B:dtype K:int": the dtypes of all buffers, what is fused, and the kernel's own. */
void gen_gpu_emit_constants(tn_text *out, const gen_program *p) {
  const char *space = "";
  for (int64_t k = 0; k < p->args.n; k++) {
    if (!gen_gpu_is_buffer(&p->args.data[k])) continue;
    tn_text_add(out, "%sS_%s:dtype", space, p->args.data[k].name);
    space = " ";
  }
  if (gen_gpu_has_epilogue(p)) {
    for (int k = 0; k < GEN_GPU_OPERANDS; k++) tn_text_add(out, " S_E%d:dtype", k);
    for (int k = 0; k < GEN_GPU_STEPS; k++) tn_text_add(out, " EK%d:int EO%d:int", k, k);
    for (int k = 0; k < GEN_GPU_OPERANDS; k++) tn_text_add(out, " EM%d:int", k);
  }
  for (int64_t k = 0; k < p->args.n; k++)
    if (p->args.data[k].kind == GEN_GPU_CONST)
      tn_text_add(out, "%s%s:int", space, p->args.data[k].name);
}

/* ---- functions ---- */

const char gen_gpu_no_lanes[] =
    "#define LANES 0\n"
    "#define LANE 0\n"
    "#define FROM_LANE(x, k) (x)\n";

const char gen_gpu_dot4[] =
    "int dot4_(int a, int b, int c) {\n"
    "  return c + (a << 24 >> 24) * (b << 24 >> 24) + (a << 16 >> 24) * (b << 16 >> 24) +\n"
    "         (a << 8 >> 24) * (b << 8 >> 24) + (a >> 24) * (b >> 24);\n"
    "}\n";

const char gen_gpu_functions[] =
    "float sigmoid1(float x) { float e = exp(-fabs(x)); return (x < 0.0f ? e : 1.0f) / (1.0f + e); "
    "}\n"
    "float clamp1(float x, float a, float b) {\n"
    "  float y = x < a ? a : x > b ? b : x;\n"
    "  return KEEP_NAN(x, y);\n"
    "}\n"
    "float relu1(float x) { return KEEP_NAN(x, x < 0.0f ? 0.0f : x); }\n"
    /* x times a weight that has become 0; compilers that know no infinities would fold x * 0 */
    "float zero_of1(float x) {\n"
    "  return fabs(x) == INFINITY ? BITS_TO_FLOAT(0x7fc00000) : x < 0.0f ? -0.0f : 0.0f;\n"
    "}\n"
    /* 1 + tanh(u) / 2 keeps small numbers */
    "float swish1(float x, float a) {\n"
    "  float u = a * x, h = exp(0.5f * u);\n"
    "  if (!(u < 0.0f)) return x * sigmoid1(u);\n"
    "  return h > 0.0f ? x * h * h / (1.0f + h * h) : zero_of1(x);\n"
    "}\n"
    "float silu1(float x) { return swish1(x, 1.0f); }\n"
    "float hard_swish1(float x) { return x <= -3.0f ? zero_of1(x) : x * clamp1(x / 6.0f + 0.5f, "
    "0.0f, 1.0f); }\n"
    "float gelu1(float x) { return x < -14.0f ? zero_of1(x) : 0.5f * x * (1.0f + ERF(x * "
    "0.70710678f)); }\n"
    "float gelu_tanh1(float x) { return x < -14.0f ? zero_of1(x) : x * sigmoid1(1.59576912f * (x + "
    "0.044715f * x * x * x)); }\n";

const char gen_gpu_fused[] =
    "float fused1(int kind, float y, float t, float a, float b) {\n"
    "  switch (kind) {\n"
    "    case 1: return relu1(y);\n"
    "    case 2: return clamp1(y, a, b);\n"
    "    case 3: return y < 0.0f ? a * y : y;\n"
    "    case 4: return sigmoid1(y);\n"
    "    case 5: return tanh(y);\n"
    "    case 6: return clamp1(a * y + b, 0.0f, 1.0f);\n"
    "    case 7: return hard_swish1(y);\n"
    "    case 8: return silu1(y);\n"
    "    case 9: return gelu1(y);\n"
    "    case 10: return gelu_tanh1(y);\n"
    "    case 11: return y + t;\n"
    "    case 12: return y * t;\n"
    "  }\n"
    "  return y;\n"
    "}\n";

/* ---- params ---- */

static const char *param_type(const gen_gpu_arg *a) {
  return a->kind == GEN_GPU_INT ? "int" : a->kind == GEN_GPU_FLOAT ? "float" : NULL;
}

/* Members of the struct of params, or, with `from`, locals that are set from it. */
void gen_gpu_emit_params(tn_text *out, const gen_program *p, bool from) {
  for (int64_t k = 0; k < p->args.n; k++) {
    const gen_gpu_arg *a = &p->args.data[k];
    if (!param_type(a)) continue;
    if (from)
      tn_text_add(out, " %s %s = params_.%s;", param_type(a), a->name, a->name);
    else
      tn_text_add(out, " %s %s;", param_type(a), a->name);
  }
  static const struct {
    const char *type, *name;
    int n;
  } fused[] = {{"float", "ea", GEN_GPU_STEPS},
               {"float", "eb", GEN_GPU_STEPS},
               {"int", "ei", GEN_GPU_OPERANDS},
               {"int", "ex", GEN_GPU_OPERANDS}};
  for (size_t f = 0; f < sizeof fused / sizeof *fused && gen_gpu_has_epilogue(p); f++)
    for (int k = 0; k < fused[f].n; k++) {
      tn_text_add(out, " %s %s%d", fused[f].type, fused[f].name, k);
      if (from) tn_text_add(out, " = params_.%s%d", fused[f].name, k);
      tn_text_add(out, ";");
    }
}

int gen_gpu_n_params(const gen_program *p) {
  int n = gen_gpu_has_epilogue(p) ? 2 * GEN_GPU_STEPS + 2 * GEN_GPU_OPERANDS : 0;
  for (int64_t k = 0; k < p->args.n; k++) n += param_type(&p->args.data[k]) != NULL;
  return n;
}

/* ---- tables ---- */

typedef struct language {
  const char *name, *id;
  void (*emit)(gen *g, tn_text *out, const gen_program *p);
  bool is_compiled; /* to SPIR-V; those stand last */
} language;
static const language languages[] = {{"opencl-c", "opencl", gen_gpu_emit_opencl, false},
                                     {"cuda-c", "cuda", gen_gpu_emit_cuda, false},
                                     {"glsl-es", "es", gen_gpu_emit_glsl_es, false},
                                     {"spirv", "spirv", gen_gpu_emit_glsl, true},
                                     {"spirv-webgpu", "webgpu", gen_gpu_emit_glsl_webgpu, true}};

enum { N_LANGUAGES = sizeof languages / sizeof *languages };

/* Without a compiler of SPIR-V, programs have no such form. */
static bool has_form(const gen *g, const gen_program *p, const language *l) {
  if (l->is_compiled && !g->glslang) return false;
  return !p->is_cuda_only || !strcmp(l->id, "cuda");
}

/* Line by line, so that compilers' limits on the length of lines hold. */
static void emit_lines(gen *g, tn_text *out, const char *text) {
  for (const char *p = text; *p;) {
    const char *end = strchr(p, '\n');
    const char *next = end ? end + 1 : p + strlen(p);
    tn_text_add(out, "\n    ");
    gen_emit_c_string(out, gen_need(tn_arena_strn(&g->arena, p, next - p)));
    p = next;
  }
}

static const char *form_id(gen *g, const gen_program *p, const language *l) {
  return gen_format_text(g, "%s_%s_%s", p->family, p->name, l->id);
}

/* What is to be SPIR-V. */
static bool compile(gen *g, gen_compiles *c, const gen_program *p) {
  bool ok = true;
  for (int k = 0; k < N_LANGUAGES && ok; k++) {
    if (!languages[k].is_compiled || !has_form(g, p, &languages[k])) continue;
    tn_text text;
    tn_text_init(&text, g->a);
    languages[k].emit(g, &text, p);
    if (text.status) gen_need(NULL);
    ok = gen_compile_begin(g, c, form_id(g, p, &languages[k]), &text);
  }
  return ok;
}

static void emit_words(tn_text *out, const char *name, const void *data, uint64_t size) {
  const uint32_t *words = data;
  tn_text_add(out, "static const uint32_t text_%s[] = {", name);
  for (uint64_t k = 0; k < size / sizeof *words; k++)
    tn_text_add(out, "%s0x%x,", k % 10 ? "" : "\n    ", words[k]);
  tn_text_add(out, "};\n");
}

static void emit_bytes(tn_text *out, const char *name, const uint8_t *bytes, uint64_t size) {
  tn_text_add(out, "static const uint8_t text_%s[%llu] =", name, (unsigned long long)size + 1);
  for (uint64_t k = 0; k < size; k++) {
    const bool is_plain = bytes[k] >= ' ' && bytes[k] < 127 && !strchr("\"\\?", bytes[k]);
    if (k % 30 == 0) tn_text_add(out, "%s\n    \"", k ? "\"" : "");
    tn_text_add(out, is_plain ? "%c" : "\\%03o", bytes[k]);
  }
  tn_text_add(out, "\";\n");
}

/* What the form holds, unpacked. */
static const void *form_data(gen *g, const gen_program *p, const language *l, uint64_t *out_size) {
  int64_t n = 0;
  if (l->is_compiled) {
    const uint32_t *words = gen_compiled(g, form_id(g, p, l), &n);
    *out_size = (uint64_t)n * sizeof *words;
    return words;
  }
  tn_text text;
  tn_text_init(&text, g->a);
  l->emit(g, &text, p);
  if (text.status) gen_need(NULL);
  const char *data = gen_need(tn_arena_strn(&g->arena, text.data, text.n));
  *out_size = (uint64_t)text.n;
  tn_text_free(&text);
  return data;
}

static bool emit_form(gen *g, tn_text *out, const gen_program *p, const language *l) {
  const char *id = form_id(g, p, l);
  uint64_t size, packed_size = 0;
  const void *data = form_data(g, p, l, &size);
  if (!data) return false;
  const uint8_t *packed = gen_deflate(g, data, size, &packed_size);
  if (packed) {
    emit_bytes(out, id, packed, packed_size);
  } else if (l->is_compiled) {
    emit_words(out, id, data, size);
  } else {
    tn_text_add(out, "static const char text_%s[] =", id);
    emit_lines(g, out, data);
    tn_text_add(out, ";\n");
  }
  tn_text_add(out,
              "static const tn_program_form form_%s = {\n    TN_HEAD(tn_program_form), \"%s%s\", "
              "text_%s, %llu};\n",
              id, l->name, packed ? ".deflate" : "", id,
              (unsigned long long)(packed ? packed_size : size));
  return true;
}

static bool emit_program(gen *g, tn_text *out, const gen_program *p) {
  const char *id = gen_format_text(g, "%s_%s", p->family, p->name);
  int n = 0;
  for (int k = 0; k < N_LANGUAGES; k++)
    if (has_form(g, p, &languages[k]) && !emit_form(g, out, p, &languages[k])) return false;
  tn_text_add(out, "static const tn_program_form *const forms_%s[] = {", id);
  for (int k = 0; k < N_LANGUAGES; k++)
    if (has_form(g, p, &languages[k]))
      tn_text_add(out, "%s&form_%s_%s", n++ ? ", " : "", id, languages[k].id);
  tn_text_add(out,
              "};\nstatic const tn_program program_%s = {\n    .head = TN_HEAD(tn_program),\n"
              "    .name = \"%s\",\n    .constants = \"",
              id, p->name);
  gen_gpu_emit_constants(out, p);
  tn_text_add(out, "\",\n    .forms = forms_%s,\n    .n_forms = %d,\n};\n", id, n);
  return true;
}

/* Kernels may have been left out (select.c). */
static bool is_used(const gen *g, const char *family) {
  for (int64_t k = 0; k < g->kernels.n; k++)
    if (g->kernels.data[k].record && !strcmp(g->kernels.data[k].family, family)) return true;
  return false;
}

static bool compile_all(gen *g) {
  gen_compiles c = {.n = 0};
  bool ok = true;
  for (int64_t k = 0; k < g->programs.n && ok; k++)
    if (is_used(g, g->programs.data[k].family)) ok = compile(g, &c, &g->programs.data[k]);
  return gen_compiles_end(&c) && ok;
}

bool gen_emit_programs(gen *g, tn_text *out) {
  if (!compile_all(g)) return false;
  if (g->programs.n) /* the texts of programs are longer than C promises to take */
    tn_text_add(out, "\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n");
  for (int64_t k = 0; k < g->programs.n; k++)
    if (is_used(g, g->programs.data[k].family) && !emit_program(g, out, &g->programs.data[k]))
      return false;
  for (int64_t f = 0; f < g->families.n; f++) {
    const char *family = g->families.data[f];
    if (!gen_n_programs(g, family) || !is_used(g, family)) continue;
    tn_text_add(out, "static const tn_program *const programs_%s[] = {\n", family);
    for (int64_t k = 0; k < g->programs.n; k++)
      if (!strcmp(g->programs.data[k].family, family))
        tn_text_add(out, "    &program_%s_%s,\n", family, g->programs.data[k].name);
    tn_text_add(out, "};\n");
  }
  return true;
}

void gen_emit_program_numbers(gen *g, tn_text *out, const char *family) {
  int64_t n = 0;
  if (!gen_n_programs(g, family)) return;
  tn_text_add(out, "\n/* The programs of the family's GPU kernels. */\nenum {");
  for (int64_t k = 0; k < g->programs.n; k++)
    if (!strcmp(g->programs.data[k].family, family))
      tn_text_add(out, "%s GPU_%s = %" PRId64, n ? "," : "", g->programs.data[k].name, n), n++;
  tn_text_add(out, " };\n");
}
