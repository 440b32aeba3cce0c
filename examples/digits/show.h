/* What the demo prints. */
#ifndef DIGITS_SHOW_H
#define DIGITS_SHOW_H

#include <tenon/tenon.h>

enum { SIDE = 8, CLASSES = 10 };

/* The image next to a bar per class, and whether the answer is right. */
void show_digit(const float *image, const float *probabilities, int64_t label);
/* One line per step of the session's plan: node, kernel, plug-in it comes from, time per run. */
tn_status show_steps(const tn_session *session);
int64_t argmax(const float *probabilities);

#endif
