/* Edit distance with swaps of neighbours (optimal string alignment; Damerau 1964), letters alike in
 * upper and lower case. */
#include "base/near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 64 };

static int min(int a, int b) { return a < b ? a : b; }

static int distance(const char *a, int n, const char *b, int m) {
  int rows[3][MAX_NAME + 1];
  for (int j = 0; j <= m; j++) rows[0][j] = j;
  for (int i = 1; i <= n; i++) {
    int *now = rows[i % 3];
    const int *up = rows[(i + 2) % 3], *two_up = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= m; j++) {
      const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
      now[j] = min(min(now[j - 1], up[j]) + 1, up[j - 1] + (x != y));
      const int swaps = i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                        y == tolower((unsigned char)a[i - 2]);
      if (swaps) now[j] = min(now[j], two_up[j - 2] + 1);
    }
  }
  return rows[n % 3][m];
}

void tn_near_begin(tn_near *near, const char *wanted) {
  *near = (tn_near){.wanted = wanted, .distance = MAX_NAME};
}

/* One mistake in names of three letters, two from six letters on, and so on. */
void tn_near_offer(tn_near *near, const char *name) {
  const size_t n = strlen(near->wanted), m = strlen(name);
  if (!n || !m || n > MAX_NAME || m > MAX_NAME) return;
  const int d = distance(near->wanted, (int)n, name, (int)m);
  if (d > (int)(n > m ? n : m) / 3 || d >= near->distance) return;
  near->distance = d;
  near->best = name;
}

const char *tn_near_text(const tn_near *near, char buf[TN_NEAR_TEXT]) {
  *buf = 0;
  if (near->best) snprintf(buf, TN_NEAR_TEXT, "; did you mean '%s'?", near->best);
  return buf;
}
