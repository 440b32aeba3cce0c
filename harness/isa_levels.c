/* What a test needs before it starts: the runtime whose parts are tested, and the ISA levels of
 * this machine that some kernel names. */
#include "base/cpu.h"
#include "device/device.h"
#include "harness/harness.h"

/* ---- ISA levels ------------------------------------------------------------------------------ */

/* What a machine with these instruction sets has besides. */
static uint64_t implied(uint64_t isa) {
  if (isa & (TN_ISA_AVX512_VNNI | TN_ISA_AVX512_BF16 | TN_ISA_AVX512_FP16 | TN_ISA_AMX_INT8 |
             TN_ISA_AMX_BF16))
    isa |= TN_ISA_AVX512;
  if (isa & (TN_ISA_AVX512 | TN_ISA_AVX_VNNI)) isa |= TN_ISA_AVX2;
  if (isa & TN_ISA_AVX2) isa |= TN_ISA_AVX;
  if (isa & TN_ISA_AVX) isa |= TN_ISA_SSE41;
  if (isa & TN_ISA_SVE2) isa |= TN_ISA_SVE;
  if (isa & (TN_ISA_NEON_DOT | TN_ISA_NEON_F16 | TN_ISA_NEON_I8MM | TN_ISA_NEON_BF16 | TN_ISA_SVE))
    isa |= TN_ISA_NEON;
  if (isa & TN_ISA_RVV_F16) isa |= TN_ISA_RVV;
  return isa;
}

static void add_level(check_env *env, uint64_t named) {
  const uint64_t isa = implied(named);
  if (isa & ~tn_cpu_isa() || env->n_levels == CHECK_MAX_LEVELS) return;
  for (int32_t k = 0; k < env->n_levels; k++)
    if (env->levels[k].isa == isa) return;
  check_level *level = &env->levels[env->n_levels++];
  level->isa = isa;
  snprintf(level->name, sizeof level->name, "none");
  if (named) tn_isa_text(named, level->name, sizeof level->name);
}

static void find_levels(check_env *env) {
  add_level(env, 0);
  for (int32_t k = 0; k < tn_registry_n_kernels(env->runtime->registry); k++)
    add_level(env, tn_registry_kernel_at(env->runtime->registry, k)->kernel.isa);
  for (int32_t k = 1; k < env->n_levels; k++) /* fewest instruction sets first */
    for (int32_t i = k; i > 0 && env->levels[i - 1].isa > env->levels[i].isa; i--) {
      const check_level level = env->levels[i];
      env->levels[i] = env->levels[i - 1];
      env->levels[i - 1] = level;
    }
}

/* ---- the environment */

void check_open(check_env *env, tn_plugin_query_fn plugin) {
  env->plugin = plugin;
  if (!env->totals) env->totals = check_totals_new();
  env->pool = check_pool_new();
  env->runtime = check_runtime_new(env, UINT64_MAX, 1, NULL, NULL);
  const tn_registry *r = env->runtime->registry;
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    const tn_opdef *op = tn_registry_op_at(r, k);
    if (!*op->op.domain && op->op.since > env->newest) env->newest = op->op.since;
  }
  find_levels(env);
}

void check_level_close(check_level *level) {
  tn_device_close(level->device);
  tn_runtime_destroy(level->runtime);
  level->device = NULL;
  level->runtime = NULL;
}

void check_close(check_env *env) {
  for (int32_t k = 0; k < env->n_levels; k++) check_level_close(&env->levels[k]);
  tn_pool_destroy(env->threads);
  env->threads = NULL;
  tn_runtime_destroy(env->runtime);
  check_pool_free(env->pool);
  if (env->options.family)
    tn_free(tn_default_allocator(), env->options.family, env->options.family_bytes);
}
