/* Modules in use: checked against their parts, loaded by a dispatcher, run as islands. */
#include "accelerator/accelerator.h"

#include <stdio.h>
#include <string.h>

#include "base/abi.h"

/* ---- does it fit? ---- */

static bool is_same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->dtype == b->dtype && tn_same_shape(a, b);
}

static tn_status check_entry(const tn_module_entry *e, const tn_part *part, uint32_t index,
                             const char *who, tn_diag *diag) {
  char want[TN_TENSOR_TEXT], have[TN_TENSOR_TEXT];
  if ((int32_t)e->n_inputs != part->n_inputs || (int32_t)e->n_outputs != part->n_outputs)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: entry %u '%s' has %u inputs and %u outputs, its part has %d and %d", who,
                   index, e->name, e->n_inputs, e->n_outputs, part->n_inputs, part->n_outputs);
  for (uint32_t k = 0; k < e->n_inputs + e->n_outputs; k++) {
    const bool is_output = k >= e->n_inputs;
    const tn_graph *g = part->body;
    const int32_t value = is_output ? g->outputs.data[k - e->n_inputs] : g->inputs.data[k];
    const tn_tensor *type = tn_graph_val(g, value)->type;
    if (is_same_type(type, &e->ports[k])) continue;
    return tn_fail(diag, TN_ERR_SHAPE, "%s: entry %u '%s': %s %u is %s, its part has %s", who,
                   index, e->name, is_output ? "output" : "input", is_output ? k - e->n_inputs : k,
                   tn_tensor_text(&e->ports[k], have, sizeof have),
                   tn_tensor_text(type, want, sizeof want));
  }
  return TN_OK;
}

static tn_status check_entries(const tn_module_file *m, const tn_part *parts, uint32_t n_parts,
                               const char *who, tn_diag *diag) {
  if (m->n_entries != n_parts)
    return tn_fail(diag, TN_ERR_INVALID, "%s: it has %u entries for %u parts", who, m->n_entries,
                   n_parts);
  for (uint32_t k = 0; k < n_parts; k++) {
    const tn_status status = check_entry(&m->entries[k], &parts[k], k, who, diag);
    if (status) return status;
  }
  return TN_OK;
}

static const char *const verdict_texts[] = {NULL, "it runs; compiled again it would be faster",
                                            "it has to be compiled again", "it does not run here"};

static bool differs(const char *made, const char *here) {
  return made && here && *made && *here && strcmp(made, here);
}

/* What the compiler says of a module that was made for something else. */
static tn_status ask_compiler(const tn_accelerator *x, const tn_module_file *m, tn_diag *diag,
                              uint32_t *out_verdict) {
  const tn_compiler *c = &x->compiler->compiler;
  const tn_target target = {TN_HEAD(tn_target), m->target, x->target.hardware, m->kit};
  const tn_module module = {.head = TN_HEAD(tn_module),
                            .format = m->format,
                            .target = &target,
                            .size = m->size,
                            .alignment = m->alignment,
                            .stamp = m->stamp};
  tn_accelerator_talk t;
  tn_accelerator_talk_open(&t, x, x->compiler->owner, diag);
  const tn_status status =
      tn_accelerator_answer(&t, c->compatible(&t.call, &module, x->stamp, out_verdict));
  if (status)
    return tn_fail(diag, status,
                   "accelerator '%s': compiler '%s' does not say whether a module of stamp '%s' "
                   "runs on '%s': %s",
                   x->name, c->name, m->stamp, x->stamp, t.text);
  if (*out_verdict <= TN_VERDICT_NO) return TN_OK;
  return tn_fail(
      diag, TN_ERR_INVALID,
      "accelerator '%s': compiler '%s' answers verdict %u to compatible(), which is none", x->name,
      c->name, *out_verdict);
}

