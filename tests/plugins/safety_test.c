/* What is loaded and what is not: where discovery looks, lists of what is allowed, vetting by
 * another process and its cache, and programs with more rights than their caller. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/sha256.h"
#include "base/text.h"
#include "exec/exec.h"
#include "kit.h"
#include "registry/load.h"

typedef struct fixture {
  tn_runtime *rt;
  tn_diag *diag;
  tn_runtime_options options;
  char good[256], sha256[TN_SHA256_TEXT];
} fixture;

static void hash_file(const char *path, char *out) {
  static unsigned char bytes[1 << 21];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_in_range(n, 1000, sizeof bytes - 1);
  tn_sha256_text(bytes, n, out);
}

static int setup(void **state) {
  static fixture f;
  if (kit_open(state)) return 1;
  memset(&f, 0, sizeof f);
  setenv("XDG_CACHE_HOME", kit_dir, 1);
  f.diag = tn_diag_create();
  f.options = kit_options(TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY);
  assert_int_equal(mkdir(kit_path("p"), 0755), 0);
  strcpy(f.good, kit_module("good.so", "p/good.so"));
  hash_file(f.good, f.sha256);
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  tn_runtime_destroy(f->rt);
  tn_diag_destroy(f->diag);
  return kit_close(state);
}

/* A new runtime with f->options; its status. */
static tn_status start(fixture *f) {
  tn_runtime_destroy(f->rt);
  f->rt = NULL;
  tn_diag_clear(f->diag);
  return tn_runtime_create(&f->options, f->diag, &f->rt);
}

static void discover(fixture *f, const char *folders) {
  setenv("TENON_PLUGIN_PATH", folders, 1);
  f->options.flags = TN_RUNTIME_NO_BUILTINS;
  assert_int_equal(start(f), TN_OK);
}

static tn_status load(fixture *f, const char *path) {
  tn_diag_clear(f->diag);
  return tn_runtime_load_plugin(f->rt, path, NULL, 0, f->diag);
}

static void assert_folder(fixture *f, int32_t index, const char *name, const char *refused) {
  tn_folder_info info = {.head = TN_HEAD(tn_folder_info)};
  assert_int_equal(tn_runtime_folder(f->rt, index, &info), TN_OK);
  assert_string_equal(info.folder, name);
  if (!refused) assert_null(info.refused);
  if (refused && (!info.refused || !strstr(info.refused, refused)))
    fail_msg("'%s': expected '%s' in: %s", name, refused, info.refused ? info.refused : "(taken)");
}

/* ---- discovery ---- */

static void test_folders(void **state) {
  fixture *f = *state;
  char folders[1024];
  kit_write("p/notes.txt", "hello", 0644);
  assert_int_equal(mkdir(kit_path("open"), 0755), 0);
  chmod(kit_path("open"), 0777);
  snprintf(folders, sizeof folders, ":.:p:%s/p:%s/none:%s/open", kit_dir, kit_dir, kit_dir);
  discover(f, folders);
  assert_folder(f, 0, "", "it is empty, which would mean the working folder");
  assert_folder(f, 1, ".", "it is not an absolute path");
  assert_folder(f, 2, "p", "it is not an absolute path");
  assert_folder(f, 3, kit_path("p"), NULL);
  assert_folder(f, 4, kit_path("none"), "No such file or directory");
  assert_folder(f, 5, kit_path("open"), "can be written by others");
  tn_folder_info info = {.head = TN_HEAD(tn_folder_info)};
  assert_int_equal(tn_runtime_folder(f->rt, 3, &info), TN_OK);
  assert_string_equal(info.found_by, "TENON_PLUGIN_PATH");
  assert_int_equal(info.n_files, 1);
  assert_int_equal(info.n_others, 1);
  assert_int_equal(tn_runtime_folder(f->rt, tn_runtime_n_folders(f->rt), &info), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_runtime_folder(f->rt, -1, &info), TN_ERR_NOT_FOUND);
  const tn_plugin_info plugin = kit_info(f->rt, 0);
  assert_string_equal(plugin.sha256, f->sha256);
  assert_true(kit_noted(&plugin, "nobody but root and this user can write it or a folder above"));
}

