/* GPU kernels as programs in CUDA C++, without its headers: what OpenCL C has built in and the
 * accessors need is defined here, the accessors are those of OpenCL C. */
#include "gpu_emit.h"

static const char words[] =
    "typedef unsigned char uchar;\n"
    "typedef unsigned short ushort;\n"
    "typedef unsigned int uint;\n"
    "typedef unsigned long ulong;\n"
    "typedef ushort half;\n"
    "typedef long i64;\n"
    "struct __align__(16) f32x4 { float x, y, z, w; };\n"
    "f32x4 MAKE4(float a, float b, float c, float d) {\n"
    "  f32x4 v; v.x = a; v.y = b; v.z = c; v.w = d; return v;\n"
    "}\n"
    "f32x4 F32X4(float s) { return MAKE4(s, s, s, s); }\n"
    "#define OPERATOR(o) \\\n"
    "f32x4 operator o(f32x4 a, f32x4 b) { \\\n"
    "  return MAKE4(a.x o b.x, a.y o b.y, a.z o b.z, a.w o b.w); \\\n"
    "} \\\n"
    "f32x4 operator o(f32x4 a, float b) { return a o F32X4(b); } \\\n"
    "f32x4 operator o(float a, f32x4 b) { return F32X4(a) o b; } \\\n"
    "f32x4 &operator o##=(f32x4 &a, f32x4 b) { return a = a o b; }\n"
    "OPERATOR(+)\n"
    "OPERATOR(-)\n"
    "OPERATOR(*)\n"
    "#define CAT_(a, b) a##b\n"
    "#define CAT(a, b) CAT_(a, b)\n"
    "#define AXIS_0 x\n"
    "#define AXIS_1 y\n"
    "#define AXIS_2 z\n"
    "#define LOCAL_ID(d) ((int)threadIdx.AXIS_##d)\n"
    "#define GROUP(d) ((int)blockIdx.AXIS_##d)\n"
    "#define GLOBAL(d) ((int)(blockIdx.AXIS_##d * blockDim.AXIS_##d + threadIdx.AXIS_##d))\n"
    "#define LOCAL(T, name, n) __shared__ __align__(16) T name[n]\n"
    "#define BARRIER() __syncthreads()\n"
    "#define UNROLL _Pragma(\"unroll\")\n"
    "#define BITS_TO_FLOAT(i) __int_as_float(i)\n"
    "#define FLOAT_TO_BITS(x) __float_as_int(x)\n"
    "#define INFINITY __int_as_float(0x7f800000)\n"
    "#define IS_NAN(x) ((__float_as_int(x) & 0x7fffffff) > 0x7f800000)\n"
    "#define KEEP_NAN(x, y) (y)\n"
    "#define TO_FLOAT(i) (float)(i)\n"
    "#define TO_INT(x) (int)(x)\n"
    "#define TO_I64(x) (i64)(x)\n"
    "#define ERF(x) erff(x)\n"
    "#define EXACT\n"
    "#define ATTRIBUTES\n" /* of the kernel; a CUDA_KERNEL may define it anew */
    "#define LOCAL4(p, i) vload4(0, (p) + (i))\n"
    "#if __CUDA_ARCH__ >= 610\n"
    "int dp4a_(int a, int b, int c) { int d; asm(\"dp4a.s32.s32 %0, %1, %2, %3;\" : \"=r\"(d) : "
    "\"r\"(a), \"r\"(b), \"r\"(c)); return d; }\n"
    "#define DOT4(a, b, c) dp4a_(a, b, c)\n"
    "#else\n"
    "#define DOT4(a, b, c) dot4_(a, b, c)\n"
    "#endif\n";

/* What the accessors take of OpenCL C. */
static const char as_opencl[] =
    "#define __global\n"
    "float half_to_f32(ushort h) { float f; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h)); "
    "return f; }\n"
    "ushort f32_to_half(float f) { ushort h; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : "
    "\"f\"(f)); return h; }\n"
    "float vload_half(int i, const half *p) { return half_to_f32(p[i]); }\n"
    "void vstore_half(float v, int i, half *p) { p[i] = f32_to_half(v); }\n"
    "f32x4 vload4(int, const float *p) { return *(const f32x4 *)p; }\n"
    "void vstore4(f32x4 v, int, float *p) { *(f32x4 *)p = v; }\n"
    "struct __align__(8) half4 { half x, y, z, w; };\n"
    "f32x4 vload_half4(int, const half *p) { half4 h = *(const half4 *)p; return "
    "MAKE4(half_to_f32(h.x), half_to_f32(h.y), half_to_f32(h.z), half_to_f32(h.w)); }\n"
    "void vstore_half4(f32x4 v, int, half *p) { half4 h; h.x = f32_to_half(v.x); h.y = "
    "f32_to_half(v.y); h.z = f32_to_half(v.z); h.w = f32_to_half(v.w); *(half4 *)p = h; }\n"
    "int saturate(float x, float lo, float hi) {\n"
    "  return IS_NAN(x) ? 0 : (int)(x < lo ? lo : x > hi ? hi : x);\n"
    "}\n"
    "signed char convert_char_sat_rtz(float x) { return (signed char)saturate(x, -128.0f, 127.0f); "
    "}\n"
    "uchar convert_uchar_sat_rtz(float x) { return (uchar)saturate(x, 0.0f, 255.0f); }\n"
    "short convert_short_sat_rtz(float x) { return (short)saturate(x, -32768.0f, 32767.0f); }\n"
    "ushort convert_ushort_sat_rtz(float x) { return (ushort)saturate(x, 0.0f, 65535.0f); }\n"
    "int convert_int_sat_rtz(float x) { return __float2int_rz(x); }\n" /* these saturate */
    "uint convert_uint_sat_rtz(float x) { return __float2uint_rz(x); }\n"
    "long convert_long_sat_rtz(float x) { return IS_NAN(x) ? 0 : (long)__float2ll_rz(x); }\n"
    "ulong convert_ulong_sat_rtz(float x) { return IS_NAN(x) ? 0 : (ulong)__float2ull_rz(x); }\n";

static void emit_head(tn_text *out, const gen_program *p) {
  const char *const *group = p->group;
  tn_text_add(out, "extern \"C\" __constant__ int group_[3] = {%s, %s, %s};\nstruct params_type_ {",
              group[0], group[1], group[2]);
  gen_gpu_emit_params(out, p, false);
  tn_text_add(
      out,
      " };\nextern \"C\" __global__ void ATTRIBUTES __launch_bounds__((%s) * (%s) * (%s))\n%s(",
      group[0], group[1], group[2], p->name);
  gen_gpu_emit_buffers(out, p);
  tn_text_add(out, "params_type_ params_)\n{");
  gen_gpu_emit_params(out, p, true);
  tn_text_add(out, "\n#line %d \"%s\"\n", p->line, p->path);
}

void gen_gpu_emit_cuda(gen *g, tn_text *out, const gen_program *p) {
  (void)g;
  if (strstr(p->body, "EXACT") || strstr(p->common, "EXACT"))
    tn_text_add(out, "#pragma STDC FP_CONTRACT OFF\n"); /* what the driver makes an option of */
  tn_text_add(out, "%s%s%s%s%s%s", words, as_opencl, gen_gpu_macros, gen_gpu_dot4, gen_gpu_no_lanes,
              gen_gpu_functions);
  if (gen_gpu_has_epilogue(p)) tn_text_add(out, "%s%s", gen_gpu_fused, gen_gpu_fused_macros);
  tn_text_add(out, "%s", p->common);
  emit_head(out, p);
  tn_text_add(out, "%s", p->body);
}
