/* The host's memory, for readers and writers of models. */
#ifndef TN_BASE_IO_MEMORY_H
#define TN_BASE_IO_MEMORY_H

#include "tenon/graph.h"
#include "tenon/tenon.h"

/* Allocators over the services of a file's host; they serve as long as the source or sink does. */
tn_allocator tn_source_allocator(const tn_source *source);
tn_allocator tn_sink_allocator(const tn_sink *sink);

#endif
