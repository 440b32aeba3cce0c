/* What of a newer ABI is no append to an older one, in sentences that name the place. */
#include <string.h>

#include "abi.h"

typedef struct comparison {
  const abi_lock *old, *now;
  int n;
} comparison;

static void say(comparison *c, const char *name) {
  c->n++;
  printf("%s: ", name);
}

static const char *member_of(const abi_record *r) { return strchr(r->name, '.') + 1; }

static const abi_record *struct_of(const abi_lock *l, const abi_record *member) {
  const size_t n = strlen(member->name);
  for (int64_t k = member->order; k >= 0 && n; k--)
    if (l->records.data[k].kind == ABI_STRUCT) return &l->records.data[k];
  return NULL;
}

static bool has_head(const abi_lock *l, const abi_record *s) {
  const abi_record *first = s->order + 1 < l->records.n ? s + 1 : NULL;
  return first && first->kind == ABI_MEMBER && !strcmp(first->type, "tn_head");
}

/* A member of now's struct at this offset that old has not under this name; NULL: none. */
static const abi_record *newcomer_at(const comparison *c, const abi_record *old_member) {
  const abi_record *s = struct_of(c->old, old_member);
  const abi_record *t = s ? abi_find(c->now, ABI_STRUCT, s->name) : NULL;
  for (int64_t k = t ? t->order + 1 : c->now->records.n; k < c->now->records.n; k++) {
    const abi_record *m = &c->now->records.data[k];
    if (m->kind != ABI_MEMBER) break;
    if (m->offset == old_member->offset && !abi_find(c->old, ABI_MEMBER, m->name)) return m;
  }
  return NULL;
}

static void gone(comparison *c, const abi_record *r) {
  const abi_record *other = r->kind == ABI_MEMBER ? newcomer_at(c, r) : NULL;
  say(c, r->name);
  if (other && !strcmp(other->type, r->type))
    printf("was renamed to %s: programs that name it no longer compile\n", member_of(other));
  else
    printf("is gone; ABI %ld.%ld has this %s\n", c->old->major, c->old->minor,
           abi_kind_words[r->kind]);
}

static void compare_member(comparison *c, const abi_record *a, const abi_record *b) {
  const abi_record *other = a->offset != b->offset ? newcomer_at(c, a) : NULL;
  if (a->offset != b->offset) {
    say(c, b->name);
    printf("moved from offset %lld to %lld%s%s: members are only ever appended\n",
           (long long)a->offset, (long long)b->offset, other ? ", because of " : "",
           other ? member_of(other) : "");
  }
  if (strcmp(a->type, b->type)) {
    say(c, b->name);
    printf("%s `%s`, is `%s`\n", strstr(a->type, "(*)") ? "had the signature" : "was of type",
           a->type, b->type);
  } else if (a->size != b->size) {
    say(c, b->name);
    printf("had %lld bytes, has %lld\n", (long long)a->size, (long long)b->size);
  }
}

static void compare_struct(comparison *c, const abi_record *a, const abi_record *b) {
  if (b->size < a->size) {
    say(c, b->name);
    printf("had %lld bytes, has %lld: a struct never gets shorter\n", (long long)a->size,
           (long long)b->size);
  } else if (b->size > a->size && !has_head(c->old, a)) {
    say(c, b->name);
    printf("has no head, so nobody can tell how long it is: it is frozen\n");
  }
}

static void compare_number(comparison *c, const abi_record *a, const abi_record *b) {
  if (a->size == b->size) return;
  if (tn_has_suffix(a->name, "_COUNT") && b->size > a->size) return; /* how many there are now */
  say(c, b->name);
  printf("was %lld, is %lld: plug-ins have the old number built in\n", (long long)a->size,
         (long long)b->size);
}

static void compare_text(comparison *c, const abi_record *a, const abi_record *b) {
  if (!strcmp(a->type, b->type)) return;
  say(c, b->name);
  if (a->kind == ABI_MACRO)
    printf("took %s, takes %s\n", *a->type ? a->type : "nothing", *b->type ? b->type : "nothing");
  else
    printf("was `%s`, is `%s`\n", a->type, b->type);
}

static void compare_old(comparison *c, const abi_record *a) {
  const abi_record *b = abi_find(c->now, a->kind, a->name);
  if (!b)
    gone(c, a);
  else if (a->kind == ABI_MEMBER)
    compare_member(c, a, b);
  else if (a->kind == ABI_STRUCT)
    compare_struct(c, a, b);
  else if (a->kind == ABI_CONST || a->kind == ABI_VALUE)
    compare_number(c, a, b);
  else
    compare_text(c, a, b);
}

/* New members have to lie behind everything that old has of the struct. */
static void compare_new(comparison *c, const abi_record *b) {
  const abi_record *s = b->kind == ABI_MEMBER ? struct_of(c->now, b) : NULL;
  const abi_record *old = s ? abi_find(c->old, ABI_STRUCT, s->name) : NULL;
  if (abi_find(c->old, b->kind, b->name)) return;
  if (old && b->offset < old->size) {
    say(c, b->name);
    printf(
        "is new, at offset %lld, inside of the %lld bytes that ABI %ld.%ld has of %s: append "
        "it\n",
        (long long)b->offset, (long long)old->size, c->old->major, c->old->minor, s->name);
  } else if (c->now->minor == c->old->minor && b->kind != ABI_FUNCTION) { /* those bind nobody */
    say(c, b->name);
    printf("is new, but the header still says ABI %ld.%ld, which has a lock: raise TN_ABI_MINOR\n",
           c->now->major, c->now->minor);
  }
}

int abi_compare(const abi_lock *old, const abi_lock *now) {
  comparison c = {old, now, 0};
  if (now->major != old->major || now->minor < old->minor) {
    say(&c, now->path);
    printf("is ABI %ld.%ld, which does not follow %ld.%ld\n", now->major, now->minor, old->major,
           old->minor);
    return c.n;
  }
  for (int64_t k = 0; k < old->records.n; k++) compare_old(&c, &old->records.data[k]);
  for (int64_t k = 0; k < now->records.n; k++) compare_new(&c, &now->records.data[k]);
  return c.n;
}
