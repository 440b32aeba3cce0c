/* JSON through cJSON; without it, one message. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli.h"

#if TENON_CJSON
#include <cjson/cJSON.h>

cli_json *cli_json_new(void) {
  cli_json *json = cJSON_CreateObject();
  if (!json) cli_error("no memory for JSON");
  return json;
}

void cli_json_free(cli_json *json) { cJSON_Delete(json); }

/* cJSON writes bytes as they are, and names in models are any bytes. */
static void clean(tn_text *to, const char *text) {
  int64_t n = (int64_t)strlen(text);
  tn_text_init(to, tn_default_allocator());
  for (int64_t k = 0; k < n;) {
    int64_t step = 1;
    while (step < 4 && k + step < n && !tn_utf8_valid(text + k, step)) step++;
    bool valid = tn_utf8_valid(text + k, step);
    tn_text_add_bytes(to, valid ? text + k : "?", valid ? step : 1);
    k += valid ? step : 1;
  }
}

static bool put_member(cli_json *to, const char *key, cli_json *item) {
  tn_text text;
  clean(&text, key);
  const bool done = cJSON_AddItemToObject(to, tn_text_get(&text), item);
  tn_text_free(&text);
  return done;
}

static void put(cli_json *to, const char *key, cli_json *item) {
  if (!item) return;
  bool done = false;
  if (to && key) done = put_member(to, key, item);
  if (to && !key) done = cJSON_AddItemToArray(to, item);
  if (!done) cJSON_Delete(item);
}

static cli_json *clean_text(const char *text) {
  tn_text copy;
  clean(&copy, text);
  cli_json *item = cJSON_CreateString(tn_text_get(&copy));
  tn_text_free(&copy);
  return item;
}

void cli_json_text(cli_json *to, const char *key, const char *text) {
  bool valid = !text || tn_utf8_valid(text, (int64_t)strlen(text));
  put(to, key, !text ? cJSON_CreateNull() : valid ? cJSON_CreateString(text) : clean_text(text));
}

void cli_json_int(cli_json *to, const char *key, int64_t number) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)number);
  put(to, key, cJSON_CreateRaw(text)); /* its numbers are doubles */
}

void cli_json_number(cli_json *to, const char *key, double number) {
  put(to, key, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

void cli_json_bool(cli_json *to, const char *key, bool value) {
  put(to, key, cJSON_CreateBool(value));
}

static cli_json *put_node(cli_json *to, const char *key, cli_json *item) {
  if (to) {
    put(to, key, item);
    return item;
  }
  cJSON_Delete(item);
  return NULL;
}

cli_json *cli_json_object(cli_json *to, const char *key) {
  return put_node(to, key, cJSON_CreateObject());
}

cli_json *cli_json_array(cli_json *to, const char *key) {
  return put_node(to, key, cJSON_CreateArray());
}

static bool write_file(const char *path, const char *text) {
  tn_diag *diag = tn_diag_create();
  tn_file_writer file;
  tn_status s = tn_file_writer_open(&file, tn_default_allocator(), path, diag);
  if (!s) {
    s = tn_file_writer_write(&file, text, strlen(text), diag);
    if (!s) s = tn_file_writer_write(&file, "\n", 1, diag);
    if (!s) s = tn_file_writer_commit(&file, diag);
    tn_file_writer_abort(&file);
  }
  cli_print_diag(diag);
  tn_diag_destroy(diag);
  return s == TN_OK;
}

bool cli_json_write_take(cli_json *json, const char *path) {
  if (!json) return false;
  char *text = cJSON_Print(json);
  cJSON_Delete(json);
  bool ok = text;
  if (!text)
    cli_error("no memory for JSON");
  else if (strcmp(path, "-"))
    ok = write_file(path, text);
  else
    ok = puts(text) >= 0;
  cJSON_free(text);
  return ok;
}

char *cli_json_line_take(cli_json *json) {
  if (!json) return NULL;
  char *text = cJSON_PrintUnformatted(json), *line = NULL;
  cJSON_Delete(json);
  size_t n = 1;
  for (const char *p = text; p && *p; p++) n += *p == '<' ? 6 : 1;
  if (text) line = malloc(n);
  char *to = line;
  for (const char *p = text; line && *p; p++) {
    if (*p == '<') memcpy(to, "\\u003c", 6);
    if (*p != '<') *to = *p;
    to += *p == '<' ? 6 : 1;
  }
  if (line) *to = 0;
  if (!line) cli_error("no memory for JSON");
  cJSON_free(text);
  return line;
}

void cli_json_line_free(char *text) { free(text); }

cli_json *cli_json_parse(const char *text, size_t size) {
  return cJSON_ParseWithLength(text, size);
}

bool cli_json_move(cli_json *from, const char *key, cli_json *to) {
  cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, key);
  if (item && cJSON_AddItemToArray(to, item)) return true;
  cJSON_Delete(item);
  return false;
}

#else

cli_json *cli_json_new(void) {
  cli_error("JSON is not to be had: this tenon was built without cJSON (libcjson-dev)");
  return NULL;
}

void cli_json_free(cli_json *json) { (void)json; }

bool cli_json_write_take(cli_json *json, const char *path) {
  (void)json, (void)path;
  return false;
}

char *cli_json_line_take(cli_json *json) {
  (void)json;
  return NULL;
}

void cli_json_line_free(char *text) { (void)text; }

cli_json *cli_json_parse(const char *text, size_t size) {
  (void)text, (void)size;
  return NULL;
}

bool cli_json_move(cli_json *from, const char *key, cli_json *to) {
  (void)from, (void)key, (void)to;
  return false;
}

void cli_json_text(cli_json *to, const char *key, const char *text) {
  (void)to, (void)key, (void)text;
}

void cli_json_int(cli_json *to, const char *key, int64_t number) {
  (void)to, (void)key, (void)number;
}

void cli_json_number(cli_json *to, const char *key, double number) {
  (void)to, (void)key, (void)number;
}

void cli_json_bool(cli_json *to, const char *key, bool value) { (void)to, (void)key, (void)value; }

cli_json *cli_json_object(cli_json *to, const char *key) {
  (void)to, (void)key;
  return NULL;
}

cli_json *cli_json_array(cli_json *to, const char *key) {
  (void)to, (void)key;
  return NULL;
}

#endif
