/* GPU kernels as compute shaders: GLSL for Vulkan and for WebGPU, compiled to SPIR-V while Tenon is
 * built, and GLSL ES 3.10. There are no pointers, so each buffer gets accessors of its own:
 * LD1(A, i) becomes LD1_A(i). Storage is a constant, S_A (a specialisation constant, or a macro of
 * ES): what is not meant goes when the program is built. */
#include <ctype.h>
#include <string.h>

#include "gpu_emit.h"

/* ---- what kernels see ---- */

static const char words[] =
    "#define f32x4 vec4\n"
    "#define F32X4(s) vec4(s)\n"
    "#define MAKE4(a, b, c, d) vec4(a, b, c, d)\n"
    "#define LOCAL_ID(d) int(gl_LocalInvocationID[d])\n"
    "#define UNROLL\n"
    "#define BARRIER() { memoryBarrierBuffer(); memoryBarrierShared(); barrier(); }\n"
    "#define BITS_TO_FLOAT(i) intBitsToFloat(i)\n"
    "#define FLOAT_TO_BITS(x) floatBitsToInt(x)\n"
    "#define INFINITY uintBitsToFloat(0x7f800000u)\n"
    "#define IS_NAN(x) ((floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u)\n"
    "#define KEEP_NAN(x, y) (IS_NAN(x) ? (x) : (y))\n" /* drivers make max() of comparisons */
    "#define TO_FLOAT(i) float(i)\n"
    "#define TO_INT(x) int(x)\n"
    "#define TO_I64(x) i64(x)\n"
    "#define LOCAL4(p, i) vec4((p)[i], (p)[(i) + 1], (p)[(i) + 2], (p)[(i) + 3])\n";

/* ---- buffers: @ is the name ---- */

/* As they lie in memory: words, and what is less. */
static const char vulkan_views[] =
    "layout(std430, binding = #) % buffer @w_ { uint @_32[]; };\n"
    "layout(std430, binding = #) % buffer @h_ { uint16_t @_16[]; };\n"
    "layout(std430, binding = #) % buffer @b_ { uint8_t @_8[]; };\n"
    "uint U16_@(int i) { return uint(@_16[i]); }\n"
    "uint U8_@(int i) { return uint(@_8[i]); }\n";
static const char vulkan_small_stores[] =
    "void P16_@(int i, uint v) { @_16[i] = uint16_t(v); }\n"
    "void P8_@(int i, uint v) { @_8[i] = uint8_t(v); }\n";

/* ES and WebGPU have words alone. Others may store into the same word: a store changes its own
 * bits, by what they differ in, and nobody else writes these. */
static const char es_views[] =
    "layout(std430, binding = #) % buffer @w_ { uint @_32[]; };\n"
    "uint U16_@(int i) { return @_32[i >> 1] >> ((i & 1) * 16) & 0xffffu; }\n"
    "uint U8_@(int i) { return @_32[i >> 2] >> ((i & 3) * 8) & 0xffu; }\n";
/* All may be written: WebGPU refuses a buffer that one command both reads and writes, but takes it
 * where both say that they write. */
static const char webgpu_views[] =
    "layout(std430, binding = #) buffer @w_ { uint @_32[]; };\n"
    "uint U16_@(int i) { return @_32[i >> 1] >> ((i & 1) * 16) & 0xffffu; }\n"
    "uint U8_@(int i) { return @_32[i >> 2] >> ((i & 3) * 8) & 0xffu; }\n";
static const char word_small_stores[] =
    "void P16_@(int i, uint v) { atomicXor(@_32[i >> 1], (U16_@(i) ^ (v & 0xffffu)) << ((i & 1) * "
    "16)); }\n"
    "void P8_@(int i, uint v) { atomicXor(@_32[i >> 2], (U8_@(i) ^ (v & 0xffu)) << ((i & 3) * 8)); "
    "}\n";

