/* The same plug-in as C++. */
#include "use.c"
