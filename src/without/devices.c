/* In place of devices and accelerators: the rooms `device` and `accelerator`, and the files of the
 * planner and of sessions that serve them. Models are opened without devices here, so no plan has
 * any, and most of these functions are never called. */
#include "exec/device_frame.h"
#include "exec/model.h"
#include "exec/session.h"
#include "exec/states.h"
#include "plan/memory/arrange.h"
#include "plan/select/select.h"
#include "without/without.h"

const char tn_without_devices = 0;

/* ---- opening ---- */

tn_status tn_model_open_devices(tn_model *m, const tn_model_options *o, const char *path,
                                tn_diag *diag) {
  (void)m, (void)path;
  if (o->fallback > TN_FALLBACK_ALLOW)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: fallback is %u", o->fallback);
  if (!o->n_devices || o->fallback == TN_FALLBACK_ALLOW) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "device '%s': this program was linked without devices; to have them: tenon select "
                 "--with devices",
                 o->devices && o->devices[0] ? o->devices[0] : "");
}

void tn_model_close_devices(tn_model *m) { (void)m; }

tn_status tn_devices_create(const tn_allocator *a, const tn_registry *r, tn_devices **out_devices) {
  (void)a, (void)r;
  *out_devices = NULL;
  return TN_OK;
}

void tn_devices_destroy(tn_devices *all) { (void)all; }
void tn_devices_lose(tn_devices *all) { (void)all; }

/* Of what a program asks a runtime for, nothing is listed. */
int32_t tn_devices_list(tn_devices *all, const tn_device_entry **out_entries) {
  (void)all;
  *out_entries = NULL;
  return 0;
}

int32_t tn_devices_listed(const tn_devices *all, const tn_device_entry **out_entries) {
  (void)all;
  *out_entries = NULL;
  return 0;
}

tn_status tn_devices_add(tn_devices *all, const tn_device_entry *entry) {
  (void)all, (void)entry;
  return TN_OK;
}

bool tn_accelerator_at(const tn_registry *r, int32_t index, tn_accelerator_entry *out) {
  (void)r, (void)index, (void)out;
  return false;
}

tn_status tn_accelerator_open(const tn_allocator *a, const tn_registry *r, const char *name,
                              const tn_container *file, bool compiles, tn_diag *diag,
                              tn_accelerator **out_accelerator) {
  (void)a, (void)r, (void)name, (void)file, (void)compiles, (void)diag;
  *out_accelerator = NULL;
  return TN_ERR_UNSUPPORTED;
}

void tn_accelerator_close(tn_accelerator *x) { (void)x; }

/* ---- planning ---- */

tn_status tn_pass_claim(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  (void)p, (void)g, (void)diag;
  return TN_OK;
}

tn_status tn_arrange_beside(tn_graph *g, const tn_planner *planner) {
  (void)g, (void)planner;
  return TN_OK;
}

void tn_arrange_until(tn_arrangement *r) { (void)r; }

tn_status tn_frame_steps_beside(tn_frame *f) {
  (void)f;
  return TN_ERR_INTERNAL;
}

tn_status tn_pass_halve(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  (void)p, (void)g, (void)diag;
  return TN_OK;
}

tn_status tn_select_partition(tn_selection *s) {
  (void)s;
  return TN_OK;
}

const char *tn_device_refuses(const tn_device *d, const tn_kerneldef *def) {
  (void)d, (void)def;
  return "there are no devices";
}

