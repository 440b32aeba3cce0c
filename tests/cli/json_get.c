/* Prints the value at a path of a JSON file: `json_get FILE outputs.0.name`. Ends with 1 if the
 * file is no JSON or there is no such value. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *load(const char *path) {
  static char text[1 << 24];
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  return cJSON_ParseWithOpts(text, NULL, 1);
}

static const cJSON *find(const cJSON *at, const char *path) {
  char word[256];
  while (at && *path) {
    size_t n = strcspn(path, ".");
    if (n >= sizeof word) return NULL;
    memcpy(word, path, n);
    word[n] = 0;
    at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(word))
                           : cJSON_GetObjectItemCaseSensitive(at, word);
    path += n + (path[n] == '.');
  }
  return at;
}

int main(int argc, char **argv) {
  cJSON *json = argc == 3 ? load(argv[1]) : NULL;
  const cJSON *value = json ? find(json, argv[2]) : NULL;
  if (value && cJSON_IsString(value)) {
    puts(cJSON_GetStringValue(value));
  } else if (value) {
    char *text = cJSON_PrintUnformatted(value);
    puts(text ? text : "");
    cJSON_free(text);
  }
  int code = value ? 0 : 1;
  cJSON_Delete(json);
  return code;
}
