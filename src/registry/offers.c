/* What the file of a plug-in says that it offers (tenon/kit/offers.h), read without mapping it; and
 * holding the plug-in to it once it is. */
#include "registry/offers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/offers.h"

/* ---- reading ---- */

#if defined(__linux__)
#include <link.h>

enum { BEGINNING = 4096, MOST = 1 << 16 };

static bool read_at(int fd, void *to, uint64_t bytes, uint64_t at) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = pread(fd, (char *)to + done, (size_t)(bytes - done), (int64_t)(at + done));
    if (n <= 0 && !(n < 0 && errno == EINTR)) return false;
    done += n > 0 ? (uint64_t)n : 0;
  }
  return true;
}

/* The words of the notes in a segment of `size` bytes. False: it is no list of notes. */
static bool read_notes(const char *notes, uint64_t size, uint64_t align, tn_text *out) {
  ElfW(Nhdr) note;
  for (uint64_t at = 0; size - at >= sizeof note;) {
    memcpy(&note, notes + at, sizeof note);
    const uint64_t name = at + sizeof note, words = tn_round_up(name + note.n_namesz, align);
    const uint64_t end = words + note.n_descsz;
    if (end > size) return false;
    const bool is_ours = note.n_type == TN_OFFERS_TYPE && note.n_namesz == sizeof TN_OFFERS_OWNER &&
                         !memcmp(notes + name, TN_OFFERS_OWNER, sizeof TN_OFFERS_OWNER);
    if (is_ours && (!note.n_descsz || memchr(notes + words, 0, note.n_descsz) != notes + end - 1))
      return false;
    if (is_ours) tn_text_add(out, "%s%s", out->data ? " " : "", notes + words);
    at = tn_round_up(end, align) < size ? tn_round_up(end, align) : size;
  }
  return true;
}

/* Most notes stand in the n bytes that the file begins with. */
static bool read_segment(int fd, const uint8_t *beginning, uint64_t n, const ElfW(Phdr) * s,
                         tn_text *out) {
  const uint64_t align = s->p_align == 8 ? 8 : 4;
  if (s->p_type != PT_NOTE) return true;
  if (s->p_filesz > MOST) return false;
  if (s->p_offset <= n && s->p_filesz <= n - s->p_offset)
    return read_notes((const char *)beginning + s->p_offset, s->p_filesz, align, out);
  char *notes = tn_alloc_raw(out->a, s->p_filesz + 1);
  const bool ok = notes && read_at(fd, notes, s->p_filesz, s->p_offset) &&
                  read_notes(notes, s->p_filesz, align, out);
  tn_free(out->a, notes, s->p_filesz + 1);
  return ok;
}

/* The header and the table of segments stand at the beginning of what linkers write. */
static bool read_words(int fd, tn_text *out) {
  uint8_t beginning[BEGINNING];
  ElfW(Ehdr) header;
  const ssize_t n = pread(fd, beginning, sizeof beginning, 0);
  if (n <= 0 || tn_elf_check_header("", beginning, (uint64_t)n, NULL)) return false;
  memcpy(&header, beginning, sizeof header);
  for (uint32_t k = 0; k < header.e_phnum; k++) {
    ElfW(Phdr) s;
    memcpy(&s, beginning + header.e_phoff + k * sizeof s, sizeof s);
    if (!read_segment(fd, beginning, (uint64_t)n, &s, out)) return false;
  }
  return out->data && !out->status;
}
#else
static bool read_words(int fd, tn_text *out) { return (void)fd, (void)out, false; }
#endif

const char *tn_offers_read(tn_arena *arena, int fd) {
  tn_text words;
  tn_text_init(&words, arena->a);
  const char *kept = read_words(fd, &words) ? tn_arena_str(arena, tn_text_get(&words)) : NULL;
  tn_text_free(&words);
  return kept;
}

/* ---- words ---- */

/* The next word of *text, in memory of the arena; NULL: none is left, or none of memory. */
static char *next_word(tn_arena *arena, const char **text) {
  *text += strspn(*text, " ");
  const size_t n = strcspn(*text, " ");
  if (!n) return NULL;
  char *word = tn_arena_strn(arena, *text, (int64_t)n);
  *text += n;
  return word;
}

/* What the map has of a word: its versions, in one number that is not 0. */
static int64_t pack(tn_versions v) { return (int64_t)v.since << 32 | v.until; }
static tn_versions unpack(int64_t packed) {
  return (tn_versions){(int32_t)(packed >> 32), (int32_t)(packed & INT32_MAX)};
}

/* "16" of "@1-16", at *text; false: it is no version. */
static bool read_version(const char **text, int32_t *out) {
  int64_t n = 0;
  const char *p = *text;
  for (; *p >= '0' && *p <= '9' && n <= INT32_MAX; p++) n = 10 * n + (*p - '0');
  if (p == *text || n > INT32_MAX) return false;
  *text = p;
  *out = (int32_t)n;
  return true;
}

