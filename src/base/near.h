/* "Did you mean": the name that is most like one that is not there. */
#ifndef TN_BASE_NEAR_H
#define TN_BASE_NEAR_H

/* Offers come one after another; the best stays. */
typedef struct tn_near {
  const char *wanted;
  const char *best; /* borrowed; NULL: none is like it */
  int distance;
} tn_near;

void tn_near_begin(tn_near *near, const char *wanted);
void tn_near_offer(tn_near *near, const char *name);
/* "; did you mean 'Relu'?" into buf, "" if nothing is like it. Returns buf. */
enum { TN_NEAR_TEXT = 160 };
const char *tn_near_text(const tn_near *near, char buf[TN_NEAR_TEXT]);

#endif