/* The hash is made when somebody asks: of what was loaded, not of what took its place. */
static void test_hash_of_another(void **state) {
  fixture *f = *state;
  setenv("TENON_PLUGIN_DIR", "", 1);
  discover(f, kit_path("p"));
  assert_int_equal(rename(kit_write("p/other", "no plug-in", 0644), f->good), 0);
  assert_string_equal(kit_info(f->rt, 0).sha256, "");
  discover(f, kit_path("none"));
  kit_module("good.so", "p/good.so");
  discover(f, kit_path("p"));
  assert_string_equal(kit_info(f->rt, 0).sha256, f->sha256);
  assert_int_equal(unlink(f->good), 0); /* it is known by now */
  assert_string_equal(kit_info(f->rt, 0).sha256, f->sha256);
}

/* In place of the folder that the library was built with. */
static void test_installed_folder(void **state) {
  fixture *f = *state;
  setenv("TENON_PLUGIN_DIR", kit_path("p"), 1);
  discover(f, kit_path("none"));
  assert_folder(f, 1, kit_path("p"), NULL);
  tn_folder_info info = {.head = TN_HEAD(tn_folder_info)};
  assert_int_equal(tn_runtime_folder(f->rt, 1, &info), TN_OK);
  assert_string_equal(info.found_by, "installed");
  assert_int_equal(tn_runtime_n_plugins(f->rt), 1);
}

static void test_installed_folder_is_absolute(void **state) {
  fixture *f = *state;
  setenv("TENON_PLUGIN_DIR", "p", 1);
  discover(f, kit_path("none"));
  assert_folder(f, 1, "p", "it is not an absolute path");
}

/* A folder that is fine, under one in which others can put another in its place. */
static void test_folders_above(void **state) {
  fixture *f = *state;
  char folder[512], expected[512];
  assert_int_equal(mkdir(kit_path("up"), 0755), 0);
  assert_int_equal(mkdir(kit_path("up/p"), 0755), 0);
  kit_module("good.so", "up/p/good.so");
  strcpy(folder, kit_path("up/p"));
  chmod(kit_path("up"), 0775);
  discover(f, folder);
  assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  snprintf(expected, sizeof expected, "good.so: is not loaded: the folder %s can be written by",
           kit_path("up"));
  assert_non_null(strstr(kit_info(f->rt, 0).refused, expected));
  chmod(kit_path("up"), 0755);
  discover(f, folder);
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
}

static void test_links(void **state) {
  fixture *f = *state;
  char folder[512];
  assert_int_equal(mkdir(kit_path("links"), 0755), 0);
  assert_int_equal(symlink(f->good, kit_path("links/l.so")), 0);
  strcpy(folder, kit_path("links"));
  discover(f, folder);
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
  chmod(kit_path("p"), 0777); /* where the link leads */
  discover(f, folder);
  assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  assert_non_null(strstr(kit_info(f->rt, 0).refused, "p can be written by others"));
}

/* ---- lists of what is allowed ---- */

/* A list with one line for good.so under `name`. */
static const char *allow_line(const fixture *f, const char *name) {
  static char text[1024];
  snprintf(text, sizeof text, "# plug-ins\n\n%s  %s\n", f->sha256, name);
  return kit_write("allow", text, 0644);
}

static void test_allowed(void **state) {
  fixture *f = *state;
  f->options.plugin_allow = allow_line(f, "good.so");
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_OK);
  tn_plugin_info info = kit_info(f->rt, 0);
  assert_true(kit_noted(&info, "allow, line 3"));
  f->options.plugin_allow = allow_line(f, f->good);
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_OK);
  discover(f, kit_path("p"));
  assert_int_equal(tn_runtime_n_ops(f->rt), 1);
}

static void test_not_allowed(void **state) {
  fixture *f = *state;
  static const struct {
    const char *name, *says;
  } rows[] = {{"other.so", "has this SHA-256 for a file of another name (it is "},
              {"/nowhere/good.so", "has this SHA-256 for a file of another name"}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    f->options.plugin_allow = allow_line(f, rows[k].name);
    assert_int_equal(start(f), TN_OK);
    assert_int_equal(load(f, f->good), TN_ERR_INVALID);
    kit_says(f->diag, rows[k].says);
    kit_says(f->diag, f->sha256);
    assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  }
  f->sha256[5] = f->sha256[5] == '0' ? '1' : '0';
  f->options.plugin_allow = allow_line(f, "good.so");
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_ERR_INVALID);
  kit_says(f->diag, "allow has the file with another SHA-256 (it is ");
  f->options.plugin_allow = kit_write("allow", "", 0644);
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_ERR_INVALID);
  kit_says(f->diag, "allow does not have the file");
}

