/* GPU kernels as programs, in each language that devices take. A language is a prelude, which gives
 * the words of the dialect their meaning, and a way to write the head of a kernel. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"

/* What kernels with EPILOGUE take besides: two operands, up to four steps. As in gpu.h. */
enum { STEPS = 4, OPERANDS = 2 };

typedef struct language {
  const char *name;
  const char *prelude, *functions, *epilogue; /* epilogue: of kernels that have one */
  void (*emit_head)(tn_text *out, const gen_program *p);
} language;

/* ---- what all languages share ---- */

static bool is_buffer(const gen_gpu_arg *a) {
  return a->kind == GEN_GPU_IN || a->kind == GEN_GPU_OUT;
}

static bool has_epilogue(const gen_program *p) {
  for (int64_t k = 0; k < p->args.n; k++)
    if (p->args.data[k].kind == GEN_GPU_EPILOGUE) return true;
  return false;
}

/* "S_A:dtype S_B:dtype K:int": the dtypes of all buffers, what is fused, and the kernel's own. */
static void emit_constants(tn_text *out, const gen_program *p) {
  const char *space = "";
  for (int64_t k = 0; k < p->args.n; k++) {
    if (!is_buffer(&p->args.data[k])) continue;
    tn_text_add(out, "%sS_%s:dtype", space, p->args.data[k].name);
    space = " ";
  }
  if (has_epilogue(p)) {
    for (int k = 0; k < OPERANDS; k++) tn_text_add(out, " S_E%d:dtype", k);
    for (int k = 0; k < STEPS; k++) tn_text_add(out, " EK%d:int EO%d:int", k, k);
    for (int k = 0; k < OPERANDS; k++) tn_text_add(out, " EM%d:int", k);
  }
  for (int64_t k = 0; k < p->args.n; k++)
    if (p->args.data[k].kind == GEN_GPU_CONST)
      tn_text_add(out, "%s%s:int", space, p->args.data[k].name);
}

/* ---- OpenCL C ---- */

/* Accessors find the storage of a buffer by its constant S_<name>, the number of its dtype; 0: the
 * argument is left out. Halves are ushorts, since not every device can assign them. */
