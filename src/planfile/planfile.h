/* What the files of this room share: a plan file that has been read. */
#ifndef TN_PLANFILE_PLANFILE_H
#define TN_PLANFILE_PLANFILE_H

#include <stdbool.h>

#include "base/alloc.h"
#include "planfile/format.h"
#include "tenon/experimental/plan_file.h"

typedef struct tn_file_value {
  tn_tensor tensor; /* what calls point to */
  tn_place_kind place;
  uint64_t offset;
  int32_t index;
} tn_file_value;

typedef struct tn_file_step {
  const tn_kernel *kernel;
  tn_call call;
  uint32_t n_stages, n_followers; /* the followers are the next steps */
  bool makes_state, has_state;    /* prepare() is to be called; has been */
  int64_t items[TN_MAX_STAGES], chunk[TN_MAX_STAGES], elements_per_item;
} tn_file_step;

typedef struct tn_file_port {
  const char *name;
  int32_t slot;
} tn_file_port;

struct tn_plan_file {
  tn_arena memory; /* all below */
  const uint8_t *data;
  uint64_t size;
  bool is_mapped;
  void *arena;
  uint64_t arena_bytes;
  tn_file_value *values;
  tn_file_step *steps;
  tn_file_port *inputs, *outputs;
  int32_t n_values, n_steps, n_inputs, n_outputs;
};

extern const tn_host tn_plan_file_host;

/* Reads what p->data holds into p. */
tn_status tn_plan_file_read(tn_plan_file *p, const tn_plugin *parts, tn_plan_why *why);
/* a, and b between quotes if it is not NULL. */
tn_status tn_plan_why_set(tn_plan_why *why, tn_status status, const char *a, const char *b);

#endif
