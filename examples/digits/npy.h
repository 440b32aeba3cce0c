/* Reads arrays that numpy.save() wrote: little-endian f32 and i64 in C order, up to 4 dims. */
#ifndef DIGITS_NPY_H
#define DIGITS_NPY_H

#include <tenon/tenon.h>

/* Answers NULL, or what is wrong as a literal. The memory of *out is the caller's:
 * free(out->data). */
const char *npy_read(const char *path, tn_tensor *out);

#endif