static const char loads[] =
    "float LD1_@(int i) {\n"
    "  if (S_@ == 1) return uintBitsToFloat(@_32[i]);\n"
    "  if (S_@ == 3) return unpackHalf2x16(U16_@(i)).x;\n"
    "  if (S_@ == 4) return uintBitsToFloat(U16_@(i) << 16);\n"
    "  if (S_@ == 5) return float(extend(U8_@(i), 24));\n"
    "  if (S_@ == 6) return float(extend(U16_@(i), 16));\n"
    "  if (S_@ == 7) return float(int(@_32[i]));\n"
    "  if (S_@ == 8) return i64_to_f32(uvec2(@_32[2 * i], @_32[2 * i + 1]), true);\n"
    "  if (S_@ == 9 || S_@ == 13) return float(U8_@(i));\n"
    "  if (S_@ == 10) return float(U16_@(i));\n"
    "  if (S_@ == 11) return float(@_32[i]);\n"
    "  if (S_@ == 12) return i64_to_f32(uvec2(@_32[2 * i], @_32[2 * i + 1]), false);\n"
    "  return 0.0f;\n"
    "}\n"
    "vec4 LD4_@(int i) { return vec4(LD1_@(i), LD1_@(i + 1), LD1_@(i + 2), LD1_@(i + 3)); }\n"
    "int LDI_@(int i) {\n"
    "  if (S_@ == 7 || S_@ == 11) return int(@_32[i]);\n"
    "  if (S_@ == 8) return i64_to_int(uvec2(@_32[2 * i], @_32[2 * i + 1]));\n"
    "  return int(LD1_@(i));\n"
    "}\n"
    "int LDQ_@(int i) {\n"
    "  int shift = (i & 3) * 8;\n"
    "  uint quad = @_32[i >> 2];\n"
    "  if (shift != 0) quad = quad >> shift | @_32[(i >> 2) + 1] << (32 - shift);\n"
    "  return int(S_@ == 9 ? quad ^ 0x80808080u : quad);\n"
    "}\n"
    /* bits as they are, to be moved */
    "uvec2 GET_@(int i) {\n"
    "  if (S_@ == 2 || S_@ == 8 || S_@ == 12) return uvec2(@_32[2 * i], @_32[2 * i + 1]);\n"
    "  if (S_@ == 1 || S_@ == 7 || S_@ == 11) return uvec2(@_32[i], 0u);\n"
    "  if (S_@ == 3 || S_@ == 4 || S_@ == 6 || S_@ == 10) return uvec2(U16_@(i), 0u);\n"
    "  return uvec2(S_@ == 0 ? 0u : U8_@(i), 0u);\n"
    "}\n";

static const char stores[] =
    "void PUT_@(int i, uvec2 v) {\n"
    "  if (S_@ == 2 || S_@ == 8 || S_@ == 12) {\n"
    "    @_32[2 * i] = v.x;\n"
    "    @_32[2 * i + 1] = v.y;\n"
    "  } else if (S_@ == 1 || S_@ == 7 || S_@ == 11) {\n"
    "    @_32[i] = v.x;\n"
    "  } else if (S_@ == 3 || S_@ == 4 || S_@ == 6 || S_@ == 10) {\n"
    "    P16_@(i, v.x);\n"
    "  } else if (S_@ != 0) {\n"
    "    P8_@(i, v.x);\n"
    "  }\n"
    "}\n"
    "void ST1_@(int i, float v) {\n"
    "  if (S_@ == 1) @_32[i] = floatBitsToUint(v);\n"
    "  if (S_@ == 3) P16_@(i, f32_to_f16(v));\n"
    "  if (S_@ == 4) P16_@(i, f32_to_bf16(v));\n"
    "  if (S_@ == 5) P8_@(i, uint(f32_to_int(v, -128.0f, 127.0f)));\n"
    "  if (S_@ == 6) P16_@(i, uint(f32_to_int(v, -32768.0f, 32767.0f)));\n"
    "  if (S_@ == 7) @_32[i] = uint(f32_to_i32(v));\n"
    "  if (S_@ == 8) PUT_@(i, f32_to_i64(v, true));\n"
    "  if (S_@ == 9) P8_@(i, uint(f32_to_int(v, 0.0f, 255.0f)));\n"
    "  if (S_@ == 10) P16_@(i, uint(f32_to_int(v, 0.0f, 65535.0f)));\n"
    "  if (S_@ == 11) @_32[i] = f32_to_u32(v);\n"
    "  if (S_@ == 12) PUT_@(i, f32_to_i64(v, false));\n"
    "  if (S_@ == 13) P8_@(i, v != 0.0f ? 1u : 0u);\n"
    "}\n"
    "void ST4_@(int i, vec4 v) {\n"
    "  ST1_@(i, v.x);\n"
    "  ST1_@(i + 1, v.y);\n"
    "  ST1_@(i + 2, v.z);\n"
    "  ST1_@(i + 3, v.w);\n"
    "}\n"
    "void STI_@(int i, int v) {\n"
    "  if (S_@ == 1 || S_@ == 3 || S_@ == 4) ST1_@(i, float(v));\n"
    "  else PUT_@(i, uvec2(uint(v), uint(v >> 31)));\n"
    "}\n";

