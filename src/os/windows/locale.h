/* Numbers as the "C" locale has them. */
#pragma GCC system_header
#include_next <locale.h>
#ifndef TN_OS_LOCALE_H
#define TN_OS_LOCALE_H

#include <stdlib.h>

typedef _locale_t locale_t;
#define LC_ALL_MASK LC_ALL
#define newlocale(mask, name, base) ((void)(base), _create_locale(mask, name))
#define freelocale _free_locale
#define strtod_l _strtod_l

#endif
