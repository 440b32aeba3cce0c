/* The compiler: a module holds a blob for each part, as OpenVINO exports it. What is claimed:
 * claims.c. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ov.h"

/* ---- compiling ---- */

static tn_status take_file(const tn_accelerator_call *call, int fd, tn_piece *out) {
  struct stat st;
  uint64_t at = 0;
  if (fstat(fd, &st) || st.st_size <= 0)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "OpenVINO exports nothing");
  out->size = (uint64_t)st.st_size;
  out->data = call->host->alloc(call->ctx, out->size);
  if (!out->data) return TN_ERR_MEMORY;
  while (at < out->size) {
    const ssize_t got = pread(fd, (char *)out->data + at, (size_t)(out->size - at), (off_t)at);
    if (got <= 0)
      return call->host->fail(call->ctx, TN_ERR_IO, "OpenVINO's blob cannot be read back");
    at += (uint64_t)got;
  }
  return TN_OK;
}

/* The library writes to files alone: one without a name. */
static tn_status export_blob(const tn_accelerator_call *call, const ov *o, const ov_compiled *model,
                             tn_piece *out) {
  char path[40];
  const int fd = memfd_create("openvino-blob", MFD_CLOEXEC);
  if (fd < 0) return call->host->fail(call->ctx, TN_ERR_IO, "no memory file for OpenVINO's blob");
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  tn_status s = ov_check(call, o, o->api.compiled_model_export_model(model, path), "export");
  if (!s) s = take_file(call, fd, out);
  close(fd);
  return s;
}

/* Ports are in the part's order, or the part is not taken. */
static tn_status check_names(const tn_accelerator_call *call, const ov *o, const ov_compiled *model,
                             const tn_graph *part) {
  const tn_graph_api *api = call->host->graph;
  const int32_t n_in = api->n_inputs(part), n = n_in + api->n_outputs(part);
  for (int32_t k = 0; k < n; k++) {
    const int is_output = k >= n_in;
    const int32_t value = is_output ? api->output(part, k - n_in) : api->input(part, k);
    const char *name = api->value_name(part, value);
    if (*name && !ov_is_named(o, model, is_output, (uint32_t)(is_output ? k - n_in : k), name))
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                              "OpenVINO's model has its ports in another order: '%.100s'", name);
  }
  return TN_OK;
}

static tn_status compile_onnx(const tn_accelerator_call *call, const ov *o, const tn_piece *onnx,
                              const tn_graph *part, tn_piece *out) {
  ov_model *model = NULL;
  ov_compiled *compiled = NULL;
  tn_status s = ov_check(call, o,
                         o->api.core_read_model_from_memory_buffer(
                             o->core, onnx->data, (size_t)onnx->size, NULL, &model),
                         "OpenVINO does not read the part");
  if (!s)
    s = ov_check(call, o, o->api.core_compile_model(o->core, model, o->device, 0, &compiled),
                 "OpenVINO does not compile the part");
  if (!s) s = check_names(call, o, compiled, part);
  if (!s) s = export_blob(call, o, compiled, out);
  if (compiled) o->api.compiled_model_free(compiled);
  if (model) o->api.model_free(model);
  return s;
}

static tn_status compile_part(const tn_accelerator_call *call, const void *o, const tn_graph *part,
                              tn_piece *out) {
  tn_piece onnx = {NULL, 0};
  tn_status s = tn_piece_onnx(call, part, &onnx);
  if (!s) s = compile_onnx(call, o, &onnx, part, out);
  call->host->free(call->ctx, onnx.data);
  return s;
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  ov o;
  tn_status s = ov_open(call, &o);
  if (s) return s;
  s = tn_module_of_pieces(call, parts, n_parts, OV_FORMAT, o.stamp, compile_part, &o, out_module);
  ov_close(&o);
  return s;
}

TN_TABLE(tn_target, cpu, .name = "openvino-cpu", .hardware = "cpu");
TN_TABLE(tn_target, gpu, .name = "openvino-gpu", .hardware = "gpu");
TN_TABLE(tn_target, npu, .name = "openvino-npu", .hardware = "npu");
TN_LIST(const tn_target *, targets, &cpu, &gpu, &npu);

const tn_compiler ov_compiler = {.head = TN_HEAD(tn_compiler),
                                 .name = "openvino",
                                 .vendor = "Intel",
                                 .format = OV_FORMAT,
                                 TN_SET(targets, targets),
                                 .partition = ov_partition,
                                 .compile = compile,
                                 .release = tn_module_free};
