/* Meets every animal of the zoo in a child process of its own: none may crash or stop the host, and
 * the host says of each what members.h, animals.h and files.h say that it says.
 *
 *   zoo_test [ANIMAL...]     meets them, or all that need no vetting; tells of surprises
 *   zoo_test --vet           meets those that only `tenon plugin vet` finds
 *   zoo_test --sample N [S]  meets one in N of all that need no vetting, others each time, or those
 *                            of seed S
 *   zoo_test --show [...]    prints what Tenon says
 *   zoo_test --list          prints the animals: what is wrong, and what Tenon says */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../parts.h"
#include "kinds.h"
#include "members.h"
#include "tenon/tenon.h"
#include "zoo.h"

typedef struct animal {
  int kind, where;
  const char *name, *wrong, *says;
} animal;

static const animal by_hand[] = {
#define ANIMAL(kind, name, where, wrong, says, ...) {ZOO_##kind, where, #name, wrong, says},
#include "animals.h"
#include "files.h"
#undef ANIMAL
};
enum { N_BY_HAND = sizeof by_hand / sizeof *by_hand, TEXT = 1 << 16, SECONDS = 20 };

static animal animals[N_BY_HAND + ZOO_PRODUCT];
static int n_animals;

static void collect(void) {
  static char names[ZOO_PRODUCT][ZOO_NAME], says[ZOO_PRODUCT][ZOO_SAYS];
  for (int k = 0; k < ZOO_PRODUCT; k++)
    if (zoo_is_animal(k))
      animals[n_animals++] = (animal){ZOO_DESCRIPTOR, LOAD, zoo_name(k, names[k]),
                                      zoo_damage_of(k)->wrong, zoo_says(k, says[k])};
  memcpy(animals + n_animals, by_hand, sizeof by_hand);
  n_animals += N_BY_HAND;
}

/* Under a sanitizer, vetting is another thing; the command may also be left out of a build. */
#ifdef ZOO_TENON
enum { CAN_VET = TN_FLAVOUR_SANITIZER != TN_FLAVOUR_TSAN };
#else
#define ZOO_TENON ""
enum { CAN_VET = 0 };
#endif

/* ---- the child ---- */

/* What the child has come to; it stands before the text. */
typedef enum stage { LOADING = 'l', USING = 'u', RIGHT = 'r', WRONG = 'w' } stage;

static tn_graph *chain(tn_runtime *rt) {
  tn_graph *graph;
  if (tn_graph_create(rt, &graph)) return NULL;
  (void)part_chain(tn_graph_functions(), graph, "zoo", "Twice"); /* the model says what is wrong */
  return graph;
}

static tn_status run_session(tn_session *session, tn_diag *diag, stage *at) {
  static const int64_t shape[] = {4};
  float x[] = {1, -2, 3, 4};
  const tn_tensor in = tn_tensor_make(TN_F32, 1, shape, x);
  tn_status status = tn_session_set_input(session, 0, &in, diag);
  for (int k = 0; k < 2 && !status; k++) status = tn_session_run(session, diag);
  if (status) return status;
  const tn_tensor *out = tn_session_output(session, 0);
  const float *y = out && out->dtype == TN_F32 && tn_tensor_elements(out) == 4 ? out->data : NULL;
  const bool right =
      y && x[0] == 1 && x[1] == -2 && y[0] == 4 && y[1] == -8 && y[2] == 12 && y[3] == 16;
  *at = right ? RIGHT : WRONG;
  return TN_OK;
}

static tn_status use(const animal *who, tn_runtime *rt, tn_diag *diag, stage *at) {
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_status status;
  if (who->kind == ZOO_PROBE || who->kind == ZOO_READ)
    status = tn_model_load_memory(rt, "ZOO!", 4, "/tmp", NULL, diag, &model);
  else
    status = tn_model_from_graph_take(rt, chain(rt), NULL, diag, &model);
  if (!status && who->kind == ZOO_WRITE) {
    char path[] = "/tmp/tenon-zoo-XXXXXX";
    close(mkstemp(path));
    status = tn_model_save(model, path, "zoo", "load", NULL, diag);
    unlink(path);
  }
  if (!status) status = tn_session_create(model, diag, &session);
  if (!status) status = run_session(session, diag, at);
  tn_session_destroy(session);
  tn_model_destroy(model);
  return status;
}

static tn_status meet(const animal *who, const char *path, tn_diag *diag, stage *at) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *rt;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  tn_status status = tn_runtime_create(&options, diag, &rt);
  *at = LOADING;
  if (!status) status = tn_runtime_load_plugin(rt, path, NULL, 0, diag);
  if (!status) *at = USING, status = use(who, rt, diag, at);
  tn_runtime_destroy(rt);
  return status;
}

