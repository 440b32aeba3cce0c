/* How the kit's functions are compiled. Those of inner loops are static inline. All others are
 * TN_KIT_FN: declared where they are described, with their bodies behind TN_KIT_BODIES at the end
 * of the header.
 *
 * A file that includes the kit gets its own copy of each TN_KIT_FN that it calls, so a plug-in
 * needs nothing but the headers. Tenon's own build defines TN_KIT_SHARED: its hundreds of files see
 * the declarations alone, and share the copies of src/base/kit.c.
 *
 * What is large and wants vectors is TN_KIT_ISA_FN: static in a plug-in, and in Tenon's own
 * build one copy for each instruction set (src/kit), known by TN_KIT_ISA_NAME. */
#ifndef TN_KIT_LINKAGE_H
#define TN_KIT_LINKAGE_H

/* In place of `{0}` and `{.one = member}`, of which C++ says that members are missing. */
#if defined(__cplusplus)
#define TN_KIT_ZERO \
  {}
#else
#define TN_KIT_ZERO \
  { 0 }
#endif

#if defined(__GNUC__)
#define TN_KIT_STATIC static __attribute__((noinline, unused))
#else
#define TN_KIT_STATIC static inline
#endif

#if defined(TN_KIT_SHARED)
#define TN_KIT_ISA_FN
#define TN_KIT_ISA_TABLE
#else
#define TN_KIT_ISA_FN TN_KIT_STATIC
#define TN_KIT_ISA_TABLE static
#define TN_KIT_ISA_BODIES
#endif

#if defined(TN_KIT_SHARED)
#define TN_KIT_FN
#else
#define TN_KIT_FN TN_KIT_STATIC
#define TN_KIT_BODIES
#endif

#endif