static const char opencl_prelude[] =
    "typedef float4 f32x4;\n"
    "#define CAT_(a, b) a##b\n"
    "#define CAT(a, b) CAT_(a, b)\n"
    "#define F32X4(s) ((float4)(s))\n"
    "#define MAKE4(a, b, c, d) ((float4)((a), (b), (c), (d)))\n"
    "#define GLOBAL(d) ((int)get_global_id(d))\n"
    "#define LOCAL_ID(d) ((int)get_local_id(d))\n"
    "#define GROUP(d) ((int)get_group_id(d))\n"
    "#define LOCAL(T, name, n) __local T name[n]\n"
    "#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n"
    "#define BITS_TO_FLOAT(i) as_float(i)\n"
    "#define FLOAT_TO_BITS(x) as_int(x)\n"
    "#define IS_NAN(x) isnan(x)\n"
    "#define TO_FLOAT(i) convert_float(i)\n"
    "#define TO_INT(x) (int)(x)\n"
    "#define LOCAL4(p, i) vload4(0, (p) + (i))\n"
    "float bf16_to_f32(ushort h) { return as_float((uint)h << 16); }\n"
    "ushort f32_to_bf16(float x) {\n"
    "  uint u = as_uint(x);\n"
    "  return isnan(x) ? (ushort)(u >> 16 | 64) : (ushort)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
    "}\n"
    "int low_word(long x) { return x > 2147483647 ? 2147483647 : x < -2147483647 - 1 ?"
    " -2147483647 - 1 : (int)x; }\n"
    "#define T_0 float\n"
    "#define T_1 float\n"
    "#define T_2 ulong\n"
    "#define T_3 ushort\n"
    "#define T_4 ushort\n"
    "#define T_5 char\n"
    "#define T_6 short\n"
    "#define T_7 int\n"
    "#define T_8 long\n"
    "#define T_9 uchar\n"
    "#define T_10 ushort\n"
    "#define T_11 uint\n"
    "#define T_12 ulong\n"
    "#define T_13 uchar\n"
    "#define LD1_0(p, i) 0.0f\n"
    "#define LD1_1(p, i) (p)[i]\n"
    "#define LD1_3(p, i) vload_half(i, (__global const half *)(p))\n"
    "#define LD1_4(p, i) bf16_to_f32((p)[i])\n"
    "#define LD1_5(p, i) (float)(p)[i]\n"
    "#define LD1_6 LD1_5\n"
    "#define LD1_7 LD1_5\n"
    "#define LD1_8 LD1_5\n"
    "#define LD1_9 LD1_5\n"
    "#define LD1_10 LD1_5\n"
    "#define LD1_11 LD1_5\n"
    "#define LD1_12 LD1_5\n"
    "#define LD1_13 LD1_5\n"
    "#define ST1_0(p, i, v) (void)(v)\n"
    "#define ST1_1(p, i, v) (p)[i] = (v)\n"
    "#define ST1_3(p, i, v) vstore_half(v, i, (__global half *)(p))\n"
    "#define ST1_4(p, i, v) (p)[i] = f32_to_bf16(v)\n"
    "#define ST1_5(p, i, v) (p)[i] = convert_char_sat_rtz(v)\n"
    "#define ST1_6(p, i, v) (p)[i] = convert_short_sat_rtz(v)\n"
    "#define ST1_7(p, i, v) (p)[i] = convert_int_sat_rtz(v)\n"
    "#define ST1_8(p, i, v) (p)[i] = convert_long_sat_rtz(v)\n"
    "#define ST1_9(p, i, v) (p)[i] = convert_uchar_sat_rtz(v)\n"
    "#define ST1_10(p, i, v) (p)[i] = convert_ushort_sat_rtz(v)\n"
    "#define ST1_11(p, i, v) (p)[i] = convert_uint_sat_rtz(v)\n"
    "#define ST1_12(p, i, v) (p)[i] = convert_ulong_sat_rtz(v)\n"
    "#define ST1_13(p, i, v) (p)[i] = (v) != 0\n"
    "#define LD4_0(p, i) F32X4(0.0f)\n"
    "#define LD4_1(p, i) vload4(0, (p) + (i))\n"
    "#define LD4_3(p, i) vload_half4(0, (__global const half *)(p) + (i))\n"
    "#define LD4_4(p, i) MAKE4(LD1_4(p, i), LD1_4(p, (i) + 1), LD1_4(p, (i) + 2), "
    "LD1_4(p, (i) + 3))\n"
    "#define ST4_1(p, i, v) vstore4(v, 0, (p) + (i))\n"
    "#define ST4_3(p, i, v) vstore_half4(v, 0, (__global half *)(p) + (i))\n"
    "#define ST4_4(p, i, v) { f32x4 v4_ = (v); ST1_4(p, i, v4_.x); ST1_4(p, (i) + 1, v4_.y);"
    " ST1_4(p, (i) + 2, v4_.z); ST1_4(p, (i) + 3, v4_.w); }\n"
    "#define LDI_0(p, i) 0\n"
    "#define LDI_1(p, i) (int)(p)[i]\n"
    "#define LDI_3(p, i) (int)LD1_3(p, i)\n"
    "#define LDI_4(p, i) (int)LD1_4(p, i)\n"
    "#define LDI_5(p, i) (int)(p)[i]\n"
    "#define LDI_6 LDI_5\n"
    "#define LDI_7 LDI_5\n"
    "#define LDI_8(p, i) low_word((p)[i])\n"
    "#define LDI_9 LDI_5\n"
    "#define LDI_10 LDI_5\n"
    "#define LDI_11 LDI_5\n"
    "#define LDI_13 LDI_5\n"
    "#define LDL_0(p, i) 0\n"
    "#define LDL_5(p, i) (long)(p)[i]\n"
    "#define LDL_6 LDL_5\n"
    "#define LDL_7 LDL_5\n"
    "#define LDL_8 LDL_5\n"
    "#define LDL_9 LDL_5\n"
    "#define LDL_10 LDL_5\n"
    "#define LDL_11 LDL_5\n"
    "#define LDL_12 LDL_5\n"
    "#define LDL_13 LDL_5\n"
    "typedef long i64;\n"
    "#define LDL(A, i) CAT(LDL_, S_##A)(A, i)\n"
    "#define STL(A, i, v) (A)[i] = (v)\n"
    "#define LD1(A, i) CAT(LD1_, S_##A)(A, i)\n"
    "#define ST1(A, i, v) CAT(ST1_, S_##A)(A, i, v)\n"
    "#define LD4(A, i) CAT(LD4_, S_##A)(A, i)\n"
    "#define ST4(A, i, v) CAT(ST4_, S_##A)(A, i, v)\n"
    "#define LDI(A, i) CAT(LDI_, S_##A)(A, i)\n"
    "#define STI(A, i, v) (A)[i] = (v)\n"
    "#define MOVE(A, i, B, j) (A)[i] = (B)[j]\n"
    "#define ERF(x) erf(x)\n";

