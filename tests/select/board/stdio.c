/* Text to whoever watches, by the C library: semihosting of picolibc, or WASI. */
#include <stdio.h>

#include "board.h"

void board_print(const char *text) { fputs(text, stdout); }
