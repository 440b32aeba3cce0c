/* A library of wgpu-native of another version, as gpu_faults.sh opens one. */
#include <stdint.h>

uint32_t wgpuGetVersion(void);

__attribute__((visibility("default"))) uint32_t wgpuGetVersion(void) { return WGPU_VERSION; }