/* With a list, what is named must be as safe as what is found: else it is another file by the time
 * it is loaded. */
static void test_pins_need_trust(void **state) {
  fixture *f = *state;
  f->options.plugin_allow = allow_line(f, "good.so");
  assert_int_equal(start(f), TN_OK);
  chmod(f->good, 0664);
  assert_int_equal(load(f, f->good), TN_ERR_INVALID);
  kit_says(f->diag, "a SHA-256 says nothing about it: the file ");
}

static void test_both_lists_have_to_allow(void **state) {
  fixture *f = *state;
  setenv("TENON_PLUGIN_ALLOW", kit_write("none", "# nothing\n", 0644), 1);
  f->options.plugin_allow = allow_line(f, "good.so");
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_ERR_INVALID);
  kit_says(f->diag, "none does not have the file");
  setenv("TENON_PLUGIN_ALLOW", kit_path("allow"), 1);
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_OK);
}

/* Nobody knows what a broken list allows: there is no runtime then. */
static void test_broken_lists(void **state) {
  fixture *f = *state;
  static const char *const texts[] = {"good.so\n", "abc  good.so\n", "zz  good.so"};
  char text[512];
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    f->options.plugin_allow = kit_write("allow", texts[k], 0644);
    assert_int_equal(start(f), TN_ERR_INVALID);
    kit_says(f->diag, "allow, line 1: must be a SHA-256 of 64 digits");
  }
  static const char *const names[] = {"", "a/b.so", ".", ".."};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    snprintf(text, sizeof text, "%s  %s\n", f->sha256, names[k]);
    f->options.plugin_allow = kit_write("allow", text, 0644);
    assert_int_equal(start(f), TN_ERR_INVALID);
  }
  allow_line(f, "good.so");
  chmod(kit_path("allow"), 0666);
  f->options.plugin_allow = kit_path("allow");
  assert_int_equal(start(f), TN_ERR_INVALID);
  kit_says(f->diag, "cannot be relied on: the file ");
  f->options.plugin_allow = kit_path("missing");
  assert_int_equal(start(f), TN_ERR_INVALID);
  f->options.plugin_allow = "relative";
  assert_int_equal(start(f), TN_ERR_INVALID);
  kit_says(f->diag, "the path relative is not absolute");
}

/* ---- vetting by another process ---- */

/* A command that notes its arguments and the variables that it should not see, and ends so. */
static const char *vetter(const char *end) {
  char text[2048];
  snprintf(
      text, sizeof text,
      "#!/bin/sh\necho \"$@ ${TENON_PLUGIN_PATH-unset} ${TENON_PLUGIN_VET-unset}\" >> %s/vetted\n"
      "%s\n",
      kit_dir, end);
  return kit_write("vetter", text, 0755);
}

static void test_vet(void **state) {
  fixture *f = *state;
  char expected[600];
  setenv("TENON_PLUGIN_PATH", "/nowhere", 1);
  f->options.plugin_vet = vetter("exit 0");
  snprintf(expected, sizeof expected, "plugin vet %s unset unset\n", f->good);
  for (int round = 0; round < 2; round++) { /* the second time the cache knows it */
    assert_int_equal(start(f), TN_OK);
    assert_int_equal(load(f, f->good), TN_OK);
    assert_string_equal(kit_read(kit_path("vetted")), expected);
    const tn_plugin_info info = kit_info(f->rt, 0);
    assert_true(kit_noted(&info, round ? "was vetted before: " : "was vetted by "));
  }
  assert_int_equal(load(f, kit_module("duplicate.so", "p/d.so")), TN_OK); /* another file: anew */
  assert_true(strlen(kit_read(kit_path("vetted"))) > strlen(expected));
}

