/* What a code of 16 bits becomes, of functions in fixed point (wide_powers.c). */
#ifndef TN_FORMATS_TFLITE_WIDE_H
#define TN_FORMATS_TFLITE_WIDE_H

#include <stdint.h>

/* Of codes in steps of 2^-12. */
int16_t tfl_sigmoid_of_power(const void *numbers, int64_t code);
/* In steps of 2^(n - 12), of the int n to which numbers points. */
int16_t tfl_tanh_of_power(const void *numbers, int64_t code);

#endif
