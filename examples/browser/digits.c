/* What the page calls: an image goes in, ten probabilities come out. */
#include <model/model.h> /* written by build.sh */

static float image[DIGITS_IN_IMAGE_SIZE], probabilities[DIGITS_OUT_PROBABILITIES_SIZE];

float *image_at(void) { return image; }
float *probabilities_at(void) { return probabilities; }
void look(void) { digits_run(image, probabilities); }