static const char opencl_functions[] =
    "float sigmoid1(float x) { float e = exp(-fabs(x)); return (x < 0.0f ? e : 1.0f) / (1.0f + e); "
    "}\n"
    "float clamp1(float x, float a, float b) { x = x < a ? a : x; return x > b ? b : x; }\n"
    /* these have no product of infinity and 0 in them, and 1 + tanh(u) / 2 keeps small numbers */
    "float swish1(float x, float a) {\n"
    "  float u = a * x, h = exp(0.5f * u);\n"
    "  if (!(u < 0.0f)) return x * sigmoid1(u);\n"
    "  return h > 0.0f ? x * h * h / (1.0f + h * h) : x < 0.0f ? -0.0f : 0.0f;\n"
    "}\n"
    "float silu1(float x) { return swish1(x, 1.0f); }\n"
    "float hard_swish1(float x) { return x <= -3.0f ? -0.0f : x * clamp1(x / 6.0f + 0.5f, 0.0f, "
    "1.0f); }\n"
    "float gelu1(float x) { return x < -14.0f ? -0.0f : 0.5f * x * (1.0f + ERF(x * 0.70710678f)); "
    "}\n"
    "float gelu_tanh1(float x) { return x < -14.0f ? -0.0f : x * sigmoid1(1.59576912f * (x + "
    "0.044715f * x * x * x)); }\n";

static const char opencl_epilogue[] =
    "float fused1(int kind, float y, float t, float a, float b) {\n"
    "  switch (kind) {\n"
    "    case 1: return y < 0.0f ? 0.0f : y;\n"
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
    "}\n"
    "#define FUSED_AT(k, i) (EM##k ? (i) / ei##k % ex##k : (i))\n"
    "#define FUSED_OPERAND(o, i) (o == 0 ? LD1(E0, FUSED_AT(0, i)) : o == 1 ? "
    "LD1(E1, FUSED_AT(1, i)) : 0.0f)\n"
    "#define FUSED_STEP(k, y, i) "
    "if (EK##k) y = fused1(EK##k, y, FUSED_OPERAND(EO##k, i), ea##k, eb##k);\n"
    "#define EPILOGUE1(y, i) { FUSED_STEP(0, y, i) FUSED_STEP(1, y, i) FUSED_STEP(2, y, i) "
    "FUSED_STEP(3, y, i) }\n"
    "#define EPILOGUE4(y, i) { EPILOGUE1(y.x, (i)) EPILOGUE1(y.y, (i) + 1) EPILOGUE1(y.z, (i) + 2) "
    "EPILOGUE1(y.w, (i) + 3) }\n";

static const char *param_type(const gen_gpu_arg *a) {
  return a->kind == GEN_GPU_INT ? "int" : a->kind == GEN_GPU_FLOAT ? "float" : NULL;
}

/* Members of the struct of params, or, with `from`, locals that are set from it. */
static void emit_params(tn_text *out, const gen_program *p, bool from) {
  for (int64_t k = 0; k < p->args.n; k++) {
    const gen_gpu_arg *a = &p->args.data[k];
    if (!param_type(a)) continue;
    if (from)
      tn_text_add(out, " const %s %s = params_.%s;", param_type(a), a->name, a->name);
    else
      tn_text_add(out, " %s %s;", param_type(a), a->name);
  }
  static const struct {
    const char *type, *name;
    int n;
  } fused[] = {{"float", "ea", STEPS},
               {"float", "eb", STEPS},
               {"int", "ei", OPERANDS},
               {"int", "ex", OPERANDS}};
  for (size_t f = 0; f < sizeof fused / sizeof *fused && has_epilogue(p); f++)
    for (int k = 0; k < fused[f].n; k++) {
      tn_text_add(out, from ? " const %s %s%d" : " %s %s%d", fused[f].type, fused[f].name, k);
      if (from) tn_text_add(out, " = params_.%s%d", fused[f].name, k);
      tn_text_add(out, ";");
    }
}