/* The compiler knows, if there is one that says so; else kit and stamp have to be the same. */
static tn_status check_stamp(const tn_accelerator *x, const tn_module_file *m, tn_diag *diag) {
  if (!differs(m->kit, x->target.sdk) && !differs(m->stamp, x->stamp)) return TN_OK;
  uint32_t verdict = TN_VERDICT_RECOMPILE;
  if (x->compiler && x->compiler->compiler.compatible) {
    const tn_status status = ask_compiler(x, m, diag, &verdict);
    if (status) return status;
  }
  if (verdict == TN_VERDICT_OPTIMAL) return TN_OK;
  const bool runs = verdict == TN_VERDICT_RUNS;
  tn_diag_add(diag, runs ? TN_DIAG_NOTE : TN_DIAG_ERROR,
              "accelerator '%s': a module was made for kit '%s' and stamp '%s', here are '%s' "
              "and '%s': %s",
              x->name, m->kit, m->stamp, x->target.sdk ? x->target.sdk : "", x->stamp,
              verdict_texts[verdict]);
  return runs ? TN_OK : TN_ERR_VERSION;
}

static tn_status check_target(const tn_accelerator *x, const tn_module_file *m, tn_diag *diag) {
  if (strcmp(m->target, x->name))
    return tn_fail(diag, TN_ERR_VERSION, "accelerator '%s': a module was made for target '%s'",
                   x->name, m->target);
  if (x->compiles_only) return TN_OK;
  if (strcmp(m->format, x->dispatcher->dispatcher.format))
    return tn_fail(diag, TN_ERR_VERSION,
                   "accelerator '%s': a module is of format '%s', dispatcher '%s' loads '%s'",
                   x->name, m->format, x->dispatcher->dispatcher.name,
                   x->dispatcher->dispatcher.format);
  return check_stamp(x, m, diag);
}

/* ---- loading ---- */

static tn_status list_ports(tn_arena *arena, const tn_tensor *ports, uint32_t n,
                            const tn_tensor *const **out) {
  const tn_tensor **list = tn_arena_alloc(arena, ((uint64_t)n + 1) * sizeof *list);
  if (!list) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++) list[k] = &ports[k];
  *out = list;
  return TN_OK;
}

static tn_status list_entries(tn_arena *arena, const tn_module_file *m, tn_module *out) {
  const tn_entry **list = tn_arena_alloc(arena, ((uint64_t)m->n_entries + 1) * sizeof *list);
  tn_entry *entries = tn_arena_alloc(arena, ((uint64_t)m->n_entries + 1) * sizeof *entries);
  tn_status status = list && entries ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < m->n_entries && !status; k++) {
    const tn_module_entry *e = &m->entries[k];
    entries[k] = (tn_entry){.head = TN_HEAD(tn_entry),
                            .name = e->name,
                            .n_inputs = e->n_inputs,
                            .n_outputs = e->n_outputs};
    list[k] = &entries[k];
    status = list_ports(arena, e->ports, e->n_inputs, &entries[k].inputs);
    if (!status)
      status = list_ports(arena, e->ports + e->n_inputs, e->n_outputs, &entries[k].outputs);
  }
  out->entries = list;
  out->n_entries = m->n_entries;
  return status;
}

/* What a port wants that tensors do not have goes through memory of its own. */
typedef struct tn_port_copy {
  void *memory; /* NULL: the tensor's own will do */
  uint64_t bytes;
} tn_port_copy;

static uint64_t n_ports(const tn_module_file *m) {
  uint64_t n = 0;
  for (uint32_t k = 0; k < m->n_entries; k++)
    n += (uint64_t)m->entries[k].n_inputs + m->entries[k].n_outputs;
  return n;
}

static tn_status open_port(tn_loaded *l, tn_accelerator_talk *t, uint32_t entry, uint32_t port,
                           tn_port_copy *out) {
  const tn_tensor *type = &l->file.entries[entry].ports[port];
  const uint64_t bytes = (uint64_t)tn_storage_bytes(type);
  tn_port_memory wish = {TN_HEAD(tn_port_memory), 64, 0};
  const tn_status status = tn_accelerator_answer(
      t, l->accelerator->dispatcher->dispatcher.port(&t->call, l->program, entry, port, &wish));
  if (status) return status;
  if (!wish.alignment || wish.alignment & (wish.alignment - 1) ||
      wish.alignment > TN_CONTAINER_ALIGNMENT) {
    snprintf(t->text, sizeof t->text, "port %u of entry %u wants an alignment of %llu", port, entry,
             (unsigned long long)wish.alignment);
    return TN_ERR_INVALID;
  }
  if (wish.alignment <= 64 && wish.bytes <= bytes) return TN_OK;
  /* from 4096 bytes on, memory of arenas is aligned to 64 only: room to move is added */
  out->bytes = wish.bytes > bytes ? wish.bytes : bytes;
  uint8_t *memory = out->bytes > INT64_MAX - wish.alignment
                        ? NULL
                        : tn_arena_alloc(&l->arena, out->bytes + wish.alignment);
  if (!memory) return TN_ERR_MEMORY;
  out->memory = memory + (-(uintptr_t)memory & (wish.alignment - 1));
  return TN_OK;
}

