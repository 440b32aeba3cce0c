/* Options of TFLite's builtin operators: LiteRT has them as C structs, its files as tables. A row
 * says the members of a struct in their order, each a letter for its type and the number of its
 * field in the table:
 *
 *   i int   f float   b bool   a enum   e enum that is one less in files   t type of elements
 *   v 8 ints, and then how many of them count */
#include <string.h>

#include "island.h"

typedef struct row {
  int32_t code;
  const char *members;
} row;

static const row rows[] = {
    {0, "a0b1"},               /* ADD */
    {1, "e0i1i2i3i4a5"},       /* AVERAGE_POOL_2D */
    {2, "i0a1"},               /* CONCATENATION */
    {3, "e0i1i2a3i4i5"},       /* CONV_2D */
    {4, "e0i1i2i3a4i5i6"},     /* DEPTHWISE_CONV_2D */
    {5, "i0"},                 /* DEPTH_TO_SPACE */
    {9, "a0a1b2b3"},           /* FULLY_CONNECTED */
    {11, "a0"},                /* L2_NORMALIZATION */
    {12, "e0i1i2i3i4a5"},      /* L2_POOL_2D */
    {13, "i0f1f2f3"},          /* LOCAL_RESPONSE_NORMALIZATION */
    {17, "e0i1i2i3i4a5"},      /* MAX_POOL_2D */
    {18, "a0"},                /* MUL */
    {22, "v0"},                /* RESHAPE */
    {23, "b2b3"},              /* RESIZE_BILINEAR */
    {25, "f0"},                /* SOFTMAX */
    {26, "i0"},                /* SPACE_TO_DEPTH */
    {36, "i0i1"},              /* GATHER */
    {40, "b0"},                /* MEAN */
    {41, "a0b1"},              /* SUB */
    {42, "a0"},                /* DIV */
    {43, "v0"},                /* SQUEEZE */
    {45, "i0i1i2i3i4b5"},      /* STRIDED_SLICE */
    {49, "i0"},                /* SPLIT */
    {56, "t0"},                /* ARG_MAX */
    {67, "e0i1i2a3"},          /* TRANSPOSE_CONV */
    {74, "b0"},                /* SUM */
    {77, "t0"},                /* SHAPE */
    {79, "t0"},                /* ARG_MIN */
    {80, "f0f1i2b3"},          /* FAKE_QUANT */
    {81, "b0"},                /* REDUCE_PROD */
    {82, "b0"},                /* REDUCE_MAX */
    {83, "i0i1"},              /* PACK */
    {85, "i0"},                /* ONE_HOT */
    {88, "i0i1"},              /* UNPACK */
    {89, "b0"},                /* REDUCE_MIN */
    {91, "b0"},                /* REDUCE_ANY */
    {97, "b0b1"},              /* RESIZE_NEAREST_NEIGHBOR */
    {98, "f0"},                /* LEAKY_RELU */
    {100, "e0"},               /* MIRROR_PAD */
    {102, "i0"},               /* SPLIT_V */
    {103, "t0"},               /* UNIQUE */
    {112, "i0i1"},             /* REVERSE_SEQUENCE */
    {126, "b0b1b2"},           /* BATCH_MATMUL */
    {128, "b0b1"},             /* CUMSUM */
    {132, "e0i2i3i1i6i7i5a4"}, /* CONV_3D */
    {140, "b0"},               /* REDUCE_ALL */
    {150, "b0"},               /* GELU */
};

/* Builtin operators that have no options, or none that matter. */
static const uint8_t without[] = {
    6,   7,   8,   14,  19,  20,  21,  28,  34,  37,  38,  39,  47,  48,  50,  53,
    54,  55,  57,  58,  59,  60,  61,  62,  63,  64,  65,  66,  68,  69,  70,  71,
    72,  73,  75,  76,  78,  84,  86,  87,  90,  92,  93,  94,  95,  96,  99,  101,
    104, 105, 106, 107, 108, 109, 110, 111, 113, 114, 115, 116, 117, 120, 121, 122,
    123, 125, 130, 131, 133, 134, 135, 145, 151, 152, 153, 154, 155, 156, 157, 158};

static const row *find(int32_t code) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (rows[k].code == code) return &rows[k];
  return NULL;
}

bool options_known(int32_t code, const void *options) {
  if (code == LRT_CUSTOM) return true;
  if (code < 0 || code > 255) return false;
  return memchr(without, code, sizeof without) || (find(code) && options);
}

/* The member at *at, which is moved behind it, as a number of the file's. */
static int64_t read_member(char kind, const uint8_t *options, size_t *at) {
  const size_t bytes = kind == 'b' ? 1 : 4;
  int32_t value = 0;
  *at = (*at + bytes - 1) / bytes * bytes;
  memcpy(&value, options + *at, bytes);
  *at += bytes;
  return kind == 'e' ? value - 1 : kind == 't' ? type_in_file(value) : value;
}

static size_t write_list(flat *f, const uint8_t *options) {
  int32_t n;
  memcpy(&n, options + 8 * sizeof n, sizeof n);
  return flat_vector(f, n < 0 || n > 8 ? 0 : (size_t)n, sizeof n, options);
}

void options_write(flat *f, size_t operator, uint32_t field, int32_t code, const void *options) {
  const row *r = find(code);
  size_t at = 0;
  if (!r) return;
  const size_t table = flat_table(f, FLAT_FIELDS);
  flat_link(f, operator, field, table);
  for (const char *p = r->members; *p; p += 2) {
    const uint32_t number = (uint32_t)(p[1] - '0');
    if (*p == 'v')
      flat_link(f, table, number, write_list(f, options));
    else
      flat_set(f, table, number, read_member(*p, options, &at));
  }
}