/* Takes "@1-16" off a word. One that reads otherwise stays: no operator has such a name. */
static tn_versions take_versions(char *word) {
  tn_versions v = {0, INT32_MAX};
  char *at = strchr(word, '@');
  const char *p = at ? at + 1 : NULL;
  if (!p || !read_version(&p, &v.since) || *p++ != '-' || !read_version(&p, &v.until) || *p)
    return (tn_versions){0, INT32_MAX};
  *at = 0;
  if (!v.until) v.until = INT32_MAX;
  return v;
}

/* An operator that is named more than once has versions from the first to the last. */
static tn_status add_word(tn_map *words, const char *word, tn_versions v) {
  const int64_t known = tn_map_get(words, word, 0);
  if (known) {
    const tn_versions before = unpack(known);
    if (before.since < v.since) v.since = before.since;
    if (before.until > v.until) v.until = before.until;
  }
  return tn_map_set(words, word, pack(v));
}

tn_status tn_offers_add(tn_arena *arena, const char *text, tn_map *words) {
  tn_status status = TN_OK;
  while (!status && text[strspn(text, " ")]) {
    char *word = next_word(arena, &text);
    if (!word) return TN_ERR_MEMORY;
    const tn_versions v = take_versions(word);
    status = add_word(words, tn_offers_word(word), v);
  }
  return status;
}

bool tn_offers_depend(tn_arena *arena, const char *text) {
  while (text[strspn(text, " ")]) {
    const char *word = next_word(arena, &text);
    const char *value = word && *word == '$' ? getenv(word + 1) : NULL;
    if (!word || (value && *value)) return true;
  }
  return false;
}

tn_versions tn_offers_of(const tn_map *words, const char *domain, const char *name) {
  char word[2 * TN_LIMIT_NAME + 3];
  int64_t known = 0;
  if (words->n && *domain) snprintf(word, sizeof word, "%s::%s", domain, name);
  if (words->n) known = tn_map_get(words, *domain ? word : name, 0);
  return known ? unpack(known) : (tn_versions){1, 0};
}

/* ---- holding a plug-in to its words ---- */

/* part: the name of a kernel or rewrite; NULL: it is the operator itself. */
static void check_op(tn_vet *v, const tn_map *words, const char *kind, uint32_t index,
                     const char *part, const char *domain, const char *name, tn_versions versions) {
  const tn_versions said = tn_offers_of(words, domain, name);
  if (said.since <= versions.since && versions.until <= said.until) return;
  tn_vet_part(v, kind, index);
  v->domain = part ? NULL : domain;
  v->name = part ? part : name;
  tn_vet_fail(v, TN_ERR_INVALID, NULL, "TN_OFFERS in its file does not name the operator %s%s%s%s",
              domain, *domain ? "::" : "", name,
              said.since <= said.until ? " in all versions that this is for" : "");
}

static void check_ops(tn_vet *v, const tn_map *words) {
  const tn_plug *plug = v->plug;
  for (uint32_t k = 0; k < plug->n_ops + plug->n_left_out; k++)
    check_op(v, words, "op", k, NULL, plug->ops[k]->op.domain, plug->ops[k]->op.name,
             tn_op_versions(&plug->ops[k]->op));
  for (uint32_t k = 0; k < plug->n_kernels; k++)
    check_op(v, words, "kernel", k, plug->kernels[k]->def.kernel.name, plug->kernels[k]->def.domain,
             plug->kernels[k]->def.op, tn_kernel_versions(&plug->kernels[k]->def.kernel));
  for (uint32_t k = 0; k < plug->n_rewrites; k++)
    check_op(v, words, "rewrite", k, plug->rewrites[k]->rewrite.name, plug->rewrites[k]->domain,
             plug->rewrites[k]->op, (tn_versions){0, INT32_MAX});
}

static void check_kinds(tn_vet *v, const tn_map *words) {
  const tn_plugin *p = &v->plug->plugin;
  const struct {
    const char *word;
    uint32_t n;
  } kinds[] = {{TN_OFFERS_FORMATS, p->n_formats},
               {TN_OFFERS_DRIVERS, p->n_drivers},
               {TN_OFFERS_COMPILERS, p->n_compilers},
               {TN_OFFERS_DISPATCHERS, p->n_dispatchers},
               {TN_OFFERS_EXTENSIONS, p->n_extensions}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (!kinds[k].n || tn_map_get(words, kinds[k].word, 0)) continue;
    tn_vet_part(v, NULL, 0);
    tn_vet_fail(v, TN_ERR_INVALID, kinds[k].word + 1,
                "are %u, but TN_OFFERS in its file does not say %s", kinds[k].n, kinds[k].word);
  }
}

void tn_vet_offers(tn_vet *v) {
  tn_plug *plug = v->plug;
  if (!plug->offers || tn_offers_depend(&plug->arena, plug->offers)) return;
  tn_map words;
  tn_map_init_borrowing(&words, plug->a);
  if (tn_offers_add(&plug->arena, plug->offers, &words)) {
    tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
  } else {
    check_ops(v, &words);
    check_kinds(v, &words);
  }
  tn_map_free(&words);
}