static tn_status open_ports(tn_loaded *l, tn_accelerator_talk *t) {
  uint64_t at = 0;
  tn_status status = TN_OK;
  if (!l->accelerator->dispatcher->dispatcher.port) return TN_OK;
  l->ports = tn_arena_alloc(&l->arena, (n_ports(&l->file) + 1) * sizeof *l->ports);
  if (!l->ports) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < l->file.n_entries; k++) {
    const tn_module_entry *e = &l->file.entries[k];
    for (uint32_t i = 0; i < e->n_inputs + e->n_outputs && !status; i++)
      status = open_port(l, t, k, i, &l->ports[at++]);
  }
  return status;
}

static tn_status load_program(tn_loaded *l, tn_diag *diag) {
  const tn_accelerator *x = l->accelerator;
  const tn_module_file *m = &l->file;
  const tn_target target = {TN_HEAD(tn_target), m->target, x->target.hardware, m->kit};
  tn_module module = {.head = TN_HEAD(tn_module),
                      .format = m->format,
                      .target = &target,
                      .data = m->data,
                      .size = m->size,
                      .alignment = m->alignment,
                      .stamp = m->stamp};
  tn_status status = list_entries(&l->arena, m, &module);
  if (status) return status;
  tn_accelerator_talk t;
  tn_accelerator_talk_open(&t, x, x->dispatcher->owner, diag);
  status = tn_accelerator_answer(
      &t, x->dispatcher->dispatcher.load(&t.call, x->device, &module, &l->program));
  if (!status) {
    l->is_loaded = true;
    status = open_ports(l, &t);
  }
  if (!status) return TN_OK;
  return tn_fail(diag, status, "accelerator '%s': dispatcher '%s' does not load a module: %s",
                 x->name, x->dispatcher->dispatcher.name,
                 *t.text ? t.text : tn_status_text(status));
}

/* The file's, with the nodes of the parts as they are numbered now. */
static tn_status take_entries(tn_loaded *l, const tn_part *parts) {
  const uint64_t n = l->file.n_entries;
  tn_module_entry *entries = tn_arena_copy(&l->arena, l->file.entries, n * sizeof *entries);
  if (!entries) return TN_ERR_MEMORY;
  for (uint64_t k = 0; k < n; k++) {
    entries[k].part = tn_arena_str(&l->arena, parts[k].sha256);
    entries[k].n_nodes = parts[k].n_nodes;
    entries[k].nodes = tn_arena_copy(&l->arena, parts[k].nodes,
                                     (uint64_t)parts[k].n_nodes * sizeof *parts[k].nodes);
    if (!entries[k].part || !entries[k].nodes) return TN_ERR_MEMORY;
  }
  l->file.entries = entries;
  return TN_OK;
}

static tn_loaded *loaded_new(tn_accelerator *x) {
  tn_loaded *l = tn_alloc(x->a, sizeof *l);
  if (l && pthread_mutex_init(&l->lock, NULL)) {
    tn_free(x->a, l, sizeof *l);
    return NULL;
  }
  if (!l) return NULL;
  l->accelerator = x;
  atomic_init(&l->failed, 0);
  tn_arena_init(&l->arena, x->a);
  return l;
}