tn_status tn_device_kernel_try(tn_device *d, const tn_kerneldef *def, const tn_call *call,
                               const tn_kernel_plan *plan, tn_diag *diag) {
  (void)d, (void)def, (void)call, (void)plan, (void)diag;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_device_host_program_new(tn_device *d, const tn_kernel *kernel, tn_diag *diag,
                                     void **out_program) {
  (void)d, (void)kernel, (void)diag, (void)out_program;
  return TN_ERR_UNSUPPORTED;
}

void tn_device_program_free(tn_device *d, void *program) { (void)d, (void)program; }

tn_status tn_arrange_group(tn_graph *g, const tn_planner *p) {
  (void)g, (void)p;
  return TN_OK;
}

tn_status tn_arrange_segments(tn_arrangement *r) {
  (void)r;
  return TN_OK;
}

tn_status tn_arrange_residents(tn_arrangement *r) {
  (void)r;
  return TN_OK;
}

bool tn_arrange_may_view(const tn_arrangement *r, uint32_t device, uint64_t offset, int64_t bytes,
                         bool is_written) {
  (void)r, (void)device, (void)offset, (void)bytes, (void)is_written;
  return true;
}

void tn_resident_release(tn_residents *all, tn_resident *resident) { (void)all, (void)resident; }

/* ---- running ---- */

tn_status tn_device_setup_place(tn_frame *f, tn_setup *s, tn_diag *diag) {
  (void)f, (void)s, (void)diag;
  return TN_OK;
}

tn_status tn_device_bind(tn_frame *f, tn_setup *s, const tn_tensor *const *inputs,
                         const tn_tensor *const *bound, tn_diag *diag) {
  (void)f, (void)s, (void)inputs, (void)bound, (void)diag;
  return TN_OK;
}

bool tn_frame_is_placed(const tn_frame *f, const tn_tensor *t) {
  (void)f, (void)t;
  return false;
}

void tn_frame_note_placed(tn_frame *f, const tn_tensor *t) { (void)f, (void)t; }

/* States are always in memory. */
tn_status tn_session_place_states(void *session, tn_frame *f, tn_diag *diag) {
  (void)session, (void)f, (void)diag;
  return TN_OK;
}

tn_status tn_kept_fetch(tn_kept *k, tn_diag *diag) {
  (void)k, (void)diag;
  return TN_OK;
}

void tn_kept_after(tn_kept *k, const tn_tensor *bound, tn_status status) {
  (void)k, (void)bound, (void)status;
}

void tn_kept_close(tn_kept *k) { (void)k; }

tn_status tn_frame_mirror(tn_frame *f, const tn_tensor *const *inputs) {
  (void)f, (void)inputs;
  return TN_OK;
}

void *tn_frame_mirrored(const tn_frame *f, int32_t index) {
  (void)f, (void)index;
  return NULL;
}

tn_status tn_frame_finish_placed(tn_frame *f, int32_t k, const tn_tensor *value,
                                 const tn_tensor *bound) {
  (void)f, (void)k, (void)value, (void)bound;
  return TN_OK;
}

void tn_session_place(tn_placed *place, tn_tensor *t, tn_device_buffer *buffer, uint64_t offset) {
  (void)place, (void)t, (void)buffer, (void)offset;
}

void tn_device_buffer_destroy(tn_device_buffer *buffer) { (void)buffer; }

bool tn_device_setup_close(tn_frame *f, tn_setup *s) {
  (void)f, (void)s;
  return true;
}
void tn_lanes_close(tn_frame *f) { (void)f; }
void tn_lanes_drain(tn_frame *f) { (void)f; }

tn_status tn_segment_submit(tn_frame *f, int32_t segment) {
  (void)f, (void)segment;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_segment_wait(tn_frame *f, int32_t segment) {
  (void)f, (void)segment;
  return TN_ERR_UNSUPPORTED;
}

bool tn_frame_give_up_full(const tn_frame *f) {
  (void)f;
  return false;
}
void tn_frame_forgive(const tn_frame *f) { (void)f; }

void tn_frame_check_process(const tn_frame *f) { (void)f; }
bool tn_frame_has_lost(const tn_frame *f) {
  (void)f;
  return false;
}

bool tn_frame_may_do_without(const tn_frame *f) {
  (void)f;
  return false;
}

tn_status tn_island_run(const tn_island_step *island, const tn_tensor *const *inputs,
                        tn_tensor *const *outputs, char *text, size_t size) {
  (void)island, (void)inputs, (void)outputs, (void)text, (void)size;
  return TN_ERR_UNSUPPORTED;
}
