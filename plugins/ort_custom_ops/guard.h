/* Calls that exceptions of C++ may come out of. */
#ifndef ORT_GUARD_H
#define ORT_GUARD_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls call(arg); if an exception comes out of it, failed(arg, what it says). */
void ort_guard(void (*call)(void *), void *arg, void (*failed)(void *, const char *));

#ifdef __cplusplus
}
#endif
#endif
