/* JSON documents for the --json options. Built by cJSON where Tenon was built with it; else making
 * one fails with a message, and all else does nothing. Every function takes NULL for a node that
 * could not be made, so callers check once, at the end. */
#ifndef TN_CLI_JSON_H
#define TN_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct cJSON cli_json;

/* An object. NULL after a message: this build has no cJSON, or no memory. */
cli_json *cli_json_new(void);
void cli_json_free(cli_json *json);
/* Writes the document to a file (replaced whole or not at all), or to stdout for "-", and frees it.
 * False after a message; also for NULL, quietly: cli_json_new has said why. */
bool cli_json_write_take(cli_json *json, const char *path);

/* The text of the document in one line, with '<' escaped, so that it can stand in a page; frees the
 * document. NULL after a message; also for NULL, quietly. cli_json_line_free frees it. */
char *cli_json_line_take(cli_json *json);
void cli_json_line_free(char *text);
/* A document that stands in memory; NULL if it is none. */
cli_json *cli_json_parse(const char *text, size_t size);
/* Member `key`, an array or object, is moved from one document to the end of another array. False:
 * there is none. */
bool cli_json_move(cli_json *from, const char *key, cli_json *to);

/* True if what an option --json names is stdout: then nothing else is written there. NULL:
 * false. */
static inline bool cli_json_to_stdout(const char *path) { return path && !strcmp(path, "-"); }

/* Members. key NULL: `to` is an array, the value is appended. Text that is not UTF-8 is written
 * with
 * '?' for the bytes that do not fit; numbers that are not finite as null. */
void cli_json_text(cli_json *to, const char *key, const char *text); /* NULL: null */
void cli_json_int(cli_json *to, const char *key, int64_t number);    /* exact */
void cli_json_number(cli_json *to, const char *key, double number);
void cli_json_bool(cli_json *to, const char *key, bool value);
cli_json *cli_json_object(cli_json *to, const char *key);
cli_json *cli_json_array(cli_json *to, const char *key);

#endif
