/* Where a C library prints: for bare.c. The board of examples/keyword_spotter_mcu has another. */
#ifndef BOARD_H
#define BOARD_H

void board_print(const char *text);

#endif
