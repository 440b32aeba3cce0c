/* What the languages of GPU kernels share. */
#ifndef GEN_GPU_EMIT_H
#define GEN_GPU_EMIT_H

#include <sys/types.h>

#include "gen.h"

/* What kernels with EPILOGUE take besides: two operands, up to four steps. As in gpu.h. */
enum { GEN_GPU_STEPS = 4, GEN_GPU_OPERANDS = 2 };

/* ---- emit_gpu.c ---- */

/* Functions that kernels may call, what DOT4 is without an instruction for it, FROM_LANE where
 * threads do not read each other's values, and what fused steps are. */
extern const char gen_gpu_functions[], gen_gpu_dot4[], gen_gpu_no_lanes[], gen_gpu_fused[];
bool gen_gpu_is_buffer(const gen_gpu_arg *a);
bool gen_gpu_has_epilogue(const gen_program *p);
/* "S_A:dtype S_B:dtype K:int": the dtypes of all buffers, what is fused, and the kernel's own. */
void gen_gpu_emit_constants(tn_text *out, const gen_program *p);
/* Members of the struct of params, or, with `from`, locals that are set from it. */
void gen_gpu_emit_params(tn_text *out, const gen_program *p, bool from);
int gen_gpu_n_params(const gen_program *p);

/* ---- languages ---- */

/* gpu_opencl.c: OpenCL C 1.2. */
void gen_gpu_emit_opencl(gen *g, tn_text *out, const gen_program *p);
/* The accessors that it shares with CUDA C, and those of EPILOGUE. */
extern const char gen_gpu_macros[], gen_gpu_fused_macros[];
/* The buffers of a kernel, as its first arguments. CUDA C defines __global as nothing. */
void gen_gpu_emit_buffers(tn_text *out, const gen_program *p);
/* gpu_cuda.c: CUDA C++, as NVRTC takes it. */
void gen_gpu_emit_cuda(gen *g, tn_text *out, const gen_program *p);
/* gpu_glsl.c: a compute shader of Vulkan. */
void gen_gpu_emit_glsl(gen *g, tn_text *out, const gen_program *p);
/* The same of OpenGL ES 3.1, without its #version: constants are macros, which stand before it. */
void gen_gpu_emit_glsl_es(gen *g, tn_text *out, const gen_program *p);
/* The same of WebGPU: buffers are words, params are a uniform block behind them. */
void gen_gpu_emit_glsl_webgpu(gen *g, tn_text *out, const gen_program *p);
/* gpu_glsl_math.c: what its kernels may call, up to NULL. */
extern const char *const gen_glsl_functions[];
/* gpu_spirv.c: compiles to SPIR-V with g->glslang, in g->dir/spirv, where both stay, several at
 * once. begin takes the text; it and end answer false after a message. */
enum { GEN_MAX_COMPILES = 16 };
typedef struct gen_compile {
  pid_t pid;
  const char *in, *made, *out;
} gen_compile;
typedef struct gen_compiles {
  gen_compile running[GEN_MAX_COMPILES];
  int n;
} gen_compiles;
bool gen_compile_begin(gen *g, gen_compiles *c, const char *id, tn_text *glsl);
bool gen_compiles_end(gen_compiles *c); /* waits for all */
/* NULL after a message. */
const uint32_t *gen_compiled(gen *g, const char *id, int64_t *out_n);

/* ---- deflate.c ---- */

/* What a form ".deflate" holds; NULL: tenon-gen was built without zlib. */
const uint8_t *gen_deflate(gen *g, const void *data, uint64_t size, uint64_t *out_size);

#endif
