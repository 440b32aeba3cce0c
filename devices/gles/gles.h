/* The driver of OpenGL ES 3.1 and newer, for what has no better API. EGL is opened with dlopen,
 * nothing is linked; the headers of both are needed to build it.
 *
 *   load.c       EGL, its functions and those of OpenGL ES, errors
 *   driver.c     the table: the device, which is a context without a surface; memory, programs
 *   recording.c  lists of commands, replayed; marks are fences
 *
 * A context serves one thread at a time: the device is TN_DEVICE_SERIAL, and each callback makes
 * the context current and gives back what was so before.
 *
 * A program in "glsl-es" is a compute shader without its #version. Bindings are storage buffers of
 * these numbers, params the uniform block 0, constants macros. What it computes lies behind the
 * group that the uniform base_ says. */
#ifndef TN_GLES_H
#define TN_GLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EGL_NO_X11
#define MESA_EGL_NO_X11_HEADERS
#define EGL_EGL_PROTOTYPES 0
#define GL_GLES_PROTOTYPES 0
#include <EGL/egl.h>
#include <GLES3/gl31.h>

#include "tenon/device.h"

/* ---- what we use ---- */

#define GLES_EGL(X)                               \
  X(EGLGETDISPLAY, eglGetDisplay)                 \
  X(EGLGETPLATFORMDISPLAY, eglGetPlatformDisplay) \
  X(EGLINITIALIZE, eglInitialize)                 \
  X(EGLTERMINATE, eglTerminate)                   \
  X(EGLBINDAPI, eglBindAPI)                       \
  X(EGLQUERYAPI, eglQueryAPI)                     \
  X(EGLCHOOSECONFIG, eglChooseConfig)             \
  X(EGLCREATECONTEXT, eglCreateContext)           \
  X(EGLDESTROYCONTEXT, eglDestroyContext)         \
  X(EGLMAKECURRENT, eglMakeCurrent)               \
  X(EGLGETCURRENTCONTEXT, eglGetCurrentContext)   \
  X(EGLGETCURRENTDISPLAY, eglGetCurrentDisplay)   \
  X(EGLGETCURRENTSURFACE, eglGetCurrentSurface)   \
  X(EGLGETERROR, eglGetError)                     \
  X(EGLQUERYSTRING, eglQueryString)               \
  X(EGLGETPROCADDRESS, eglGetProcAddress)
#define GLES_GL(X)                              \
  X(GLGETSTRING, glGetString)                   \
  X(GLGETINTEGERV, glGetIntegerv)               \
  X(GLGETINTEGER64V, glGetInteger64v)           \
  X(GLGETINTEGERI_V, glGetIntegeri_v)           \
  X(GLGETERROR, glGetError)                     \
  X(GLGENBUFFERS, glGenBuffers)                 \
  X(GLDELETEBUFFERS, glDeleteBuffers)           \
  X(GLBINDBUFFER, glBindBuffer)                 \
  X(GLBINDBUFFERRANGE, glBindBufferRange)       \
  X(GLBUFFERDATA, glBufferData)                 \
  X(GLBUFFERSUBDATA, glBufferSubData)           \
  X(GLCOPYBUFFERSUBDATA, glCopyBufferSubData)   \
  X(GLMAPBUFFERRANGE, glMapBufferRange)         \
  X(GLUNMAPBUFFER, glUnmapBuffer)               \
  X(GLCREATESHADER, glCreateShader)             \
  X(GLSHADERSOURCE, glShaderSource)             \
  X(GLCOMPILESHADER, glCompileShader)           \
  X(GLDELETESHADER, glDeleteShader)             \
  X(GLGETSHADERIV, glGetShaderiv)               \
  X(GLGETSHADERINFOLOG, glGetShaderInfoLog)     \
  X(GLCREATEPROGRAM, glCreateProgram)           \
  X(GLATTACHSHADER, glAttachShader)             \
  X(GLLINKPROGRAM, glLinkProgram)               \
  X(GLDELETEPROGRAM, glDeleteProgram)           \
  X(GLGETPROGRAMIV, glGetProgramiv)             \
  X(GLGETPROGRAMINFOLOG, glGetProgramInfoLog)   \
  X(GLPROGRAMPARAMETERI, glProgramParameteri)   \
  X(GLGETPROGRAMBINARY, glGetProgramBinary)     \
  X(GLPROGRAMBINARY, glProgramBinary)           \
  X(GLGETUNIFORMLOCATION, glGetUniformLocation) \
  X(GLUNIFORM3I, glUniform3i)                   \
  X(GLUSEPROGRAM, glUseProgram)                 \
  X(GLDISPATCHCOMPUTE, glDispatchCompute)       \
  X(GLMEMORYBARRIER, glMemoryBarrier)           \
  X(GLFENCESYNC, glFenceSync)                   \
  X(GLDELETESYNC, glDeleteSync)                 \
  X(GLCLIENTWAITSYNC, glClientWaitSync)         \
  X(GLFLUSH, glFlush)                           \
  X(GLFINISH, glFinish)

typedef struct gles_api {
#define GLES_MEMBER(type, name) PFN##type##PROC name;
  GLES_EGL(GLES_MEMBER)
  GLES_GL(GLES_MEMBER)
#undef GLES_MEMBER
} gles_api;

/* TN_ERR_NOT_FOUND: there is no EGL, or one that is too old. Any thread. */
tn_status gles_load(const tn_device_call *c, gles_api *out_api);
/* What went wrong since the last call; TN_OK: nothing. what: "glBufferData". */
tn_status gles_answer(const tn_device_call *c, const gles_api *api, const char *what);

/* ---- objects ---- */

/* What a thread had current before. */
typedef struct gles_before {
  EGLDisplay display;
  EGLContext context;
  EGLSurface draw, read;
  EGLenum api;
} gles_before;

typedef struct gles_device {
  gles_api api;
  EGLDisplay display;
  EGLContext context;
  GLuint nothing; /* what left out arguments are bound to */
  GLint uniform_alignment, max_groups[3];
  char name[256], stamp[512];
} gles_device;

bool gles_enter(const gles_device *d, gles_before *before);
void gles_leave(const gles_device *d, const gles_before *before);
tn_status gles_lost(const tn_device_call *c); /* the context cannot be made current */

/* Upload and download buffers have a copy in memory of the host. */
typedef struct gles_buffer {
  const gles_device *device;
  GLuint handle;
  void *data;
} gles_buffer;

typedef struct gles_program {
  const gles_device *device;
  GLuint handle;
  GLint base; /* the uniform; -1: it uses no groups */
} gles_program;

tn_status gles_record_begin(const tn_device_call *c, void *device, void **out_recording);
tn_status gles_record_dispatch(const tn_device_call *c, void *recording, void *program,
                               const tn_device_range *const *ranges, uint32_t n_ranges,
                               const tn_dispatch *dispatch);
tn_status gles_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                           const tn_device_range *to);
tn_status gles_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                           uint32_t word);
tn_status gles_record_barrier(const tn_device_call *c, void *recording);
tn_status gles_record_end(const tn_device_call *c, void *recording);
void gles_record_free(const tn_device_call *c, void *recording);
tn_status gles_queue_new(const tn_device_call *c, void *device, void **out_queue);
void gles_queue_free(const tn_device_call *c, void *queue);
tn_status gles_submit(const tn_device_call *c, void *queue, void *recording, uint64_t mark);
tn_status gles_wait(const tn_device_call *c, void *queue, uint64_t mark, uint64_t timeout_ns);

#endif
