/* The least cut of a graph in two, by Dinic's algorithm: as long as something can flow from vertex
 * 0 to vertex 1, send it along shortest paths; the edges that then are full part the two sides.
 *
 * E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
 * estimation", 1970. Costs become whole numbers, so that it ends. */
#include <math.h>
#include <string.h>

#include "plan/select/select.h"

typedef struct arc {
  int32_t to, next; /* next arc of the same vertex, -1 ends; arc k ^ 1 is its way back */
  int64_t room;
} arc;

typedef struct network {
  arc *arcs;
  int32_t *first, *now, *level, *queue, *path;
  int32_t n_vertices, n_arcs;
} network;

/* 1/16 ns; far less than what a sum of them could overflow with. */
static int64_t whole(double cost) {
  const int64_t never = INT64_C(1) << 52;
  if (!(cost > 0)) return 0;
  return cost >= TN_CUT_NEVER ? never : (int64_t)llround(fmin(cost * 16, 0x1p44));
}

static void add_arc(network *n, int32_t from, int32_t to, int64_t room) {
  n->arcs[n->n_arcs] = (arc){to, n->first[from], room};
  n->first[from] = n->n_arcs++;
}

/* How far each vertex is from vertex 0 by arcs with room; -1: out of reach. */
static bool find_levels(network *n) {
  int32_t head = 0, tail = 0;
  for (int32_t k = 0; k < n->n_vertices; k++) n->level[k] = -1;
  n->level[0] = 0;
  n->queue[tail++] = 0;
  while (head < tail) {
    const int32_t v = n->queue[head++];
    for (int32_t a = n->first[v]; a >= 0; a = n->arcs[a].next) {
      const int32_t to = n->arcs[a].to;
      if (n->arcs[a].room <= 0 || n->level[to] >= 0) continue;
      n->level[to] = n->level[v] + 1;
      n->queue[tail++] = to;
    }
  }
  return n->level[1] >= 0;
}

/* Sends what fits along the path, whose vertices' arcs are now[]. Answers how much of the path is
 * left: up to the first arc that is full. */
static int32_t send(network *n, int32_t length) {
  int64_t least = INT64_MAX;
  int32_t keep = 0;
  for (int32_t k = 0; k < length; k++)
    if (n->arcs[n->path[k]].room < least) least = n->arcs[n->path[k]].room;
  for (int32_t k = length; k-- > 0;) {
    arc *a = &n->arcs[n->path[k]];
    a->room -= least;
    n->arcs[n->path[k] ^ 1].room += least;
    if (!a->room) keep = k;
  }
  return keep;
}

/* Until no path of this length is left. No recursion: graphs are deep. */
static void send_all(network *n) {
  int32_t length = 0;
  memcpy(n->now, n->first, (size_t)n->n_vertices * sizeof *n->now);
  for (;;) {
    const int32_t v = length ? n->arcs[n->path[length - 1]].to : 0;
    if (v == 1) {
      length = send(n, length);
      continue;
    }
    int32_t a = n->now[v];
    while (a >= 0 && (n->arcs[a].room <= 0 || n->level[n->arcs[a].to] != n->level[v] + 1))
      a = n->arcs[a].next;
    n->now[v] = a;
    if (a >= 0) {
      n->path[length++] = a;
    } else if (length) {
      n->level[v] = -1; /* leads nowhere */
      length--;
    } else {
      return;
    }
  }
}

tn_status tn_min_cut(const tn_allocator *a, const tn_edge *edges, int64_t n_edges,
                     int32_t n_vertices, uint8_t *out_side) {
  tn_arena arena;
  tn_arena_init(&arena, a);
  if (n_edges > INT32_MAX / 2) return TN_ERR_OVERFLOW;
  const uint64_t n = (uint64_t)n_vertices + 1;
  network net = {.n_vertices = n_vertices};
  net.arcs = tn_arena_alloc(&arena, (2 * (uint64_t)n_edges + 1) * sizeof *net.arcs);
  net.first = tn_arena_alloc(&arena, n * sizeof *net.first);
  net.now = tn_arena_alloc(&arena, n * sizeof *net.now);
  net.level = tn_arena_alloc(&arena, n * sizeof *net.level);
  net.queue = tn_arena_alloc(&arena, n * sizeof *net.queue);
  net.path = tn_arena_alloc(&arena, n * sizeof *net.path);
  tn_status status = net.arcs && net.first && net.now && net.level && net.queue && net.path
                         ? TN_OK
                         : TN_ERR_MEMORY;
  for (int32_t k = 0; k < n_vertices && !status; k++) net.first[k] = -1;
  for (int64_t k = 0; k < n_edges && !status; k++) {
    add_arc(&net, edges[k].from, edges[k].to, whole(edges[k].cost));
    add_arc(&net, edges[k].to, edges[k].from, 0);
  }
  while (!status && find_levels(&net)) send_all(&net);
  for (int32_t k = 0; k < n_vertices && !status; k++) out_side[k] = net.level[k] < 0;
  tn_arena_clear(&arena);
  return status;
}
