/* Plan files as files: mapped, so that constants are read where they lie, and shared. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "planfile/planfile.h"

tn_status tn_plan_file_map(const char *path, const tn_plugin *(*query)(uint32_t, uint32_t),
                           tn_plan_why *why, tn_plan_file **out_plan) {
  if (!path || !out_plan) return TN_ERR_INVALID;
  *out_plan = NULL;
  struct stat st;
  void *data = MAP_FAILED;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (fd >= 0) close(fd);
  if (data == MAP_FAILED) return tn_plan_why_set(why, TN_ERR_IO, "cannot be read:", path);
  const tn_status status = tn_plan_file_open(data, (uint64_t)st.st_size, query, why, out_plan);
  if (status)
    munmap(data, (size_t)st.st_size);
  else
    (*out_plan)->is_mapped = true;
  return status;
}

void tn_plan_file_close(tn_plan_file *p) {
  if (!p) return;
  for (int32_t k = 0; k < p->n_steps; k++)
    if (p->steps[k].has_state && p->steps[k].kernel->finish)
      p->steps[k].kernel->finish(&p->steps[k].call);
  if (p->is_mapped) munmap((void *)(uintptr_t)p->data, (size_t)p->size);
  tn_free(p->memory.a, p->arena, p->arena_bytes);
  tn_arena_clear(&p->memory);
  tn_free(tn_default_allocator(), p, sizeof *p);
}