static const char *make_path(const animal *who, char *path, size_t size) {
  char dir[] = "/tmp/tenon-zoo-XXXXXX";
  if (who->kind != ZOO_FILE) return ZOO_PLUGIN;
  if (!mkdtemp(dir)) abort();
  snprintf(path, size, "%s/zoo.so", dir);
  zoo_make_file(who->name, path);
  return path;
}

static void remove_path(const animal *who, char *path) {
  if (who->kind != ZOO_FILE) return;
  remove(path);
  *strrchr(path, '/') = 0;
  rmdir(path);
}

/* The part that is to be vetted; NULL: all. */
static const char *part_of(const animal *who) {
  if (who->kind >= ZOO_INIT && who->kind <= ZOO_NOTIFY) return "init";
  if (who->kind >= ZOO_INFER && who->kind <= ZOO_REWRITE) return "zoo::Twice";
  if (who->kind >= ZOO_REFUSE && who->kind <= ZOO_DYNAMIC) return "twice_f32_c";
  return who->kind >= ZOO_PROBE && who->kind <= ZOO_WRITE ? "zoo" : NULL;
}

/* The command tells what it found; its exit status is looked at by the parent. */
static void vet(const animal *who, int to) {
  const char *part = part_of(who), *seconds = strstr(who->says, "hangs") ? "2" : "20";
  if (write(to, "v0\n", 3) != 3 || dup2(to, STDOUT_FILENO) < 0) abort();
  execl(ZOO_TENON, "tenon", "plugin", "vet", ZOO_PLUGIN, "--timeout", seconds,
        part ? "--only" : (char *)NULL, part, (char *)NULL);
  abort();
}

static void child(const animal *who, int to) {
  char made[64];
  setenv("TENON_ZOO", who->name, 1);
  if (who->where >= VET) vet(who, to);
  alarm(SECONDS);
  tn_diag *diag = tn_diag_create();
  stage at = LOADING;
  const tn_status status = meet(who, make_path(who, made, sizeof made), diag, &at);
  remove_path(who, made);
  FILE *out = fdopen(to, "w");
  fprintf(out, "%c%d\n%s", at, status, tn_diag_text(diag));
  fclose(out);
  tn_diag_destroy(diag);
}

/* ---- the parent ---- */

typedef struct meeting {
  int ended; /* as waitpid says */
  stage at;
  int status;
  char text[TEXT];
} meeting;

static void read_all(int from, meeting *m) {
  static char all[TEXT];
  size_t n = 0;
  ssize_t got;
  while (n < sizeof all - 1 && (got = read(from, all + n, sizeof all - 1 - n)) > 0)
    n += (size_t)got;
  all[n] = 0;
  m->at = (stage)all[0];
  m->status = n ? atoi(all + 1) : 0;
  const char *line = strchr(all, '\n');
  strcpy(m->text, line ? line + 1 : "");
}

typedef struct visit {
  const animal *who;
  pid_t pid;
  int from;
} visit;

static visit begin(const animal *who) {
  int ends[2];
  fflush(NULL);
  if (pipe(ends)) abort();
  const pid_t pid = fork();
  if (pid < 0) abort();
  if (!pid) {
    close(ends[0]);
    child(who, ends[1]);
    exit(0);
  }
  close(ends[1]);
  return (visit){who, pid, ends[0]};
}

static void end(const visit *v, meeting *m) {
  read_all(v->from, m);
  close(v->from);
  waitpid(v->pid, &m->ended, 0);
}

/* Whether `text` begins with the pattern, in which * stands for any letters. */
static bool begins(const char *text, const char *pattern) {
  for (; *pattern && *pattern != '*'; text++, pattern++)
    if (*text != *pattern) return false;
  if (!*pattern) return true;
  for (; *text && *text != '\n'; text++)
    if (begins(text, pattern + 1)) return true;
  return begins(text, pattern + 1);
}

static bool says(const char *text, const char *pattern) {
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (begins(line, pattern)) return true;
  }
  return false;
}

/* A sanitizer ends a process before it crashes. */
static const char *as_sanitized(const char *text) {
  static const char crash[] = "crashed with SIGSEGV";
  static char buf[512];
  const char *at = TN_FLAVOUR_SANITIZER ? strstr(text, crash) : NULL;
  if (!at) return text;
  snprintf(buf, sizeof buf, "%.*s*%s", (int)(at - text), text, at + strlen(crash));
  return buf;
}