/* Only where the kernel asks for them: not every device has integers of 64 bits. What is shorter is
 * put together of two words: lavapipe compares extended integers with constants as if they had no
 * sign. */
static const char long_load[] =
    "i64 LDL_@(int i) {\n"
    "  if (S_@ == 8 || S_@ == 12) return i64(uint64_t(@_32[2 * i]) | uint64_t(@_32[2 * i + 1]) << "
    "32);\n"
    "  if (S_@ == 11) return i64(@_32[i]);\n"
    "  int word = LDI_@(i);\n"
    "  return i64(uint64_t(uint(word)) | uint64_t(uint(word >> 31)) << 32);\n"
    "}\n";
static const char long_store[] =
    "void STL_@(int i, i64 v) { PUT_@(i, uvec2(uint(v), uint(v >> 32))); }\n";
/* An i64 of ES is an int: it holds what is shorter. */
static const char es_long_load[] =
    "#if S_@ == 7 || S_@ == 8 || S_@ == 11 || S_@ == 12\n"
    "#error OpenGL ES has no integers of 64 bits\n"
    "#endif\n"
    "int LDL_@(int i) { return LDI_@(i); }\n";
static const char es_long_store[] =
    "#if S_@ == 7 || S_@ == 8 || S_@ == 11 || S_@ == 12\n"
    "#error OpenGL ES has no integers of 64 bits\n"
    "#endif\n"
    "void STL_@(int i, int v) { PUT_@(i, uvec2(uint(v), 0u)); }\n";

static const char plain_dot4[] = "#define DOT4(a, b, c) dot4_(a, b, c)\n";
/* The driver says by constant 1000 whether the device has OpSDot, and takes it out where it has
 * not. */
static const char vulkan_dot4[] =
    "spirv_instruction(extensions = [\"SPV_KHR_integer_dot_product\"], "
    "capabilities = [6018, 6019], id = 4450)\n"
    "int sdot_(int a, int b, spirv_literal int format);\n"
    "layout(constant_id = 1000) const int HAS_DOT4 = 0;\n"
    "#define DOT4(a, b, c) (HAS_DOT4 != 0 ? (c) + sdot_(a, b, 0) : dot4_(a, b, c))\n";

/* Threads of a subgroup run in step and read each other's values. The driver says by constant 1001
 * how many they are, 0 where they cannot. */
static const char vulkan_lanes[] =
    "layout(constant_id = 1001) const int LANES = 0;\n"
    "#define LANE int(gl_SubgroupInvocationID)\n"
    "#define FROM_LANE(x, k) subgroupBroadcast(x, uint(k))\n";

typedef enum params_kind { PUSHED, BLOCK, BLOCK_BEHIND } params_kind;

typedef struct flavour {
  const char *views, *small_stores, *long_load, *long_store, *words, *dot4, *lanes;
  params_kind params;
  bool names_files; /* in #line */
} flavour;
static const flavour vulkan = {
    vulkan_views,
    vulkan_small_stores,
    long_load,
    long_store,
    "#define GLOBAL(d) int(gl_GlobalInvocationID[d])\n#define GROUP(d) int(gl_WorkGroupID[d])\n"
    "#define EXACT precise\n",
    vulkan_dot4,
    vulkan_lanes,
    PUSHED,
    true};
/* base_: where the groups of this dispatch begin */
static const flavour es = {
    es_views,
    word_small_stores,
    es_long_load,
    es_long_store,
    "precision highp float;\nprecision highp int;\nuniform ivec3 base_;\n#define EXACT\n"
    "#define GROUP(d) (int(gl_WorkGroupID[d]) + base_[d])\n"
    "#define GLOBAL(d) (GROUP(d) * int(gl_WorkGroupSize[d]) + LOCAL_ID(d))\n",
    plain_dot4,
    gen_gpu_no_lanes,
    BLOCK,
    false};
/* Constants that are no numbers are errors of WebGPU: their bits go through a variable. It has no
 * products of 64 bits either. */
