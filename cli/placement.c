/* Where the nodes of a plan run: for each device how many, how much of the work, in how many
 * segments; and what is on the CPU, with the reason of each device. */
#include "placement.h"

#include <string.h>

#include "exec/exec.h"

enum { MAX_SHOWN = 40 };

typedef struct share {
  const char *device;
  int64_t n_nodes, n_transfers, n_segments, n_islands;
  uint64_t up_bytes, down_bytes;
  double flops;
  int32_t segment; /* the last seen */
} share;

typedef struct placement {
  share shares[CLI_MAX_DEVICES + 2];
  int n_shares;
  int64_t n_nodes;
  double flops;
  tn_plan_info plan;
} placement;

static bool get_step(const cli_session *s, int32_t k, tn_step_info *out) {
  *out = (tn_step_info){.head = TN_HEAD(tn_step_info)};
  return tn_session_step(s->session, k, out) == TN_OK;
}

static share *share_of(placement *p, const char *device) {
  int k = 0;
  while (k < p->n_shares && strcmp(p->shares[k].device, device)) k++;
  if (k == p->n_shares && k < CLI_MAX_DEVICES + 1) p->n_shares++;
  if (!p->shares[k].device) p->shares[k] = (share){.device = device, .segment = -1};
  return &p->shares[k];
}

static bool is_transfer(const tn_step_info *step) { return !strcmp(step->op, "Transfer"); }

static void add(placement *p, const tn_step_info *step) {
  share *of = share_of(p, step->device);
  if (step->segment >= 0 && step->segment != of->segment) of->n_segments++;
  of->segment = step->segment;
  if (is_transfer(step)) {
    of->n_transfers += step->up_bytes || step->down_bytes;
    of->up_bytes += step->up_bytes;
    of->down_bytes += step->down_bytes;
    return;
  }
  const int64_t n = step->island_nodes ? step->island_nodes : 1;
  of->n_islands += step->island_nodes > 0;
  of->n_nodes += n;
  of->flops += step->flops;
  p->n_nodes += n;
  p->flops += step->flops;
}

static void look(const cli_session *s, placement *p) {
  tn_step_info step;
  *p = (placement){.plan = {.head = TN_HEAD(tn_plan_info)}};
  (void)tn_session_plan(s->session, &p->plan);
  for (int32_t k = 0; get_step(s, k, &step); k++) add(p, &step);
}

static bool is_asked(const cli_session *s) { return s->common && s->common->n_devices; }

static const char *policy_text(const cli_common *c) {
  static const char *const words[] = {"forbid", "warn", "allow"};
  bool is_auto = true;
  for (int k = 0; k < c->n_devices; k++) is_auto = is_auto && !strcmp(c->devices[k], "auto");
  const uint32_t policy = c->fallback ? c->fallback
                          : is_auto   ? TN_FALLBACK_ALLOW
                                      : TN_FALLBACK_FORBID;
  return words[policy - TN_FALLBACK_FORBID];
}

/* Does the user mean this target, by its name or as the first of a compiler? */
static bool is_target(tn_runtime *runtime, const char *wanted, const char *name) {
  tn_accelerator_entry x;
  bool is_it = !strcmp(wanted, name), is_found = is_it;
  const int ticket = tn_registry_enter(runtime->registry);
  for (int32_t k = 0; !is_found && tn_accelerator_at(runtime->registry, k, &x); k++) {
    is_found = !strcmp(x.compiler, wanted);
    is_it = is_found && !strcmp(x.name, name);
  }
  tn_registry_leave(runtime->registry, ticket);
  return is_it;
}

/* Refusals of devices and accelerators: those whose "kernel" has their name. Kernels have none with
 * a ':', or that of a target. */
static bool is_device(const cli_session *s, const char *name) {
  const char *colon = strchr(name, ':');
  for (int k = 0; !colon && s->runtime && k < s->common->n_devices; k++) /* check has none */
    if (is_target(s->runtime, s->common->devices[k], name)) return true;
  for (int k = 0; colon && k < s->common->n_devices; k++) {
    const char *device = s->common->devices[k];
    const size_t n = strcspn(device, ":");
    if (!strcmp(device, "auto")) return true;
    if (n == (size_t)(colon - name) && !memcmp(device, name, n)) return true;
  }
  return false;
}

/* ---- text ---- */

static bool is_home(const share *of) { return !of->n_segments && !of->n_islands; }

static void print_share(const placement *p, const share *of, const cli_session *s, int indent) {
  char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT];
  cli_print("%*s%-12s %lld of %lld nodes", indent, "", of->device, (long long)of->n_nodes,
            (long long)p->n_nodes);
  if (p->flops > 0)
    cli_print(", %.1f %% of %s FLOP", 100 * of->flops / p->flops, cli_count(p->flops, a));
  if (of->n_islands)
    cli_print(", in %lld island%s\n", (long long)of->n_islands, of->n_islands == 1 ? "" : "s");
  else if (!of->n_segments)
    cli_print(" (policy: %s)\n", policy_text(s->common));
  else
    cli_print(", in %lld segment%s; %lld transfers (%s up, %s down); waits: %u\n",
              (long long)of->n_segments, of->n_segments == 1 ? "" : "s", (long long)of->n_transfers,
              cli_bytes((double)of->up_bytes, b), cli_bytes((double)of->down_bytes, c),
              p->plan.n_waits);
}

