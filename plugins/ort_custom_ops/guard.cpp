// Operators are written in C++, and may throw out of functions that answer no status.
#include "guard.h"

#include <exception>

extern "C" void ort_guard(void (*call)(void *), void *arg, void (*failed)(void *, const char *)) {
  try {
    call(arg);
  } catch (const std::exception &e) {
    failed(arg, e.what());
  } catch (...) {
    failed(arg, "an exception was thrown");
  }
}