static const flavour webgpu = {
    webgpu_views,
    word_small_stores,
    long_load,
    long_store,
    "#define EXACT precise\n"
    "#define GROUP(d) (int(gl_WorkGroupID[d]) + params_.base_[d])\n"
    "#define GLOBAL(d) (GROUP(d) * int(gl_WorkGroupSize[d]) + LOCAL_ID(d))\n"
    "uint no_bits_ = 0u;\n"
    "#define uintBitsToFloat(x) uintBitsToFloat((x) | no_bits_)\n"
    "void wide_product(uint a, uint b, out uint high, out uint low) {\n"
    "  uint al = a & 0xffffu, ah = a >> 16, bl = b & 0xffffu, bh = b >> 16;\n"
    "  uint m = ah * bl + (al * bl >> 16), n = al * bh + (m & 0xffffu);\n"
    "  high = ah * bh + (m >> 16) + (n >> 16);\n"
    "  low = a * b;\n"
    "}\n"
    "uint wide_sum(uint a, uint b, out uint carry) {\n"
    "  carry = a + b < a ? 1u : 0u;\n"
    "  return a + b;\n"
    "}\n"
    "#define umulExtended(a, b, high, low) wide_product(a, b, high, low)\n"
    "#define uaddCarry(a, b, carry) wide_sum(a, b, carry)\n",
    plain_dot4,
    gen_gpu_no_lanes,
    BLOCK_BEHIND,
    true};

static void emit_for_buffer(tn_text *out, const char *text, const char *name, const char *access,
                            int binding) {
  for (const char *p = text; *p; p++) {
    if (*p == '@')
      tn_text_add(out, "%s", name);
    else if (*p == '#' && p[1] == ')')
      tn_text_add(out, "%d", binding);
    else if (*p == '%' && p[1] == ' ' && p[2] == 'b')
      tn_text_add(out, "%s", access);
    else
      tn_text_add_bytes(out, p, 1);
  }
}

/* ---- kernels' lines ---- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* LD1(A, -> LD1_A( */
static const char *const accessors[] = {"LD1", "LD4", "LDI", "LDL", "LDQ",
                                        "ST1", "ST4", "STI", "STL"};

static bool is_accessor(const char *p, size_t n) {
  for (size_t k = 0; k < sizeof accessors / sizeof *accessors; k++)
    if (n == strlen(accessors[k]) && !memcmp(p, accessors[k], n)) return true;
  return false;
}

/* The word behind "(" at p, and what stands behind the "," that follows it; NULL: there is none. */
static const char *take_name(const char *p, const char **out_name, int *out_n) {
  p += *p == '(';
  p += strspn(p, " \n");
  *out_name = p;
  while (is_word(*p)) p++;
  *out_n = (int)(p - *out_name);
  p += strspn(p, " \n");
  return *out_n && *p == ',' ? p + 1 + strspn(p + 1, " \n") : NULL;
}

/* Of "a, (b, c), d" behind the first: its end. */
static const char *argument_end(const char *p) {
  for (int depth = 0; *p && (depth || (*p != ',' && *p != ')')); p++)
    depth += (*p == '(') - (*p == ')');
  return p;
}

static void emit_lines(tn_text *out, const char *p, const char *end);

/* MOVE(A, i, B, j) -> PUT_A(i, GET_B(j)); answers what stands behind it. */
static const char *emit_move(tn_text *out, const char *p) {
  const char *to, *from, *place;
  int n_to, n_from;
  if (!(place = take_name(p, &to, &n_to))) return NULL;
  const char *end = argument_end(place);
  tn_text_add(out, "PUT_%.*s(", n_to, to);
  emit_lines(out, place, end);
  if (*end != ',' || !(place = take_name(end + 1, &from, &n_from))) return NULL;
  end = argument_end(place);
  tn_text_add(out, ", GET_%.*s(", n_from, from);
  emit_lines(out, place, end);
  tn_text_add(out, "))");
  return *end ? end + 1 : NULL;
}

static void emit_lines(tn_text *out, const char *p, const char *end) {
  while (p < end) {
    const char *begin = p, *name, *next;
    int n;
    while (p < end && is_word(*p)) p++;
    const size_t length = (size_t)(p - begin);
    if (length == 4 && *p == '(' && !memcmp(begin, "MOVE", 4) && (next = emit_move(out, p))) {
      p = next;
    } else if (*p == '(' && is_accessor(begin, length) && (next = take_name(p, &name, &n))) {
      tn_text_add(out, "%.*s_%.*s(", (int)length, begin, n, name);
      p = next;
    } else if (length) {
      tn_text_add_bytes(out, begin, (int64_t)length);
    } else {
      tn_text_add_bytes(out, p++, 1);
    }
  }
}

