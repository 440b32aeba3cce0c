/* GPU kernels as programs in OpenCL C: macros give the words of the dialect their meaning. */
#include "gpu_emit.h"

static const char prelude[] =
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
    "#define UNROLL _Pragma(\"unroll\")\n"
    "#define BITS_TO_FLOAT(i) as_float(i)\n"
    "#define FLOAT_TO_BITS(x) as_int(x)\n"
    "#define IS_NAN(x) isnan(x)\n"
    "#define KEEP_NAN(x, y) (y)\n"
    "#define TO_FLOAT(i) convert_float(i)\n"
    "#define TO_INT(x) (int)(x)\n"
    "#define TO_I64(x) (long)(x)\n"
    "#define LOCAL4(p, i) vload4(0, (p) + (i))\n"
    "#define ERF(x) erf(x)\n"
    "#define EXACT\n" /* products within one expression only are fused with sums */
    "typedef long i64;\n"
    "#ifdef cl_khr_integer_dot_product\n"
    "#define DOT4(a, b, c) ((c) + dot_4x8packed_ss_int((uint)(a), (uint)(b)))\n"
    "#else\n"
    "#define DOT4(a, b, c) dot4_(a, b, c)\n"
    "#endif\n";

/* Accessors find the storage of a buffer by its constant S_<name>, the number of its dtype; 0: the
 * argument is left out. Halves are ushorts, since not every device can assign them. */
const char gen_gpu_macros[] =
    "float bf16_to_f32(ushort h) { return BITS_TO_FLOAT((uint)h << 16); }\n"
    "ushort f32_to_bf16(float x) {\n"
    "  uint u = FLOAT_TO_BITS(x);\n"
    "  return IS_NAN(x) ? (ushort)(u >> 16 | 64) : (ushort)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
    "}\n"
    "int low_word(long x) { return x > 2147483647 ? 2147483647 : x < -2147483647 - 1 ?"
    " -2147483647 - 1 : (int)x; }\n"
    "int quad_(__global const int *p, int i) {\n"
    "  int shift = (i & 3) * 8;\n"
    "  uint low = (uint)p[i >> 2];\n"
    "  return (int)(shift ? low >> shift | (uint)p[(i >> 2) + 1] << (32 - shift) : low);\n"
    "}\n"
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
    "#define LDQ(A, i) (quad_((__global const int *)(A), i) ^ (S_##A == 9 ? (int)0x80808080 : 0))\n"
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
    "#define LDL(A, i) CAT(LDL_, S_##A)(A, i)\n"
    "#define STL(A, i, v) (A)[i] = (v)\n"
    "#define LD1(A, i) CAT(LD1_, S_##A)(A, i)\n"
    "#define ST1(A, i, v) CAT(ST1_, S_##A)(A, i, v)\n"
    "#define LD4(A, i) CAT(LD4_, S_##A)(A, i)\n"
    "#define ST4(A, i, v) CAT(ST4_, S_##A)(A, i, v)\n"
    "#define LDI(A, i) CAT(LDI_, S_##A)(A, i)\n"
    "#define STI(A, i, v) (A)[i] = (v)\n"
    "#define MOVE(A, i, B, j) (A)[i] = (B)[j]\n";

const char gen_gpu_fused_macros[] =
    "#define FUSED_AT(k, i) (EM##k ? (i) / ei##k % ex##k : (i))\n"
    "#define FUSED_OPERAND(o, i) (o == 0 ? LD1(E0, FUSED_AT(0, i)) : o == 1 ? "
    "LD1(E1, FUSED_AT(1, i)) : 0.0f)\n"
    "#define FUSED_STEP(k, y, i) "
    "if (EK##k) y = fused1(EK##k, y, FUSED_OPERAND(EO##k, i), ea##k, eb##k);\n"
    "#define EPILOGUE1(y, i) { FUSED_STEP(0, y, i) FUSED_STEP(1, y, i) FUSED_STEP(2, y, i) "
    "FUSED_STEP(3, y, i) }\n"
    "#define EPILOGUE4(y, i) { EPILOGUE1(y.x, (i)) EPILOGUE1(y.y, (i) + 1) EPILOGUE1(y.z, (i) + 2) "
    "EPILOGUE1(y.w, (i) + 3) }\n";

void gen_gpu_emit_buffers(tn_text *out, const gen_program *p) {
  for (int64_t k = 0; k < p->args.n; k++) {
    const gen_gpu_arg *a = &p->args.data[k];
    if (gen_gpu_is_buffer(a))
      tn_text_add(out, "__global %sCAT(T_, S_%s) *%s, ", a->kind == GEN_GPU_IN ? "const " : "",
                  a->name, a->name);
  }
  for (int k = 0; k < GEN_GPU_OPERANDS && gen_gpu_has_epilogue(p); k++)
    tn_text_add(out, "__global const CAT(T_, S_E%d) *E%d, ", k, k);
}

static void emit_head(tn_text *out, const gen_program *p) {
  tn_text_add(out, "typedef struct {");
  gen_gpu_emit_params(out, p, false);
  tn_text_add(out, " } params_type_;\n__kernel __attribute__((reqd_work_group_size(%s, %s, %s)))\n",
              p->group[0], p->group[1], p->group[2]);
  tn_text_add(out, "void %s(", p->name);
  gen_gpu_emit_buffers(out, p);
  tn_text_add(out, "params_type_ params_)\n{");
  gen_gpu_emit_params(out, p, true);
  tn_text_add(out, "\n#line %d\n", p->line);
}

void gen_gpu_emit_opencl(gen *g, tn_text *out, const gen_program *p) {
  (void)g;
  tn_text_add(out, "%s%s%s%s%s", prelude, gen_gpu_macros, gen_gpu_dot4, gen_gpu_no_lanes,
              gen_gpu_functions);
  if (gen_gpu_has_epilogue(p)) tn_text_add(out, "%s%s", gen_gpu_fused, gen_gpu_fused_macros);
  tn_text_add(out, "%s", p->common);
  emit_head(out, p);
  tn_text_add(out, "%s", p->body);
}
