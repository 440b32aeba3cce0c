/* Normalisation of groups of n elements that lie next to each other, by their mean, if it is
 * subtracted, and their variance. Scale and bias of element i of group g stand at
 * g % repeat * step + i / run % period. */
struct groups {
  int32_t groups, n, repeat, step, run, period, centred;
  double epsilon;
};

/* Sum of x - mean, or of its squares, in four parts. */
static double groups_sum(const float *x, int32_t n, double mean, int32_t squares) {
  double part[4] = {0.0, 0.0, 0.0, 0.0};
  for (int32_t i = 0; i < n; i++) {
    const double d = (double)x[i] - mean;
    part[i % 4] += squares != 0 ? d * d : d;
  }
  return (part[0] + part[1]) + (part[2] + part[3]);
}

/* mean and inverse, of each group, may be NULL. */
static void normalise_groups(const struct groups *s, const float *x, const float *scale,
                             const float *bias, float *y, float *means, float *inverses) {
  for (int32_t g = 0; g < s->groups; g++) {
    const double mean = s->centred != 0 ? groups_sum(x, s->n, 0.0, 0) / (double)s->n : 0.0;
    const double power = groups_sum(x, s->n, mean, 1) / (double)s->n;
    const double inverse = 1.0 / sqrt(power + s->epsilon);
    const float m = (float)mean, f = (float)inverse;
    for (int32_t i = 0; i < s->n; i++) {
      const int32_t at = g % s->repeat * s->step + i / s->run % s->period;
      const float b = bias != NULL ? bias[at] : 0.0f;
      y[i] = s->run == 1 ? (x[i] - m) * f * scale[at] + b : (x[i] - m) * (f * scale[at]) + b;
    }
    if (means != NULL) {
      means[g] = m;
    }
    if (inverses != NULL) {
      inverses[g] = f;
    }
    x += s->n;
    y += s->n;
  }
}