/* An entry that others may have written is no proof. */
static void test_vet_cache_of_others(void **state) {
  fixture *f = *state;
  f->options.plugin_vet = vetter("exit 0");
  for (int round = 0; round < 2; round++) {
    assert_int_equal(start(f), TN_OK);
    assert_int_equal(load(f, f->good), TN_OK);
    chmod(kit_path("tenon/vetted"), 0777);
  }
  const char *first = strstr(kit_read(kit_path("vetted")), "plugin vet");
  assert_non_null(first);
  assert_non_null(strstr(first + 1, "plugin vet"));
}

static void test_vet_says_no(void **state) {
  fixture *f = *state;
  static const struct {
    const char *end, *says;
    tn_status status;
  } rows[] = {
      {"echo 'it smells'; exit 1", "it did not pass vetting:\nit smells", TN_ERR_INVALID},
      {"echo 'what verb?' >&2; exit 2", "could not vet it (exit status 2): what verb?", TN_ERR_IO},
      {"kill -9 $$", "vetter, which vets it, died of signal 9", TN_ERR_INVALID}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    f->options.plugin_vet = vetter(rows[k].end);
    assert_int_equal(start(f), TN_OK);
    assert_int_equal(load(f, f->good), rows[k].status);
    kit_says(f->diag, rows[k].says);
    assert_int_equal(tn_runtime_n_ops(f->rt), 0);
  }
  f->options.plugin_vet = kit_path("no_such_command");
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_ERR_IO);
  kit_says(f->diag, "no_such_command, which is to vet it, cannot be run: ");
  f->options.plugin_vet = "tenon";
  assert_int_equal(start(f), TN_ERR_INVALID);
  setenv("TENON_PLUGIN_VET", vetter("exit 1"), 1);
  f->options.plugin_vet = NULL;
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_ERR_INVALID);
  f->options.plugin_vet = ""; /* the program says: never */
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_OK);
}

/* True if no such process runs. One whose parent, maybe the first process of a container, has not
 * asked for its status yet runs no more, either. */
static bool has_ended(pid_t pid) {
  if (kill(pid, 0) && errno == ESRCH) return true;
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  const size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  const char *name_end = strrchr(text, ')'); /* number (name) state ... */
  return name_end && (strncmp(name_end, ") Z", 3) == 0 || strncmp(name_end, ") X", 3) == 0);
}

/* True if the process that wrote its number to the file has ended, or will soon have. */
static bool is_gone(const char *file) {
  const pid_t pid = (pid_t)atoi(kit_read(kit_path(file)));
  assert_true(pid > 1);
  for (int k = 0; k < 500; k++, usleep(20000))
    if (has_ended(pid)) return true;
  return false;
}

/* A command that takes too long is ended, with what it has started. One that has ended is not
 * waited for because of what it has left behind. */
static void test_vet_takes_long(void **state) {
  fixture *f = *state;
  char end[600];
  static const char *const ends[] = {"wait", "exit 1"};
  static const char *const says[] = {"vetting it took more than 4 s", "it did not pass vetting:"};
  for (int k = 0; k < 2; k++) {
    snprintf(end, sizeof end, "sleep 100 & echo $! > %s/pid; %s", kit_dir, ends[k]);
    f->options.plugin_vet = vetter(end);
    assert_int_equal(start(f), TN_OK);
    f->rt->registry->vet_limit_s = k ? 60 : 4;
    remove(kit_path("pid"));
    assert_int_equal(load(f, f->good), TN_ERR_INVALID);
    kit_says(f->diag, says[k]);
    assert_true(is_gone("pid"));
  }
}

/* Of a long report the end is kept, from the beginning of a character. */
static void test_vet_says_much(void **state) {
  fixture *f = *state;
  for (int k = 0; k < 3; k++) {
    char end[200];
    snprintf(end, sizeof end, "for i in $(seq 400); do printf '%s'; done; printf %.*s; exit 1",
             "\342\202\254\303\251", k, "xx");
    f->options.plugin_vet = vetter(end);
    assert_int_equal(start(f), TN_OK);
    assert_int_equal(load(f, f->good), TN_ERR_INVALID);
    const char *text = tn_diag_text(f->diag);
    assert_true(tn_utf8_valid(text, (int64_t)strlen(text)));
    const char *report = strstr(text, "vetting:\n");
    assert_non_null(report);
    assert_in_range(strlen(report), 1400, 1600);
  }
}

