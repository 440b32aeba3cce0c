/* Teams: which parts of a turn a member takes, in which order. */
#include "tenon/kit/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 16 };

/* All parts of turns 0 .. turns-1, as far as the member gets them; -1 after each turn. */
static void claim_all(tn_team *t, int64_t turns, int64_t *out) {
  for (int64_t turn = 0; turn < turns; turn++) do
      *out = tn_team_claim(t, turn);
    while (*out++ >= 0);
}

/* Of six parts three are each member's own; what another would come to last is taken first. */
static void alone_it_takes_everything_to_and_fro(void **state) {
  static const int64_t want[2][14] = {{0, 1, 2, 5, 4, 3, -1, 2, 1, 0, 3, 4, 5, -1},
                                      {3, 4, 5, 2, 1, 0, -1, 5, 4, 3, 0, 1, 2, -1}};
  (void)state;
  for (int64_t member = 0; member < 2; member++) {
    tn_team_word words[1 + 6];
    tn_team team = {words, 6, member, 2};
    int64_t got[MOST];
    tn_team_begin(words, team.parts);
    claim_all(&team, 2, got);
    for (int k = 0; k < 14; k++) assert_int_equal(got[k], want[member][k]);
  }
}

/* Also where the parts are not as many for each, or fewer than members. */
static void together_they_take_each_part_once(void **state) {
  (void)state;
  for (int64_t parts = 1; parts <= 7; parts++)
    for (int64_t members = 1; members <= 4; members++) {
      tn_team_word words[1 + 7];
      tn_team_begin(words, parts);
      for (int64_t turn = 0; turn < 4; turn++) {
        int taken[7] = {0};
        for (int64_t k = 0, part; k < parts; k++) {
          const tn_team team = {words, parts, k % members, members};
          part = tn_team_claim(&team, turn);
          assert_in_range(part, 0, parts - 1);
          assert_int_equal(taken[part]++, 0);
        }
        assert_int_equal(tn_team_claim(&(tn_team){words, parts, 0, members}, turn), -1);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(alone_it_takes_everything_to_and_fro),
                                     cmocka_unit_test(together_they_take_each_part_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
