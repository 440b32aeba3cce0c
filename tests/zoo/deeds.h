/* What the animals of animals.h do besides what stands in their own lines, on the sound tables and
 * callbacks of plugin.c. Included there, once. */
#ifndef TENON_ZOO_DEEDS_H
#define TENON_ZOO_DEEDS_H

/* What bodies in animals.h may use besides their arguments. */
#define X_OF(call) ((float *)(call)->inputs[0]->data)
#define Y_OF(call) ((float *)(call)->outputs[0]->data)
#define MINE(call) ((tn_call *)(uintptr_t)(call))
#define API (call->host->graph)

static int32_t add(const tn_graph_api *api, tn_graph *graph, const char *name, uint32_t n_inputs,
                   const int32_t *inputs, uint32_t n_outputs, const int32_t *outputs) {
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "zoo",
                        .op = name,
                        .name = "added",
                        .n_inputs = n_inputs,
                        .n_outputs = n_outputs,
                        .inputs = inputs,
                        .outputs = outputs,
                        .offset = -1};
  return api->add_node(graph, &node);
}

/* Puts another operator in the node's place. */
static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const char *name) {
  int32_t v = API->value(graph, NULL);
  add(API, graph, name, 1, API->node(graph, node)->inputs, 1, &v);
  return API->replace_node(graph, node, &v, 1);
}

/* The node of the same operator that makes its input; -1: none does. */
static int32_t node_before(const tn_call *call, tn_graph *graph, int32_t node) {
  const int32_t at = API->value_producer(graph, API->node(graph, node)->inputs[0]);
  return at >= 0 && !strcmp(API->node(graph, at)->op, "Twice") ? at : -1;
}

#define TENSOR(type, dim, bytes)                                                        \
  &(const tn_tensor) {                                                                  \
    .head = TN_HEAD(tn_tensor), .dtype = type, .rank = 1, .shape = {dim}, .data = bytes \
  }
#define REGION(...) \
  &(const tn_region) { .head = TN_HEAD(tn_region), __VA_ARGS__ }

/* Puts a constant of n elements in the node's place. */
static tn_status become_const(const tn_call *call, tn_graph *graph, int32_t node, uint32_t dtype,
                              int64_t n) {
  int32_t v = API->value(graph, NULL);
  API->value_set_const(graph, v, TENSOR(dtype, n, endless), 1);
  return API->replace_node(graph, node, &v, 1);
}

/* Puts n times the same region in the node's place. */
static tn_status cover(const tn_call *call, tn_graph *graph, int32_t node, uint32_t n,
                       const tn_region *region, int32_t fill) {
  const tn_region *regions[] = {region, region};
  return API->set_regions(graph, node, API->node(graph, node)->inputs, 1, regions, n, fill);
}

/* A third node, with an attribute. */
static tn_status odd_node(const tn_graph_api *api, tn_graph *graph, const tn_attr *attr) {
  zoo_build(api, graph);
  const int32_t x = api->value(graph, "x"), z = api->value(graph, "z");
  const tn_node n = {.head = TN_HEAD(tn_node),
                     .domain = "zoo",
                     .op = "Twice",
                     .name = "odd",
                     .n_inputs = 1,
                     .n_outputs = 1,
                     .n_attrs = 1,
                     .inputs = &x,
                     .outputs = &z,
                     .attrs = &attr,
                     .offset = -1};
  const int32_t id = api->add_node(graph, &n);
  return id < 0 ? id : api->add_output(graph, z);
}

static tn_status resized(const tn_call *call, uint32_t output, int32_t rank, int64_t dim) {
  const int64_t shape[TN_MAX_RANK] = {dim};
  return call->host->output_resize(call->ctx, output, rank, shape);
}

/* Lets a pointer out of sight of the compiler, which would warn that it leads to what is gone. */
static void leak_address(void *pointer) {
  void *volatile seen = pointer;
  (void)seen;
}

/* Memory that is not the library's, and that no leak checker asks about. */
static void *page(void) {
  static void *made;
  if (!made) made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made;
}

/* Where a damaged pointer leads that stands for `old`. */
static const void *lead_astray(const zoo_member *m, const zoo_damage *d, const void *old) {
  if (d->way == BY_TEXT) return d->text;
  if (d->way == BY_ADDRESS) return (const void *)(uintptr_t)d->number;
  if (d->way == BY_SHIFT) return (const char *)old + d->number;
  if (d->way == BY_DATA) return rubbish;
  if (d->way == BY_HEAP) return page();
  if (d->way == BY_LONG) endless[m->limit + 1] = 0;
  return endless;
}