/* What changes while it is vetted is not what was vetted. */
static void test_changed_meanwhile(void **state) {
  fixture *f = *state;
  char end[1200];
  snprintf(end, sizeof end, "cp '%s' '%s.new' && mv '%s.new' '%s'", f->good, f->good, f->good,
           f->good);
  f->options.plugin_vet = vetter(end);
  assert_int_equal(start(f), TN_OK);
  assert_int_equal(load(f, f->good), TN_ERR_IO);
  kit_says(f->diag, "good.so: is not loaded: it was changed while it was being loaded");
}

static bool gives_leases(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const bool gives = fd >= 0 && !fcntl(fd, F_SETSIG, SIGURG) && !fcntl(fd, F_SETLEASE, F_RDLCK);
  if (fd >= 0) close(fd);
  return gives;
}

/* Whoever would cut it between the checks and the dynamic linker waits until it is loaded. */
static void test_cut_meanwhile(void **state) {
  fixture *f = *state;
  char end[600];
  if (!gives_leases(f->good)) skip();
  snprintf(end, sizeof end, "dd if=/dev/null of='%s' oflag=nonblock || echo waits >'%s/dd'",
           f->good, kit_dir);
  f->options.plugin_vet = vetter(end);
  assert_int_equal(start(f), TN_OK);
  if (load(f, f->good)) fail_msg("%s", tn_diag_text(f->diag));
  assert_non_null(strstr(kit_read(kit_path("dd")), "waits"));
  char sha256[TN_SHA256_TEXT];
  hash_file(f->good, sha256);
  assert_string_equal(sha256, f->sha256);
  const int fd = open(f->good, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* nobody waits any more */
  assert_true(fd >= 0);
  close(fd);
}

/* A copy that is not complete yet. */
static void test_being_written(void **state) {
  fixture *f = *state;
  if (!gives_leases(f->good)) skip();
  assert_int_equal(start(f), TN_OK);
  const int fd = open(f->good, O_WRONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(load(f, f->good), TN_ERR_IO);
  kit_says(f->diag, "good.so: is not loaded: it is open for writing");
  close(fd);
  assert_int_equal(load(f, f->good), TN_OK);
}

/* ---- programs with more rights than their caller ---- */

static const char *probe(const char *path) {
  char command[512];
  snprintf(command, sizeof command, "'%s' > '%s/said' 2>&1", path, kit_dir);
  assert_int_equal(system(command), 0);
  return kit_read(kit_path("said"));
}

static void test_environment_of_others(void **state) {
  (void)state;
  char command[1024];
  const char *path = kit_path("probe");
  snprintf(command, sizeof command, "cp '%s' '%s'", SECURE_PROBE, path);
  assert_int_equal(system(command), 0);
  setenv("TENON_PLUGIN_PATH", kit_path("p"), 1);
  chmod(kit_dir, 0755);
  assert_non_null(strstr(probe(path), "secure 0\nstatus 0\nplug-ins 1\n"));
  /* A set-group-ID program, for a group that we are not in just now. */
  if (geteuid() || chown(path, 0, 1) || chmod(path, 02755)) skip();
  setenv("TENON_PLUGIN_ALLOW", "/no/such/list", 1);
  setenv("TENON_PLUGIN_VET", "/no/such/command", 1);
  setenv("TENON_PLUGIN_DIR", kit_path("p"), 1);
  const char *said = probe(path);
  if (strstr(said, "secure 0")) skip(); /* the folder is mounted nosuid */
  assert_non_null(strstr(said, "secure 1\nstatus 0\n"));
  assert_non_null(strstr(said, "/p: this program has rights that its caller lacks"));
  assert_null(strstr(said, "/p: looked into"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_folders),
      TEST(test_installed_folder),
      TEST(test_hash_of_another),
      TEST(test_installed_folder_is_absolute),
      TEST(test_folders_above),
      TEST(test_links),
      TEST(test_allowed),
      TEST(test_not_allowed),
      TEST(test_pins_need_trust),
      TEST(test_both_lists_have_to_allow),
      TEST(test_broken_lists),
      TEST(test_vet),
      TEST(test_vet_cache_of_others),
      TEST(test_vet_says_no),
      TEST(test_vet_takes_long),
      TEST(test_vet_says_much),
      TEST(test_changed_meanwhile),
      TEST(test_cut_meanwhile),
      TEST(test_being_written),
      TEST(test_environment_of_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
