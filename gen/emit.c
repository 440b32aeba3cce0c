/* What all outputs share: writing files, C strings and comments, declarations. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "gen.h"

static const struct {
  const char *result, *parameters;
} signatures[] = {
    [GEN_CALL] = {"tn_status ", "(const tn_call *call)"},
    [GEN_FLOPS] = {"tn_status ", "(const tn_call *call, double *out_flops)"},
    [GEN_LOWER] = {"tn_status ", "(const tn_call *call, tn_graph *graph, int32_t node)"},
    [GEN_EPILOGUE] = {"tn_status ", "(const tn_call *call, tn_epilogue *out)"},
    [GEN_REFUSE] = {"const char *", "(const tn_call *call)"},
    [GEN_PLAN] = {"tn_status ", "(const tn_call *call, tn_kernel_plan *out)"},
    [GEN_RUN] =
        {"tn_status ",
         "(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker)"},
    [GEN_FINISH] = {"void ", "(const tn_call *call)"},
    [GEN_INIT] = {"tn_status ",
                  "(const tn_host *host, void *ctx, const tn_option *const *options, "
                  "uint32_t n_options, void **out_self)"},
    [GEN_SHUTDOWN] = {"void ", "(void *self)"},
    [GEN_FORMAT] = {"extern const tn_format ", ""},
    [GEN_DRIVER] = {"extern const tn_device_driver ", ""},
    [GEN_DEVICE_KERNEL] = {"extern const tn_device_kernel ", ""},
    [GEN_RECORD] = {"tn_status ", "(const tn_call *call, tn_recorder *recorder)"},
};

static bool holds(const char *path, const tn_text *text) {
  tn_mapping file;
  if (tn_file_map(path, NULL, &file)) return false;
  const bool same = file.size == (uint64_t)text->n && memcmp(file.data, text->data, file.size) == 0;
  tn_file_unmap(&file);
  return same;
}

static tn_status replace(gen *g, const char *path, const tn_text *text, tn_diag *diag) {
  tn_file_writer w;
  tn_status status = tn_file_writer_open(&w, g->a, path, diag);
  if (status) return status;
  status = tn_file_writer_write(&w, text->data, (uint64_t)text->n, diag);
  if (!status) status = tn_file_writer_commit(&w, diag);
  if (status) tn_file_writer_abort(&w);
  return status;
}

bool gen_write(gen *g, const char *dir, const char *name, tn_text *text) {
  if (text->status) gen_need(NULL);
  const char *path = gen_format_text(g, "%s/%s", dir, name);
  tn_diag *diag = gen_need(tn_diag_create());
  const bool ok = holds(path, text) || !replace(g, path, text, diag);
  if (!ok) fprintf(stderr, "tenon-gen: %s\n", tn_diag_text(diag));
  tn_diag_destroy(diag);
  tn_text_free(text);
  return ok;
}

void gen_emit_c_string(tn_text *out, const char *s) {
  if (!s) {
    tn_text_add(out, "NULL");
    return;
  }
  tn_text_add(out, "\"");
  for (char before = 0; *s; before = *s++) {
    const unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\' || (c == '?' && before == '?')) /* ??: no trigraphs */
      tn_text_add(out, "\\%c", c);
    else if (c == '\n')
      tn_text_add(out, "\\n");
    else if (c < 0x20 || c == 0x7f)
      tn_text_add(out, "\\%03o", c);
    else
      tn_text_add(out, "%c", c);
  }
  tn_text_add(out, "\"");
}

void gen_emit_comment(tn_text *out, const char *s) {
  for (; *s; s++) {
    const bool mark = (s[0] == '*' && s[1] == '/') || (s[0] == '/' && s[1] == '*');
    tn_text_add(out, mark ? "%c " : "%c", *s);
  }
}

void gen_emit_declarations(gen *g, tn_text *out, const char *family) {
  const char *last = "";
  for (int64_t k = 0; k < g->functions.n; k++) { /* sorted by name */
    const gen_function *f = &g->functions.data[k];
    if ((family && strcmp(f->family, family) != 0) || strcmp(f->name, last) == 0) continue;
    last = f->name;
    tn_text_add(out, "%s%s%s;\n", signatures[f->signature].result, f->name,
                signatures[f->signature].parameters);
  }
}

const char *gen_attrs_name(gen *g, const gen_op *op) {
  if (!op->until) return gen_format_text(g, "tn_%s_attrs", op->word);
  return gen_format_text(g, "tn_%s_v%d_attrs", op->word, op->since);
}

const char *gen_versions_text(gen *g, int since, int until) {
  if (until == 0) return gen_format_text(g, "%d and later", since);
  if (since == until) return gen_format_text(g, "%d", since);
  return gen_format_text(g, "%d to %d", since, until);
}
