/* Tenon's copy, for any machine, of what the kit has once per instruction set. */
#define TN_KIT_ISA_BODIES
#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"