/* Gives the reference on if all is well. */
static tn_status finish_take(tn_loaded *l, const tn_part *parts, uint32_t n_parts, tn_diag *diag,
                             tn_loaded **out) {
  tn_accelerator *x = l->accelerator;
  char who[320];
  snprintf(who, sizeof who, "accelerator '%.100s': the module of compiler '%.100s'", x->name,
           l->file.compiler);
  tn_status status = check_target(x, &l->file, diag);
  if (!status) status = check_entries(&l->file, parts, n_parts, who, diag);
  if (!status) status = take_entries(l, parts);
  if (!status && !x->compiles_only) status = load_program(l, diag);
  if (!status) {
    pthread_mutex_lock(&x->lock);
    status = tn_vec_push(x->a, &x->loaded, l);
    pthread_mutex_unlock(&x->lock);
  }
  if (status)
    tn_loaded_destroy(l);
  else
    *out = l;
  return status;
}

tn_status tn_loaded_take(tn_accelerator *x, tn_mapping *mapping, const tn_part *parts,
                         uint32_t n_parts, tn_diag *diag, tn_loaded **out_loaded) {
  tn_loaded *l = loaded_new(x);
  *out_loaded = NULL;
  if (!l) {
    tn_file_unmap(mapping);
    return TN_ERR_MEMORY;
  }
  l->mapping = *mapping;
  const char *wrong = tn_container_read(x->a, l->mapping.data, l->mapping.size, &l->container);
  if (!wrong && l->container.n_modules != 1) wrong = "it does not hold one module";
  if (wrong) {
    const tn_status status = tn_fail(
        diag, TN_ERR_INVALID, "accelerator '%s': a container of a module: %s", x->name, wrong);
    tn_loaded_destroy(l);
    return status;
  }
  l->file = l->container.modules[0];
  return finish_take(l, parts, n_parts, diag, out_loaded);
}

tn_status tn_loaded_borrow(tn_accelerator *x, const tn_module_file *file, const tn_part *parts,
                           uint32_t n_parts, tn_diag *diag, tn_loaded **out_loaded) {
  tn_loaded *l = loaded_new(x);
  *out_loaded = NULL;
  if (!l) return TN_ERR_MEMORY;
  l->file = *file;
  return finish_take(l, parts, n_parts, diag, out_loaded);
}

/* ---- creation and destruction ---- */

static void forget(tn_accelerator *x, const tn_loaded *l) {
  pthread_mutex_lock(&x->lock);
  int64_t kept = 0;
  for (int64_t k = 0; k < x->loaded.n; k++)
    if (x->loaded.data[k] != l) x->loaded.data[kept++] = x->loaded.data[k];
  x->loaded.n = kept;
  pthread_mutex_unlock(&x->lock);
}

void tn_loaded_destroy(tn_loaded *l) {
  if (!l) return;
  tn_accelerator *x = l->accelerator;
  forget(x, l);
  if (l->is_loaded) {
    tn_accelerator_talk t;
    tn_accelerator_talk_open(&t, x, x->dispatcher->owner, NULL);
    x->dispatcher->dispatcher.unload(&t.call, l->program);
  }
  tn_container_close(&l->container);
  tn_file_unmap(&l->mapping);
  tn_arena_clear(&l->arena);
  pthread_mutex_destroy(&l->lock);
  tn_free(x->a, l, sizeof *l);
}

/* ---- running ---- */

static const tn_port_copy *ports_of(const tn_loaded *l, uint32_t entry) {
  const tn_port_copy *p = l->ports;
  for (uint32_t k = 0; p && k < entry; k++)
    p += (uint64_t)l->file.entries[k].n_inputs + l->file.entries[k].n_outputs;
  return p;
}

/* Does some port have memory of its own? */
static bool copies_ports(const tn_loaded *l) {
  for (uint64_t k = 0; l->ports && k < n_ports(&l->file); k++)
    if (l->ports[k].memory) return true;
  return false;
}

static size_t bytes_of(const tn_tensor *t) { return (size_t)tn_storage_bytes(t); }