static const char *surprise_of_vetting(const animal *who, const meeting *m) {
  if (WEXITSTATUS(m->ended) != (who->where == FIT ? 0 : 1))
    return who->where == FIT ? "it is found to be unfit" : "it is found to be fit";
  return says(m->text, as_sanitized(who->says)) ? NULL : "Tenon says something else";
}

/* NULL: as expected. */
static const char *surprise(const animal *who, const meeting *m) {
  static char why[128];
  if (WIFSIGNALED(m->ended)) {
    const int s = WTERMSIG(m->ended);
    snprintf(why, sizeof why, s == SIGALRM ? "the host hangs" : "the host dies of signal %d", s);
    return why;
  }
  if (who->where >= VET) return surprise_of_vetting(who, m);
  if (WEXITSTATUS(m->ended)) return "the host ends with an error";
  if (m->status != TN_OK && (m->status > TN_ERR_INVALID || m->status < TN_ERR_CANCELLED))
    return "the status is none";
  if (who->where == LOAD && m->at != LOADING) return "it is not refused";
  if (who->where != LOAD && m->at == LOADING) return "it is refused";
  if (who->where == WORKS) return m->at == RIGHT ? NULL : "the result is wrong";
  if (m->status == TN_OK) return "nothing fails";
  if (!says(m->text, who->says)) return "Tenon says something else";
  return NULL;
}

static int print_list(void) {
  static const char *const caught[] = {"when it is loaded", "when it is used",
                                       "harmless",          "by vetting",
                                       "by vetting",        "harmless to vetting"};
  for (int k = 0; k < n_animals; k++)
    printf("%s (%s): %s\n  %s\n", animals[k].name, caught[animals[k].where], animals[k].wrong,
           animals[k].says);
  return 0;
}

static bool is_named(const animal *who, int argc, char **argv) {
  for (int k = 1; k < argc; k++)
    if (!strcmp(argv[k], who->name)) return true;
  return argc < 2;
}

/* Those named; without names all that need no vetting, with --vet all others. */
static bool is_met(const animal *who, bool only_vet, int argc, char **argv) {
  if (who->where >= VET && !CAN_VET) return false;
  if (who->where == VET_PLAIN && TN_FLAVOUR_SANITIZER) return false;
  if (!strcmp(who->name, "run_priority") && getpriority(PRIO_PROCESS, 0) == 19) return false;
  return is_named(who, argc, argv) && (argc > 1 || (who->where >= VET) == only_vet);
}

/* Answers whether it surprises. */
static bool tell(const visit *v, bool show) {
  static meeting m;
  end(v, &m);
  const char *why = surprise(v->who, &m);
  if (why || show)
    printf("%s: %s\n  status %d, said: %s\n", v->who->name, why ? why : "ok", m.status, m.text);
  return why != NULL;
}

/* --sample N [SEED] as N, and 1 without it. */
static unsigned take_sample(int *argc, char ***argv) {
  if (*argc < 3 || strcmp((*argv)[1], "--sample")) return 1;
  const unsigned one_in = (unsigned)strtoul((*argv)[2], NULL, 10),
                 seed = *argc > 3 ? (unsigned)strtoul((*argv)[3], NULL, 10) : (unsigned)time(NULL);
  printf("one in %u, seed %u\n", one_in ? one_in : 1, seed);
  srand(seed);
  *argc = 1;
  return one_in ? one_in : 1;
}

int main(int argc, char **argv) {
  enum { AT_ONCE = 4 }; /* most of them wait most of the time */
  visit visits[AT_ONCE];
  int n_met = 0, n_told = 0, n_surprises = 0;
  const bool show = argc > 1 && !strcmp(argv[1], "--show");
  collect();
  if (argc > 1 && !strcmp(argv[1], "--list")) return print_list();
  if (show) argv++, argc--;
  const bool only_vet = argc > 1 && !strcmp(argv[1], "--vet");
  if (only_vet) argv++, argc--;
  const unsigned one_in = take_sample(&argc, &argv);
  for (int k = 0; k < n_animals; k++) {
    if (!is_met(&animals[k], only_vet, argc, argv) || (unsigned)rand() % one_in) continue;
    if (n_met - n_told == AT_ONCE) n_surprises += tell(&visits[n_told++ % AT_ONCE], show);
    visits[n_met++ % AT_ONCE] = begin(&animals[k]);
  }
  while (n_told < n_met) n_surprises += tell(&visits[n_told++ % AT_ONCE], show);
  printf("%d animals, %d surprises\n", n_met, n_surprises);
  return n_surprises || !n_met;
}