/* LOCAL(float, a, 64); lines stand first in the body, and outside of functions here. */
static const char *emit_local(tn_text *out, const char *body) {
  for (;;) {
    const char *p = body + strspn(body, " \n"), *type, *name;
    int n_type, n_name;
    if (strncmp(p, "LOCAL(", 6) != 0) return body;
    const char *next = take_name(p + 5, &type, &n_type);
    if (!next || !(next = take_name(next - 1 + (*(next - 1) == '('), &name, &n_name))) return body;
    const char *end = argument_end(next);
    tn_text_add(out, "shared %.*s %.*s[%.*s];\n", n_type, type, n_name, name, (int)(end - next),
                next);
    body = end + strspn(end, ");");
  }
}

/* ---- a shader ---- */

static void emit_constant(tn_text *out, const char *name, int *n) {
  tn_text_add(out, "layout(constant_id = %d) const int %s = 0;\n", (*n)++, name);
}

/* As gen_gpu_emit_constants has them. */
static void emit_constants(gen *g, tn_text *out, const gen_program *p) {
  int n = 0;
  tn_text list;
  tn_text_init(&list, g->a);
  gen_gpu_emit_constants(&list, p);
  if (list.status) gen_need(NULL);
  for (const char *word = tn_text_get(&list); *word; word += *word == ' ') {
    const size_t size = strcspn(word, ":");
    emit_constant(out, gen_need(tn_arena_strn(&g->arena, word, (int64_t)size)), &n);
    word += strcspn(word, " ");
  }
  tn_text_free(&list);
}

static bool uses(const gen_program *p, const char *word) {
  return strstr(p->body, word) || strstr(p->common, word);
}

/* LDL(A, ...) or STL(A, ...) */
static bool has_long(gen *g, const gen_program *p, const char *name) {
  return uses(p, gen_format_text(g, "LDL(%s,", name)) ||
         uses(p, gen_format_text(g, "STL(%s,", name));
}

static void emit_buffer(gen *g, tn_text *out, const flavour *f, const gen_program *p,
                        const char *name, bool is_out, int binding) {
  const char *access = !is_out ? "readonly" : uses(p, "BARRIER(") ? "coherent" : "";
  const bool is_long = has_long(g, p, name);
  emit_for_buffer(out, f->views, name, access, binding);
  emit_for_buffer(out, loads, name, access, binding);
  if (is_long) emit_for_buffer(out, f->long_load, name, access, binding);
  if (is_out) emit_for_buffer(out, f->small_stores, name, access, binding);
  if (is_out) emit_for_buffer(out, stores, name, access, binding);
  if (is_out && is_long) emit_for_buffer(out, f->long_store, name, access, binding);
}

static int emit_buffers(gen *g, tn_text *out, const flavour *f, const gen_program *p) {
  int n = 0;
  for (int64_t k = 0; k < p->args.n; k++)
    if (gen_gpu_is_buffer(&p->args.data[k]))
      emit_buffer(g, out, f, p, p->args.data[k].name, p->args.data[k].kind == GEN_GPU_OUT, n++);
  for (int k = 0; k < GEN_GPU_OPERANDS && gen_gpu_has_epilogue(p); k++)
    emit_buffer(g, out, f, p, gen_format_text(g, "E%d", k), false, n++);
  return n;
}

/* Devices have room for 128 bytes of push constants; more is a buffer behind the others. WebGPU has
 * a block there, with base_ in it. */
static void emit_params(tn_text *out, const flavour *f, const gen_program *p, int binding) {
  enum { MOST_PUSHED = 32 };
  const int n = gen_gpu_n_params(p);
  if (f->params == BLOCK_BEHIND)
    tn_text_add(out, "layout(std140, binding = %d) uniform params_type_ { ivec4 base_;", binding);
  else if (!n)
    return;
  else if (f->params == BLOCK)
    tn_text_add(out, "layout(std140, binding = 0) uniform params_type_ {");
  else if (n <= MOST_PUSHED)
    tn_text_add(out, "layout(push_constant) uniform params_type_ {");
  else
    tn_text_add(out, "layout(std430, binding = %d) readonly buffer params_type_ {", binding);
  gen_gpu_emit_params(out, p, false);
  tn_text_add(out, " } params_;\n");
}

