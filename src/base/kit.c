/* Tenon's own copy of the kit's slow functions, see tenon/kit/linkage.h: all headers that have
 * any. */
#define TN_KIT_BODIES

#include "tenon/kit/broadcast.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/coords.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/lowering.h"
#include "tenon/kit/narrow.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/qdq.h"
#include "tenon/kit/region_dims.h"
#include "tenon/kit/subgraph.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/text.h"
#include "tenon/kit/window.h"
#include "tenon/kit/window_fuse.h"
