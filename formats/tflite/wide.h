/* What a code of 16 bits becomes, of functions in fixed point (wide_powers.c). */
#ifndef TN_FORMATS_TFLITE_WIDE_H
#define TN_FORMATS_TFLITE_WIDE_H

#include "lower.h"

/* Of codes in steps of 2^-12. */
int16_t tfl_sigmoid_of_power(const void *numbers, int64_t code);
/* In steps of 2^(n - 12), of the int n to which numbers points. */
int16_t tfl_tanh_of_power(const void *numbers, int64_t code);
/* Of codes with so many bits before the point, 0 .. 4, of the int to which numbers points. */
int16_t tfl_tanh_of_whole(const void *numbers, int64_t code);

/* What `answer` says of each code, with numbers of its own: a table, i16[65536], in which code -1
 * is the last. */
int32_t tfl_code_answers(const tn_lowering *t, int16_t (*answer)(const void *numbers, int64_t code),
                         const void *numbers);

#endif
