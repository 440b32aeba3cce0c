/* A window of two dims: the other ones of convolutions and pools are in `planes`. */
struct window {
  int32_t planes, in_h, in_w, out_h, out_w;
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t top, left, bottom, right; /* pads */
};