/* Damages a member of the first part of its kind. */
static void damage(const zoo_member *m, const zoo_damage *d) {
  void *const structs[] = {
      &plugin,   op,        rule,   cases,       kernel,  accept,         rewrite,  format,
      extension, &compiler, target, &dispatcher, &driver, &device_kernel, &program, &form};
  void *const rows[] = {
      &answer,    ops,       rules,   cases,       kernels, accepts,        rewrites, formats,
      extensions, compilers, targets, dispatchers, drivers, device_kernels, programs, forms};
  char *of = structs[m->owner], *at = of + m->offset;
  if (d->way == BY_SIZE) {
    ((tn_head *)(void *)of)->size = (uint32_t)d->number;
  } else if (d->way == BY_MAJOR) {
    ((tn_head *)(void *)of)->major = (uint16_t)d->number;
  } else if (d->way == BY_COUNT) {
    memset(of + m->count, 0xff, sizeof(uint32_t));
  } else if (d->way == BY_BIT) {
    const uint64_t bit = UINT64_C(1) << d->number;
    uint64_t bits = 0;
    const size_t size = m->kind == IS_FLAGS32 ? 4 : 8;
    memcpy(&bits, at, size);
    bits |= bit;
    memcpy(at, &bits, size);
  } else {
    void *pointer = m->kind == IS_HEAD ? rows[m->owner] : at;
    const void *lead;
    memcpy(&lead, pointer, sizeof lead);
    lead = lead_astray(m, d, lead);
    memcpy(pointer, &lead, sizeof lead);
  }
}

static int loop_for_ever(void) {
  volatile bool on = true;
  while (on) sleep(1);
  return 0;
}

static void *wait_for_ever(void *arg) { return loop_for_ever(), arg; }

/* What is no text, moves a terminal's cursor or turns its text. */
static const char escapes[] = "one \033[2J two \xff three \xe2\x80\xae four\n";

/* Found at run time: the host keeps libraries mapped that say that they make keys. */
static void make_key(void) {
  static pthread_key_t key;
  int (*make)(pthread_key_t *, void (*)(void *));
  void *found = dlsym(RTLD_DEFAULT, "pthread_key_create");
  memcpy(&make, &found, sizeof make);
  make(&key, free);
}

static void lose(size_t bytes) {
  char *volatile lost = malloc(bytes);
  if (lost) *lost = 1;
}

/* Puts another file where one that is not ours is open: below 3, or everywhere else. */
static void replace_files(int from, int until) {
  const int null = open("/dev/null", O_RDWR);
  for (int k = from; k < until; k++)
    if (k != null && fcntl(k, F_GETFD) >= 0) dup2(null, k);
  close(null);
}

/* Writes over all memory that this process shares with others. */
static void scribble(void) {
  char line[512], how[8];
  unsigned long begin, end;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, how) == 3 && how[1] == 'w' && how[3] == 's')
      memset((void *)begin, 0xee, end - begin);
  if (maps) fclose(maps);
}

/* Sleeps inside the C library and never comes back, so that its code may be unmapped. */
static atomic_int asleep;
static void *sleeper(void *arg) {
  atomic_store(&asleep, 1);
  for (;;) pause();
  return arg;
}

static tn_status start_sleeper(void) {
  pthread_t thread;
  atomic_store(&asleep, 0);
  if (pthread_create(&thread, NULL, sleeper, NULL)) return TN_ERR_INTERNAL;
  while (!atomic_load(&asleep)) usleep(1000);
  usleep(20000);
  return TN_OK;
}

/* A process that is no longer in the group of this one. */
static tn_status make_daemon(void) {
  int status;
  const pid_t pid = fork();
  if (pid == 0 && (setsid() < 0 || fork() > 0)) _exit(0);
  if (pid == 0) loop_for_ever();
  waitpid(pid, &status, 0);
  return TN_OK;
}

/* Two processes, and the file that TENON_ZOO_HANGING names once they are there. */
static tn_status fork_and_hang(void) {
  const char *path = getenv("TENON_ZOO_HANGING");
  FILE *file = fork() >= 0 && path ? fopen(path, "w") : NULL;
  if (file) fclose(file);
  return loop_for_ever();
}

static tn_status as_x(const tn_call *call) {
  tn_tensor *y = call->outputs[0];
  const tn_tensor *x = call->inputs[0];
  y->dtype = x->dtype;
  y->rank = x->rank;
  memcpy(y->shape, x->shape, sizeof y->shape);
  return TN_OK;
}

static tn_status one_infer(const tn_call *call) {
  as_x(call);
  call->outputs[0]->rank = 1;
  call->outputs[0]->shape[0] = 1;
  return TN_OK;
}

static tn_status attr_infer(const tn_call *call) {
  if (*(const int64_t *)call->attrs > 1000000) raise(SIGSEGV);
  return as_x(call);
}

/* Does as many elements as it is asked for, always the first ones. */
static tn_status runs_from_zero(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  return twice_run(call, stage, 0, end - begin, worker);
}

