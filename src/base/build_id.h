/* Which build of the library this is, as the linker has noted it. */
#ifndef TN_BASE_BUILD_ID_H
#define TN_BASE_BUILD_ID_H

#include <stdint.h>

enum { TN_BUILD_ID_BYTES = 32 };

/* The build id (ld --build-id: a hash of all that is linked) of the library or program that holds
 * this code, cut or filled with zeros. Read from memory, since the file may have been replaced
 * since it was loaded. Answers how many bytes there are; 0: it was linked without one. */
uint32_t tn_build_id(uint8_t out[TN_BUILD_ID_BYTES]);

#endif