/* Runs with tensors over the ports' own memory. */
static tn_status run_copied(tn_loaded *l, uint32_t entry, tn_accelerator_talk *t,
                            const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const tn_module_entry *e = &l->file.entries[entry];
  const tn_port_copy *ports = ports_of(l, entry);
  const uint64_t n = (uint64_t)e->n_inputs + e->n_outputs;
  tn_arena arena;
  tn_arena_init(&arena, l->accelerator->a);
  tn_tensor *tensors = tn_arena_alloc(&arena, (n + 1) * sizeof *tensors);
  tn_tensor **list = tn_arena_alloc(&arena, (n + 1) * sizeof *list);
  tn_status status = tensors && list ? TN_OK : TN_ERR_MEMORY;
  for (uint64_t k = 0; k < n && !status; k++) {
    const bool is_input = k < e->n_inputs;
    tensors[k] = is_input ? *inputs[k] : *outputs[k - e->n_inputs];
    list[k] = &tensors[k];
    if (!ports[k].memory) continue;
    if (is_input && bytes_of(&tensors[k]))
      memcpy(ports[k].memory, tensors[k].data, bytes_of(&tensors[k]));
    tensors[k].data = ports[k].memory;
  }
  if (!status)
    status = l->accelerator->dispatcher->dispatcher.run(
        &t->call, l->program, entry, (const tn_tensor *const *)list, list + e->n_inputs);
  for (uint64_t k = e->n_inputs; k < n && !status; k++) {
    tn_tensor *y = outputs[k - e->n_inputs];
    if (ports[k].memory && bytes_of(y)) memcpy(y->data, ports[k].memory, bytes_of(y));
  }
  tn_arena_clear(&arena);
  return status;
}

static tn_status fail_run(const tn_island_step *island, tn_accelerator_talk *t, tn_status answer,
                          char *text, size_t size) {
  const tn_status status = tn_accelerator_answer(t, answer);
  if (!status) return TN_OK;
  atomic_store(&island->loaded->failed, 1);
  snprintf(text, size, "accelerator '%s': %s", island->loaded->accelerator->name, t->text);
  return status;
}

tn_status tn_island_run(const tn_island_step *island, const tn_tensor *const *inputs,
                        tn_tensor *const *outputs, char *text, size_t size) {
  tn_loaded *l = island->loaded;
  const tn_accelerator *x = l->accelerator;
  const tn_dispatcher *d = &x->dispatcher->dispatcher;
  tn_accelerator_talk t;
  tn_accelerator_talk_open(&t, x, x->dispatcher->owner, NULL);
  pthread_mutex_lock(&l->lock);
  const tn_status answer = l->ports ? run_copied(l, island->entry, &t, inputs, outputs)
                                    : d->run(&t.call, l->program, island->entry, inputs, outputs);
  pthread_mutex_unlock(&l->lock);
  return fail_run(island, &t, answer, text, size);
}

/* ---- in two halves ---- */

bool tn_island_has_halves(const tn_island_step *island) {
  const tn_loaded *l = island->loaded;
  return l->is_loaded && l->accelerator->dispatcher->dispatcher.start && !copies_ports(l);
}

tn_status tn_island_start(const tn_island_step *island, const tn_tensor *const *inputs,
                          tn_tensor *const *outputs, bool may_wait, char *text, size_t size) {
  tn_loaded *l = island->loaded;
  const tn_accelerator *x = l->accelerator;
  tn_accelerator_talk t;
  if (pthread_mutex_trylock(&l->lock)) {
    if (!may_wait) return TN_ERR_STATE;
    pthread_mutex_lock(&l->lock);
  }
  tn_accelerator_talk_open(&t, x, x->dispatcher->owner, NULL);
  const tn_status answer =
      x->dispatcher->dispatcher.start(&t.call, l->program, island->entry, inputs, outputs);
  if (!answer) return TN_OK; /* with the lock */
  pthread_mutex_unlock(&l->lock);
  const tn_status status = fail_run(island, &t, answer, text, size);
  return status == TN_ERR_STATE ? TN_ERR_IO : status;
}

tn_status tn_island_wait(const tn_island_step *island, char *text, size_t size) {
  tn_loaded *l = island->loaded;
  const tn_accelerator *x = l->accelerator;
  tn_accelerator_talk t;
  tn_accelerator_talk_open(&t, x, x->dispatcher->owner, NULL);
  const tn_status answer = x->dispatcher->dispatcher.wait(&t.call, l->program, island->entry);
  pthread_mutex_unlock(&l->lock);
  return fail_run(island, &t, answer, text, size);
}