static tn_status zeroing_reference(const tn_call *call) {
  memset(X_OF(call), 0, sizeof(float) * (size_t)part_elements(call->inputs[0]));
  return whole_run(call);
}

static tn_status list_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const tn_ints *ks = call->attrs;
  volatile int64_t behind = ks->data[ks->size];
  (void)behind;
  return twice_run(call, stage, begin, end, worker);
}

/* X in place of 2 * X */
static tn_status one_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return API->replace_node(graph, node, API->node(graph, node)->inputs, 1);
}

static tn_status remembering_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  static const float *known;
  static float made[64];
  const size_t bytes = sizeof(float) * (size_t)part_elements(call->outputs[0]);
  (void)stage, (void)begin, (void)end, (void)worker;
  if (known != X_OF(call)) whole_run(call);
  if (known == X_OF(call) && bytes <= sizeof made) memcpy(Y_OF(call), made, bytes);
  known = X_OF(call);
  if (bytes <= sizeof made) memcpy(made, Y_OF(call), bytes);
  return TN_OK;
}

static tn_status shape_prepare(const tn_call *call) {
  *(int64_t *)call->state = part_elements(call->inputs[0]);
  return TN_OK;
}

static tn_status crashing_value(const tn_source *source, uint32_t kind, const tn_value_sink *out) {
  (void)source, (void)kind, (void)out;
  return raise(SIGSEGV);
}

static tn_status behind_value(const tn_source *source, uint32_t kind, const tn_value_sink *out) {
  volatile uint8_t behind = source->size ? source->data[source->size] : 0;
  return (void)behind, (void)kind, (void)out, TN_ERR_INVALID;
}

static tn_status null_value(const tn_source *source, uint32_t kind, const tn_value_sink *out) {
  return (void)source, kind ? out->begin(out->ctx, NULL, NULL) : out->tensor(out->ctx, NULL, NULL);
}

/* X minus its mean */
static tn_status mean_reference(const tn_call *call) {
  const int64_t n = part_elements(call->inputs[0]);
  float sum = 0;
  for (int64_t k = 0; k < n; k++) sum += X_OF(call)[k];
  for (int64_t k = 0; k < n; k++) Y_OF(call)[k] = X_OF(call)[k] - sum / (float)n;
  return TN_OK;
}
static tn_status mean_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  return (void)stage, (void)begin, (void)end, (void)worker, mean_reference(call);
}

static void at_exit(int status, void *arg) { (void)status, (void)arg; }

/* 2 * X + the index */
static tn_status index_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) Y_OF(call)[k] = 2 * X_OF(call)[k] + (float)k;
  return TN_OK;
}
static tn_status index_reference(const tn_call *call) {
  return index_run(call, 0, 0, part_elements(call->outputs[0]), 0);
}

/* X[k] + X[k + 1] */
static tn_status next_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const int64_t n = part_elements(call->outputs[0]);
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++)
    Y_OF(call)[k] = X_OF(call)[k] + (k + 1 < n ? X_OF(call)[k + 1] : 0);
  return TN_OK;
}
static tn_status next_reference(const tn_call *call) {
  return next_run(call, 0, 0, part_elements(call->outputs[0]), 0);
}

/* 2 * X[k], to which the element before adds nothing, as long as it is a number. */
static tn_status nothing_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++)
    Y_OF(call)[k] = 2 * X_OF(call)[k] + (k ? 0 * X_OF(call)[k - 1] : 0);
  return TN_OK;
}

/* max(X, 0), which says that it is a clip to 0 .. 6. */
static tn_status relu_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) Y_OF(call)[k] = X_OF(call)[k] > 0 ? X_OF(call)[k] : 0;
  return TN_OK;
}
static tn_status relu_reference(const tn_call *call) {
  return relu_run(call, 0, 0, part_elements(call->outputs[0]), 0);
}
static tn_status clip_epilogue(const tn_call *call, tn_epilogue *out) {
  (void)call;
  out->kind = TN_EPILOGUE_CLIP;
  out->b = 6;
  return TN_OK;
}

static tn_status stateful_plan(const tn_call *call, tn_kernel_plan *plan) {
  plan->state_bytes = 64;
  return twice_plan(call, plan);
}

/* ---- what may not be kept ---- */

static const tn_call *kept; /* the call of an earlier callback */
static const tn_host *kept_host;
static void *kept_ctx; /* of a call, or of the first runtime */

static tn_status keeping_prepare(const tn_call *call) {
  kept = call;
  kept_ctx = call->ctx;
  return TN_OK;
}

/* Takes its input from the call that prepare() had. */
static tn_status kept_input_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  const int64_t n = kept ? part_elements(kept->inputs[0]) : 0;
  return twice_run(call, stage, begin, n < end ? n : end, worker);
}

