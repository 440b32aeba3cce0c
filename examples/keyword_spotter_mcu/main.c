/* Says which word it hears: features of one second, a model, the word that it thinks most likely. */
#include <board.h>
#include <features.h> /* this and the next are made by CMakeLists.txt */
#include <kws/model.h>

static const char *const words[] = {"down",  "go",   "left", "no",  "off",     "on",
                                    "right", "stop", "up",   "yes", "silence", "unknown"};
enum { WORDS = sizeof words / sizeof *words };

_Static_assert(KWS_OUT_IDENTITY_SIZE == WORDS, "a word for each output");
_Static_assert(KWS_IN_INPUT_1_SIZE == sizeof features, "49 slices of 10 features each");

static int8_t scores[WORDS];

int main(void) {
  int32_t best = 0;
  board_timer_start();
  kws_run(features, scores);
  const uint32_t ticks = board_timer_ticks();
  for (int32_t k = 1; k < WORDS; k++) {
    best = scores[k] > scores[best] ? k : best;
  }
  board_print("heard '");
  board_print(words[best]);
  board_print("', ");
  board_print_number((uint32_t)(scores[best] + 128) * 100 / 256);
  board_print(" % sure, in ");
  board_print_number(ticks / 25); /* 40 instructions each */
  board_print(" thousand instructions\n");
  return 0;
}
