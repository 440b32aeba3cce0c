/* What the machine offers, asked from the CPU and the operating system each time: callers keep the
 * answer. */
#include "base/cpu.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#endif

typedef struct isa_name {
  uint64_t bit;
  const char *name;
} isa_name;

static const isa_name isa_names[] = {
    {TN_ISA_SSE41, "sse41"},
    {TN_ISA_AVX, "avx"},
    {TN_ISA_AVX2, "avx2"},
    {TN_ISA_AVX512, "avx512"},
    {TN_ISA_AVX512_VNNI, "avx512_vnni"},
    {TN_ISA_AVX512_BF16, "avx512_bf16"},
    {TN_ISA_AVX_VNNI, "avx_vnni"},
    {TN_ISA_AVX512_FP16, "avx512_fp16"},
    {TN_ISA_AMX_INT8, "amx_int8"},
    {TN_ISA_AMX_BF16, "amx_bf16"},
    {TN_ISA_NEON, "neon"},
    {TN_ISA_NEON_DOT, "neon_dot"},
    {TN_ISA_NEON_F16, "neon_f16"},
    {TN_ISA_NEON_I8MM, "neon_i8mm"},
    {TN_ISA_NEON_BF16, "neon_bf16"},
    {TN_ISA_SVE, "sve"},
    {TN_ISA_SVE2, "sve2"},
    {TN_ISA_RVV, "rvv"},
    {TN_ISA_RVV_F16, "rvv_f16"},
};

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Register sets that the operating system saves: bits 1, 2 SSE and AVX; 5, 6, 7 AVX-512; 17, 18
 * AMX. */
static uint32_t saved_registers(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static int has(uint32_t word, int bit) { return word >> bit & 1; }

/* Linux saves tiles for processes that have asked for it (ARCH_REQ_XCOMP_PERM for XTILEDATA; see
 * its Documentation/arch/x86/xstate.rst). Threads share the permission; asking twice is legal. It
 * is refused where a thread has a signal stack that is too small for them. */
static bool may_use_tiles(void) {
#if defined(__linux__) && defined(__x86_64__)
  enum { REQUEST = 0x1023, TILE_DATA = 18 };
  return (saved_registers() & 0x60000) == 0x60000 &&
         syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
  return false;
#endif
}

/* Intel's manual, volume 2, CPUID leaves 1 and 7. */
uint64_t tn_cpu_isa(void) {
  uint32_t a, b, c, d, c1, a71 = 0, c7 = 0, b7 = 0, d7 = 0;
  uint64_t isa = 0;
  if (!__get_cpuid(1, &a, &b, &c1, &d)) return 0;
  uint32_t saved = has(c1, 27) ? saved_registers() : 0;
  if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) && a >= 1) {
    __get_cpuid_count(7, 1, &a71, &b, &c, &d);
  }
  if (has(c1, 19)) isa |= TN_ISA_SSE41;
  if ((saved & 0x6) != 0x6 || !has(c1, 28)) return isa;
  isa |= TN_ISA_AVX;
  if (!has(b7, 5) || !has(c1, 12) || !has(c1, 29)) return isa;
  isa |= TN_ISA_AVX2;
  if (has(a71, 4)) isa |= TN_ISA_AVX_VNNI;
  int avx512 = has(b7, 16) && has(b7, 17) && has(b7, 28) && has(b7, 30) && has(b7, 31);
  if ((saved & 0xE0) != 0xE0 || !avx512) return isa;
  isa |= TN_ISA_AVX512;
  if (has(c7, 11)) isa |= TN_ISA_AVX512_VNNI;
  if (has(a71, 5)) isa |= TN_ISA_AVX512_BF16;
  if (has(d7, 23)) isa |= TN_ISA_AVX512_FP16;
  if (has(d7, 24) && may_use_tiles())
    isa |= (has(d7, 25) ? TN_ISA_AMX_INT8 : 0) | (has(d7, 22) ? TN_ISA_AMX_BF16 : 0);
  return isa;
}

#elif defined(__aarch64__) && defined(__linux__)

/* Bits of AT_HWCAP and AT_HWCAP2 as in Linux' asm/hwcap.h. */
uint64_t tn_cpu_isa(void) {
  unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
  uint64_t isa = TN_ISA_NEON;
  if (cap >> 20 & 1) isa |= TN_ISA_NEON_DOT;
  if (cap >> 10 & 1) isa |= TN_ISA_NEON_F16;
  if (cap2 >> 13 & 1) isa |= TN_ISA_NEON_I8MM;
  if (cap2 >> 14 & 1) isa |= TN_ISA_NEON_BF16;
  if (cap >> 22 & 1) isa |= TN_ISA_SVE;
  if (cap2 >> 1 & 1) isa |= TN_ISA_SVE2;
  return isa;
}

#elif defined(__aarch64__)

/* Elsewhere: what the compiler was told that every machine has. */
uint64_t tn_cpu_isa(void) {
  uint64_t isa = TN_ISA_NEON;
#if defined(__ARM_FEATURE_DOTPROD)
  isa |= TN_ISA_NEON_DOT;
#endif
#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
  isa |= TN_ISA_NEON_F16;
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
  isa |= TN_ISA_NEON_I8MM;
#endif
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  isa |= TN_ISA_NEON_BF16;
#endif
#if defined(__ARM_FEATURE_SVE)
  isa |= TN_ISA_SVE;
#endif
#if defined(__ARM_FEATURE_SVE2)
  isa |= TN_ISA_SVE2;
#endif
  return isa;
}

#elif defined(__riscv) && defined(__linux__)

/* Extensions without a letter are told by riscv_hwprobe (258): its key 4 has Zvfh as bit 30. Linux
 * before 6.4 has no such call. */
static bool has_zvfh(void) {
  struct {
    int64_t key;
    uint64_t value;
  } pair = {4, 0};
  return syscall(258, &pair, (size_t)1, (size_t)0, NULL, 0) == 0 && pair.key == 4 &&
         (pair.value >> 30 & 1);
}

uint64_t tn_cpu_isa(void) {
  if (!(getauxval(AT_HWCAP) >> ('V' - 'A') & 1)) return 0;
  return TN_ISA_RVV | (has_zvfh() ? TN_ISA_RVV_F16 : 0);
}

#else

uint64_t tn_cpu_isa(void) { return 0; }

#endif

int32_t tn_cpu_cores(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > INT16_MAX ? INT16_MAX : (int32_t)n;
}

uint64_t tn_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

const char *tn_isa_text(uint64_t isa, char *buf, uint64_t size) {
  uint64_t used = 0;
  if (size) buf[0] = 0;
  for (size_t i = 0; i < sizeof isa_names / sizeof *isa_names; i++) {
    if (!(isa & isa_names[i].bit) || used >= size) continue;
    int n = snprintf(buf + used, (size_t)(size - used), "%s%s", used ? " " : "", isa_names[i].name);
    used += n > 0 ? (uint64_t)n : 0;
    isa &= ~isa_names[i].bit;
  }
  if (isa && used < size) /* of a later version */
    snprintf(buf + used, (size_t)(size - used), "%s0x%llx", used ? " " : "",
             (unsigned long long)isa);
  return buf;
}