/* Speaks through the context that prepare() had. */
static tn_status kept_ctx_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                              uint32_t worker) {
  call->host->free(kept_ctx, call->host->alloc(kept_ctx, 16));
  return twice_run(call, stage, begin, end, worker);
}

static void input_finish(const tn_call *call) { kept_ctx = call->inputs[0]->data; }

/* init and shutdown that use the context of the first runtime for all. */
static tn_status first_init(const tn_host *host, void *ctx, const tn_option *const *options,
                            uint32_t n_options, void **out_self) {
  (void)options, (void)n_options;
  if (!kept_ctx) kept_host = host, kept_ctx = ctx;
  *out_self = kept_host->alloc(kept_ctx, 64);
  return *out_self ? TN_OK : TN_ERR_MEMORY;
}

static void first_shutdown(void *self) { kept_host->free(kept_ctx, self); }

#define INIT(name)                                                                       \
  static tn_status name(const tn_host *host, void *ctx, const tn_option *const *options, \
                        uint32_t n_options, void **out_self)
#define NO_OPTIONS (void)host, (void)ctx, (void)options, (void)n_options, *out_self = NULL

/* There can be one of it. */
static int n_started;
INIT(single_init) {
  NO_OPTIONS;
  return n_started++ ? TN_ERR_STATE : TN_OK;
}
static void single_shutdown(void *self) { (void)self, n_started--; }

INIT(sleepy_init) {
  NO_OPTIONS;
  return start_sleeper();
}

typedef struct helper { /* a thread that ends */
  const tn_host *host;
  void *ctx;
  pthread_t thread;
  atomic_int stop;
} helper;
static void *work(void *arg) {
  while (!atomic_load(&((helper *)arg)->stop)) usleep(1000);
  return NULL;
}
INIT(worker_init) {
  NO_OPTIONS;
  if (n_options) return host->fail(ctx, TN_ERR_INVALID, "there is no option");
  helper *w = *out_self = host->alloc(ctx, sizeof *w);
  if (!w) return TN_ERR_MEMORY;
  *w = (helper){.host = host, .ctx = ctx};
  return pthread_create(&w->thread, NULL, work, w) ? TN_ERR_INTERNAL : TN_OK;
}
static void worker_shutdown(void *self) {
  helper *w = self;
  atomic_store(&w->stop, 1);
  pthread_join(w->thread, NULL);
  w->host->free(w->ctx, w);
}

/* What the first call makes, for all runtimes, and the first shutdown() takes from all of them. */
static float one = 1;
static float *volatile shared;
static tn_status sharing_prepare(const tn_call *call) { return (void)call, shared = &one, TN_OK; }
static void sharing_shutdown(void *self) { (void)self, shared = NULL; }
static tn_status sharing_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  const tn_status s = twice_run(call, stage, begin, end, worker);
  for (int64_t k = begin; k < end; k++) Y_OF(call)[k] *= *shared;
  return s;
}

/* Writes to the scratch of worker 0, always. */
static tn_status worker_plan(const tn_call *call, tn_kernel_plan *plan) {
  plan->worker_scratch_bytes = 64;
  plan->items[0] = part_elements(call->outputs[0]);
  return TN_OK;
}
static tn_status worker_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  *(float *)call->worker_scratch = 1;
  return twice_run(call, stage, begin, end, worker);
}

/* Keeps a number from the first item of a call to its last: that of whoever began last. */
static float held;
static tn_status static_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  twice_run(call, stage, begin, end, worker);
  if (begin == 0) held = Y_OF(call)[0];
  if (end == part_elements(call->inputs[0])) Y_OF(call)[end - 1] += held - 2 * X_OF(call)[0];
  return TN_OK;
}

static jmp_buf place;

/* The frame that it comes back to is gone when run() jumps. */
static tn_status placing_plan(const tn_call *call, tn_kernel_plan *plan) {
  if (setjmp(place)) return TN_ERR_INTERNAL;
  plan->state_bytes = 64;
  return (void)call, TN_OK;
}

static tn_status jumping_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  (void)call, (void)stage, (void)begin, (void)end, (void)worker;
  longjmp(place, 1);
}

static void exit_finish(const tn_call *call) { (void)call, exit(0); }

static tn_status fails(const tn_call *call, tn_status code, const char *text) {
  return call->host->fail(call->ctx, code, "%s", text);
}

/* Type of the first output, of which nothing but what is given is known. */
static tn_status says_shape(const tn_call *call, int32_t rank, int64_t dim) {
  tn_tensor *y = call->outputs[0];
  y->dtype = TN_F32;
  y->rank = rank;
  for (int32_t k = 0; k < rank && k < TN_MAX_RANK; k++) y->shape[k] = dim;
  return TN_OK;
}

#endif
