/* What a program may ask of the board, an MPS2 with a Cortex-M4 (AN386) as QEMU has it. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Text to whoever watches the board, by semihosting. */
void board_print(const char *text);
void board_print_number(uint32_t n);
/* Ticks of the system timer, which runs backwards for 24 bits: with QEMU's -icount shift=0 each is
 * 40 instructions. */
void board_timer_start(void);
uint32_t board_timer_ticks(void);

#endif