static void print_reasons(const cli_session *s, const tn_step_info *step, int indent) {
  cli_print("%*s'%s' (%s)", indent, "", step->node, step->op);
  const char *before = "    ";
  for (uint32_t k = 0; k < step->n_refusals; k++) {
    if (!is_device(s, step->refused_kernels[k])) continue;
    cli_print("%s%s: %s", before, step->refused_kernels[k], step->refusals[k]);
    before = "; ";
  }
  cli_print("\n");
}

void cli_placement_print(const cli_session *s, int indent) {
  placement p;
  tn_step_info step;
  int n_shown = 0, n_here = 0;
  if (!is_asked(s)) return;
  look(s, &p);
  for (int k = 0; k < p.n_shares; k++)
    if (!is_home(&p.shares[k])) print_share(&p, &p.shares[k], s, indent);
  for (int k = 0; k < p.n_shares; k++)
    if (is_home(&p.shares[k])) print_share(&p, &p.shares[k], s, indent);
  if (p.plan.n_programs_built || p.plan.n_programs_cached)
    cli_print("%*sprograms: %u built, %u from the cache\n", indent + 2, "", p.plan.n_programs_built,
              p.plan.n_programs_cached);
  for (int32_t k = 0; get_step(s, k, &step); k++) {
    if (step.segment >= 0 || step.island_nodes) continue;
    n_here++;
    if (n_shown < MAX_SHOWN && ++n_shown) print_reasons(s, &step, indent + 2);
  }
  if (n_here > n_shown) cli_print("%*sand %d more\n", indent + 2, "", n_here - n_shown);
}

/* ---- JSON ---- */

static void json_share(cli_json *list, const placement *p, const share *of) {
  cli_json *o = cli_json_object(list, NULL);
  cli_json_text(o, "device", of->device);
  cli_json_int(o, "nodes", of->n_nodes);
  cli_json_number(o, "flops", of->flops);
  cli_json_number(o, "share_of_flops", p->flops > 0 ? of->flops / p->flops : 0);
  cli_json_int(o, "segments", of->n_segments);
  cli_json_int(o, "islands", of->n_islands);
  cli_json_int(o, "transfers", of->n_transfers);
}

static void json_reasons(cli_json *list, const cli_session *s, const tn_step_info *step) {
  cli_json *o = cli_json_object(list, NULL);
  cli_json_text(o, "node", step->node);
  cli_json_text(o, "op", step->op);
  cli_json *reasons = cli_json_array(o, "reasons");
  for (uint32_t k = 0; k < step->n_refusals; k++) {
    if (!is_device(s, step->refused_kernels[k])) continue;
    cli_json *r = cli_json_object(reasons, NULL);
    cli_json_text(r, "device", step->refused_kernels[k]);
    cli_json_text(r, "reason", step->refusals[k]);
  }
}

void cli_placement_json(cli_json *to, const cli_session *s) {
  placement p;
  tn_step_info step;
  if (!is_asked(s)) return;
  look(s, &p);
  cli_json *o = cli_json_object(to, "placement");
  cli_json_text(o, "policy", policy_text(s->common));
  cli_json *list = cli_json_array(o, "devices");
  for (int k = 0; k < p.n_shares; k++) json_share(list, &p, &p.shares[k]);
  cli_json_int(o, "waits", p.plan.n_waits);
  cli_json_int(o, "up_bytes", (int64_t)p.plan.up_bytes);
  cli_json_int(o, "down_bytes", (int64_t)p.plan.down_bytes);
  cli_json_int(o, "arena_bytes", (int64_t)p.plan.device_bytes);
  cli_json_int(o, "constant_bytes", (int64_t)p.plan.device_const_bytes);
  cli_json_int(o, "programs_built", p.plan.n_programs_built);
  cli_json_int(o, "programs_from_the_cache", p.plan.n_programs_cached);
  cli_json *here = cli_json_array(o, "on_the_cpu");
  for (int32_t k = 0; get_step(s, k, &step); k++)
    if (step.segment < 0 && !step.island_nodes) json_reasons(here, s, &step);
}

/* ---- use ---- */

static bool runs_something(const cli_session *s, const placement *p, const char *name) {
  const size_t n = strlen(name);
  for (int k = 0; k < p->n_shares; k++) {
    const char *device = p->shares[k].device;
    const bool is_first = !strncmp(device, name, n) && !strcmp(device + n, ":0");
    const bool is_it = is_first || !strcmp(device, name) || is_target(s->runtime, name, device);
    if (is_it && p->shares[k].n_nodes) return true;
  }
  return false;
}

bool cli_placement_is_used(const cli_session *s) {
  placement p;
  bool used = true;
  if (!is_asked(s)) return true;
  look(s, &p);
  for (int k = 0; k < s->common->n_devices; k++) {
    const char *name = s->common->devices[k];
    if (!strcmp(name, "auto") || !strcmp(name, "cpu") || runs_something(s, &p, name)) continue;
    cli_error("device '%s' runs nothing of this model; `tenon explain` says why", name);
    used = false;
  }
  return used;
}