/* What GEN_GPU_EPILOGUE functions need of macros that paste words: written out. */
static void emit_epilogue(tn_text *out) {
  for (int k = 0; k < GEN_GPU_OPERANDS; k++)
    tn_text_add(out, "#define FUSED_AT%d(i) (EM%d != 0 ? (i) / ei%d %% ex%d : (i))\n", k, k, k, k);
  tn_text_add(out,
              "#define FUSED_OPERAND(o, i) (o == 0 ? LD1_E0(FUSED_AT0(i)) : o == 1 ? "
              "LD1_E1(FUSED_AT1(i)) : 0.0f)\n#define EPILOGUE1(y, i) {");
  for (int k = 0; k < GEN_GPU_STEPS; k++)
    tn_text_add(out, " if (EK%d != 0) y = fused1(EK%d, y, FUSED_OPERAND(EO%d, i), ea%d, eb%d);", k,
                k, k, k, k);
  tn_text_add(out,
              " }\n#define EPILOGUE4(y, i) { EPILOGUE1(y.x, (i)) EPILOGUE1(y.y, (i) + 1) "
              "EPILOGUE1(y.z, (i) + 2) EPILOGUE1(y.w, (i) + 3) }\n");
}

/* NaN, infinities and the sign of 0 are kept (SignedZeroInfNanPreserve of 32 bits); drivers take
 * that out where a device does not have it. */
static const char vulkan_extensions[] =
    "#extension GL_EXT_spirv_intrinsics : require\n"
    "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], "
    "capabilities = [4466], 4461, 32);\n"
    "#extension GL_EXT_shader_8bit_storage : require\n"
    "#extension GL_EXT_shader_16bit_storage : require\n";

static void emit_extensions(tn_text *out, const gen_program *p, const char *more) {
  tn_text_add(out, "#version 450\n%s#extension GL_GOOGLE_cpp_style_line_directive : require\n",
              more);
  if (uses(p, "i64"))
    tn_text_add(out,
                "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
                "#define i64 int64_t\n");
}

static void emit(gen *g, tn_text *out, const flavour *f, const gen_program *p) {
  tn_text_add(out, "layout(local_size_x = %s, local_size_y = %s, local_size_z = %s) in;\n",
              p->group[0], p->group[1], p->group[2]);
  tn_text_add(out, "%s%s", f->words, words);
  for (int k = 0; gen_glsl_functions[k]; k++) tn_text_add(out, "%s", gen_glsl_functions[k]);
  if (uses(p, "DOT4(")) tn_text_add(out, "%s%s", gen_gpu_dot4, f->dot4);
  if (uses(p, "FROM_LANE(")) tn_text_add(out, "%s", f->lanes);
  tn_text_add(out, "%s", gen_gpu_functions);
  const int n_buffers = emit_buffers(g, out, f, p);
  emit_params(out, f, p, n_buffers);
  if (gen_gpu_has_epilogue(p)) {
    tn_text_add(out, "%s", gen_gpu_fused);
    emit_epilogue(out);
  }
  emit_lines(out, p->common, p->common + strlen(p->common));
  const char *body = emit_local(out, p->body);
  tn_text_add(out, "void main() {");
  gen_gpu_emit_params(out, p, true);
  tn_text_add(out, "\n#line %d", p->line);
  if (f->names_files) tn_text_add(out, " \"%s\"", p->path);
  tn_text_add(out, "\n");
  emit_lines(out, body, body + strlen(body));
}

void gen_gpu_emit_glsl(gen *g, tn_text *out, const gen_program *p) {
  emit_extensions(out, p, vulkan_extensions);
  if (uses(p, "FROM_LANE("))
    tn_text_add(out, "#extension GL_KHR_shader_subgroup_ballot : require\n");
  emit_constants(g, out, p);
  emit(g, out, &vulkan, p);
}

void gen_gpu_emit_glsl_webgpu(gen *g, tn_text *out, const gen_program *p) {
  emit_extensions(out, p, "");
  emit_constants(g, out, p);
  emit(g, out, &webgpu, p);
}

void gen_gpu_emit_glsl_es(gen *g, tn_text *out, const gen_program *p) {
  if (uses(p, "i64")) tn_text_add(out, "#define i64 int\n");
  emit(g, out, &es, p);
}