static void emit_opencl_buffers(tn_text *out, const gen_program *p) {
  for (int64_t k = 0; k < p->args.n; k++) {
    const gen_gpu_arg *a = &p->args.data[k];
    if (is_buffer(a))
      tn_text_add(out, "__global %sCAT(T_, S_%s) *%s, ", a->kind == GEN_GPU_IN ? "const " : "",
                  a->name, a->name);
  }
  for (int k = 0; k < OPERANDS && has_epilogue(p); k++)
    tn_text_add(out, "__global const CAT(T_, S_E%d) *E%d, ", k, k);
}

static void emit_opencl_head(tn_text *out, const gen_program *p) {
  tn_text_add(out, "typedef struct {");
  emit_params(out, p, false);
  tn_text_add(out, " } params_type_;\n__kernel __attribute__((reqd_work_group_size(%s, %s, %s)))\n",
              p->group[0], p->group[1], p->group[2]);
  tn_text_add(out, "void %s(", p->name);
  emit_opencl_buffers(out, p);
  tn_text_add(out, "params_type_ params_)\n{");
  emit_params(out, p, true);
  tn_text_add(out, "\n#line %d\n", p->line);
}

static const language languages[] = {
    {"opencl-c", opencl_prelude, opencl_functions, opencl_epilogue, emit_opencl_head}};
enum { N_LANGUAGES = sizeof languages / sizeof *languages };

/* ---- tables ---- */

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

static void emit_form(gen *g, tn_text *out, const gen_program *p, const char *id, int index) {
  const language *l = &languages[index];
  tn_text head;
  tn_text_init(&head, g->a);
  l->emit_head(&head, p);
  if (head.status) gen_need(NULL);
  tn_text_add(out, "static const char text_%s_%d[] =", id, index);
  emit_lines(g, out, l->prelude);
  emit_lines(g, out, l->functions);
  if (has_epilogue(p)) emit_lines(g, out, l->epilogue);
  emit_lines(g, out, p->common);
  emit_lines(g, out, head.data);
  emit_lines(g, out, p->body);
  tn_text_add(out,
              ";\nstatic const tn_program_form form_%s_%d = {\n    TN_HEAD(tn_program_form), "
              "\"%s\", text_%s_%d, sizeof text_%s_%d - 1};\n",
              id, index, l->name, id, index, id, index);
  tn_text_free(&head);
}

static void emit_program(gen *g, tn_text *out, const gen_program *p) {
  const char *id = gen_format_text(g, "%s_%s", p->family, p->name);
  for (int k = 0; k < N_LANGUAGES; k++) emit_form(g, out, p, id, k);
  tn_text_add(out, "static const tn_program_form *const forms_%s[] = {", id);
  for (int k = 0; k < N_LANGUAGES; k++) tn_text_add(out, "%s&form_%s_%d", k ? ", " : "", id, k);
  tn_text_add(out,
              "};\nstatic const tn_program program_%s = {\n    .head = TN_HEAD(tn_program),\n"
              "    .name = \"%s\",\n    .constants = \"",
              id, p->name);
  emit_constants(out, p);
  tn_text_add(out, "\",\n    .forms = forms_%s,\n    .n_forms = %d,\n};\n", id, (int)N_LANGUAGES);
}

/* Kernels may have been left out (select.c). */
static bool is_used(const gen *g, const char *family) {
  for (int64_t k = 0; k < g->kernels.n; k++)
    if (g->kernels.data[k].record && !strcmp(g->kernels.data[k].family, family)) return true;
  return false;
}

void gen_emit_programs(gen *g, tn_text *out) {
  if (g->programs.n) /* the texts of programs are longer than C promises to take */
    tn_text_add(out, "\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n");
  for (int64_t k = 0; k < g->programs.n; k++)
    if (is_used(g, g->programs.data[k].family)) emit_program(g, out, &g->programs.data[k]);
  for (int64_t f = 0; f < g->families.n; f++) {
    const char *family = g->families.data[f];
    if (!gen_n_programs(g, family) || !is_used(g, family)) continue;
    tn_text_add(out, "static const tn_program *const programs_%s[] = {\n", family);
    for (int64_t k = 0; k < g->programs.n; k++)
      if (!strcmp(g->programs.data[k].family, family))
        tn_text_add(out, "    &program_%s_%s,\n", family, g->programs.data[k].name);
    tn_text_add(out, "};\n");
  }
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
