/* Writing a planned model as C: what the files of this room share.
 *
 *   units.c     the plan's steps and followers, one by one, with their emitters; what cannot be
 *               written
 *   memory.c    which values live where in the arena of the C program
 *   values.c    constants, and the C expressions of values
 *   services.c  what emitters of operators call
 *   model.c     model.c, model.h and weights.c
 *   test.c      test.c and CMakeLists.txt
 *
 * The kernels of the plan are portable ones (--isa none, one thread), so what is written computes
 * the same bits as the library does with that option. */
#ifndef TN_EMIT_EMIT_H
#define TN_EMIT_EMIT_H

#include "base/text.h"
#include "exec/session.h"
#include "tenon/experimental/emit_c.h"

enum { EMIT_NAME = 40 };          /* bytes of a name */
enum { EMIT_STACK_BYTES = 2048 }; /* what a run may take: tests/emit/run.sh */

/* Lines of a file that ships with the command; NULL: there is none. */
typedef const char *const *(*emit_find_fn)(const char *path);

/* One call of a kernel. Followers are units of their own. */
typedef struct emit_unit {
  const tn_step *step;
  const tn_call *call;
  const tn_emitter *emitter;
  uint64_t scratch_bytes;
  uint64_t scratch_offset; /* in the arena */
} emit_unit;

static inline uint32_t emit_scratch_type(const emit_unit *u) {
  return u->emitter->scratch_type ? u->emitter->scratch_type : (uint32_t)TN_F32;
}

typedef struct emit_value { /* a slot of the plan */
  int32_t root;             /* the slot that owns the memory */
  uint64_t inside;          /* bytes from the root's start */
  int32_t first, last;      /* of a root in the arena: units between which it lives */
  int32_t buffer;           /* of a root in the arena: which live range; -1: none */
  int32_t output;           /* of a root: the model's output whose memory it lies in; -1: none */
  uint64_t offset;          /* of a root in the arena */
  int32_t weights;          /* number of its array in weights.c; -1: none */
} emit_value;

typedef struct emit_model {
  const tn_allocator *a;
  tn_arena memory; /* names, units, values, expressions */
  const tn_model *model;
  const tn_plan *plan;
  tn_diag *diag;
  tn_status status; /* TN_ERR_MEMORY once there was none */
  emit_find_fn find;
  const char *name;   /* what all names that are seen outside begin with */
  const char *title;  /* the model's file, for comments */
  const char *digest; /* SHA-256 of it, in hexadecimal; NULL: it is no single file */
  emit_unit *units;
  int32_t n_units;
  emit_value *values;
  uint64_t arena_bytes, weight_bytes;
  uint32_t arena_types; /* mask of dtypes that lie in the arena */
  bool exact;           /* no function of the C library whose last bit may differ */
  /* Names of the plan's inputs and outputs. Behind those of the model stand its states, whose
   * arrays the C program keeps: input n_inputs + k and output n_outputs + k are state k. */
  char (*inputs)[EMIT_NAME], (*outputs)[EMIT_NAME];
  int32_t n_inputs, n_outputs, n_states;
  /* model.c, in this order */
  bool uses_vmath;
  TN_VEC(const char *) done;                   /* names of code that is there */
  tn_text code, tables, states, resets, lines; /* resets: the body of the function for states */
  tn_text weights, declarations;               /* weights.c; the extern lines of weights.h */
  int32_t n_weights;
} emit_model;

/* Emitters of built-in operators: generated from ops/<family>/<x>_emit.c. Lists that end with
 * NULL. */
extern const tn_emitter *const *const emit_builtin[];

/* "float", "int8_t"; NULL: there is none for it. */
const char *emit_c_type(uint32_t dtype);
/* What the elements of a value between steps are written as: complex numbers as two of their parts,
 * all others as themselves. */
uint32_t emit_stored_type(uint32_t dtype);
/* The name of the arena as elements of this type: no keyword of any C or C++. */
const char *emit_arena_member(uint32_t dtype);
/* Elements as C, n of them, in lines. */
void emit_elements(tn_text *out, const tn_tensor *t);
/* A new array of weights.c; its number. */
int32_t emit_constant(emit_model *m, const tn_tensor *t);
/* "f32[1,3,224,224]" */
const char *emit_type_text(emit_model *m, const tn_tensor *t);

/* memory of the arena, zeroed; NULL sets status. */
void *emit_alloc(emit_model *m, uint64_t bytes);

/* The slot that owns the memory of this one. */
static inline int32_t emit_root(const emit_model *m, int32_t slot) {
  while (m->plan->slots[slot].alias_of >= 0) slot = m->plan->slots[slot].alias_of;
  return slot;
}

/* All refusals go to the diag: TN_ERR_UNSUPPORTED. session: one that has run. */
tn_status emit_find_units(emit_model *m, const tn_session *session);
tn_status emit_plan_memory(emit_model *m);
/* The C expression of the pointer to a slot's elements, constants becoming arrays as they are asked
 * for; to bytes of the arena. */
const char *emit_value_text(emit_model *m, int32_t slot);
const char *emit_arena_text(emit_model *m, uint32_t dtype, uint64_t offset);
/* code, tables, lines of all units, and of outputs that no unit writes in place. */
void emit_units(emit_model *m);
/* The arrays of the states, and what they hold before the first run: `initial`, of each. */
void emit_states(emit_model *m, const tn_tensor *const *initial);
/* The fused steps of a unit, behind it. */
void emit_epilogue(const tn_emit *e, const char *y);

/* model.c, model.h, weights.c ... as text. */
void emit_write_model(emit_model *m, tn_text *source, tn_text *header);
void emit_write_weights(emit_model *m, tn_text *source, tn_text *header);
/* inputs, outputs: of one run. */
void emit_write_test(emit_model *m, const tn_tensor *const *inputs, const tn_tensor *const *outputs,
                     tn_text *out);
void emit_write_cmake(emit_model *m, tn_text *out);

#endif
