/* The same plug-in as C++. */
#include "by_macros.c"
