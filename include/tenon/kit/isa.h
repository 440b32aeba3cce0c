/* Which instruction set a file is compiled for. The build compiles <name>_simd.c once for each
 * instruction set that has vectors (cmake/TenonIsa.cmake), and says which it is in TN_SIMD_ISA; a
 * file without one, <name>_c.c, is for any machine. */
#ifndef TN_KIT_ISA_H
#define TN_KIT_ISA_H

#ifndef TN_SIMD_ISA
#define TN_SIMD_ISA c
#endif

/* softmax_f32 -> softmax_f32_avx2: what {isa} makes of a name in YAML. */
#define TN_SIMD_NAME(name) TN_SIMD_NAME_OF(name, TN_SIMD_ISA)
#define TN_SIMD_NAME_OF(name, isa) TN_SIMD_NAME_JOIN(name, isa)
#define TN_SIMD_NAME_JOIN(name, isa) name##_##isa

/* As TN_SIMD_NAME, but of the instruction set whose copies of the kit's functions a file shares:
 * TN_KIT_ISA, where it is another one than its own (avx2 for avx_vnni). */
#ifndef TN_KIT_ISA
#define TN_KIT_ISA TN_SIMD_ISA
#endif
#define TN_KIT_ISA_NAME(name) TN_SIMD_NAME_OF(name, TN_KIT_ISA)

/* Of registers: how wide and how many of a compiler's vectors are best. TN_SIMD_HEADER: what
 * tenon/kit/simd.h includes, TN_DOT_HEADER: what tenon/kit/dot_simd.h does; there is none where a
 * file is for any machine. */
#if defined(__AVX512F__)
#define TN_REGISTER_BYTES 64
#define TN_REGISTERS 32
#define TN_SIMD_HEADER "tenon/kit/simd_avx512.h"
#define TN_DOT_HEADER "tenon/kit/dot_avx512.h"
#elif defined(__AVX2__)
#define TN_REGISTER_BYTES 32
#define TN_REGISTERS 16
#define TN_SIMD_HEADER "tenon/kit/simd_avx2.h"
#define TN_DOT_HEADER "tenon/kit/dot_avx2.h"
#elif defined(__ARM_NEON)
#define TN_REGISTER_BYTES 16
#define TN_REGISTERS 32
#define TN_SIMD_HEADER "tenon/kit/simd_neon.h"
#define TN_DOT_HEADER "tenon/kit/dot_neon.h"
#elif defined(__riscv_v)
#define TN_REGISTER_BYTES 16 /* or more: what all machines have */
#define TN_REGISTERS 32
#define TN_SIMD_HEADER "tenon/kit/simd_rvv.h"
#define TN_DOT_HEADER "tenon/kit/dot_rvv.h"
#else
#define TN_REGISTER_BYTES 16
#define TN_REGISTERS 16
#endif

#endif
