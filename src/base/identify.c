/* What a file is: one table of kinds, told by magic bytes where there are some; zip archives and
 * Protobuf have files of their own. */
#include "base/identify.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

#define MAGIC(at, text) at, sizeof(text) - 1, text
#define TOLD 0, 0, NULL /* by one of the functions below */

#define EXPORT_TORCH "export the model with torch.export or torch.onnx.export"
#define EXPORT_TF "convert it: python -m tf2onnx.convert"
#define NO_PROGRAM "these are weights without a program: export the model itself"
#define COMPILED "it is compiled for one machine: take the model that it was made from"
#define UNPACK "unpack it first"

/* In this order: the first whose bytes are there. */
static const tn_file_kind kinds[] = {
    {"onnx", "an ONNX model", "", TOLD},
    {"onnx-text", "an ONNX model in Protobuf's text form",
     "write it in the binary form, with onnx.save", TOLD},
    {"onnx-tensor", "one value, not a model: an ONNX tensor",
     "give it as an input: --input NAME=FILE", TOLD},
    {"ort", "an ONNX Runtime model in ORT format", "take the .onnx file that it was made from",
     MAGIC(4, "ORTM")},
    {"tflite", "a TensorFlow Lite model", EXPORT_TF " --tflite FILE --output OUT.onnx",
     MAGIC(4, "TFL3")},
    {"executorch", "an ExecuTorch program", EXPORT_TORCH, MAGIC(4, "ET12")},
    {"executorch-data", "weights of an ExecuTorch program (.ptd)",
     "open the program (.pte), which finds them in its folder", MAGIC(4, "FT01")},
    {"torch-mobile", "a PyTorch Mobile model (FlatBuffer)", EXPORT_TORCH, MAGIC(4, "PTMF")},
    {"tosa", "a TOSA graph", "take the model that it was made from", MAGIC(4, "TOSA")},

    {"torchscript", "a TorchScript archive", EXPORT_TORCH, TOLD},
    {"state-dict", "a PyTorch state_dict", NO_PROGRAM " (torch.onnx.export)", TOLD},
    {"pt2", "a torch.export archive", EXPORT_TORCH, TOLD},
    {"pt2-old", "a torch.export archive of PyTorch before 2.8", EXPORT_TORCH, TOLD},
    {"keras", "a Keras 3 archive", "export it: model.export(\"OUT.onnx\", format=\"onnx\")", TOLD},
    {"mlpackage-zip", "a zipped Core ML package", "take the model that it was made from", TOLD},
    {"npz", "NumPy arrays, not a model", "give them as inputs: --input FILE", TOLD},
    {"zipped-model", "a zip archive around a model", UNPACK, TOLD},
    {"zip-damaged", "a zip archive that breaks off", "it was not downloaded to its end", TOLD},
    {"zip", "a zip archive", UNPACK, TOLD},

    {"hdf5", "an HDF5 file (Keras .h5, MATLAB)",
     "load it in Keras and export it: model.export(\"OUT.onnx\", format=\"onnx\")",
     MAGIC(0, "\x89HDF\r\n\x1a\n")},
    {"safetensors", "a safetensors file", NO_PROGRAM, TOLD},
    {"gguf", "a GGUF file of llama.cpp", "run it with llama.cpp, or export the model itself",
     MAGIC(0, "GGUF")},
    {"ggml", "an old GGML file of llama.cpp", "run it with llama.cpp, or export the model itself",
     MAGIC(0, "lmgg")},
    {"ggml", "an old GGML file of llama.cpp", "run it with llama.cpp, or export the model itself",
     MAGIC(0, "tjgg")},

    {"saved-model", "a TensorFlow SavedModel", EXPORT_TF " --saved-model FOLDER --output OUT.onnx",
     TOLD},
    {"tensorflow", "a TensorFlow graph", EXPORT_TF " --graphdef FILE --output OUT.onnx", TOLD},
    {"tensorflow-text", "a TensorFlow graph in text form",
     EXPORT_TF " --graphdef FILE --output OUT.onnx", TOLD},
    {"tensorflow-checkpoint", "the index of a TensorFlow checkpoint", NO_PROGRAM, TOLD},
    {"caffe", "a Caffe network with its weights (.caffemodel)", "convert it to ONNX", TOLD},
    {"caffe-text", "a Caffe network without its weights (.prototxt)", "convert it to ONNX", TOLD},
    {"caffe2", "a Caffe2 network", "convert it to ONNX", TOLD},
    {"mlmodel", "a Core ML model", "take the model that it was made from", TOLD},
    {"mlpackage", "a Core ML package", "take the model that it was made from", TOLD},
    {"paddle", "a PaddlePaddle program", "convert it with paddle2onnx", TOLD},

    {"ncnn-binary", "an ncnn network (binary .param)", "take the model that it was made from",
     MAGIC(0, "\xdd\x85\x76\x00")},
    {"ncnn", "an ncnn network (.param)", "take the model that it was made from",
     MAGIC(0, "7767517\n")},
    {"ncnn", "an ncnn network (.param)", "take the model that it was made from",
     MAGIC(0, "7767517\r")},
    {"openvino", "an OpenVINO network (.xml)", "take the model that it was made from", TOLD},
    {"mxnet", "an MXNet symbol (.json)", "export it: mxnet.onnx.export_model", TOLD},
    {"rknn", "a Rockchip RKNN model", COMPILED, MAGIC(0, "RKNN")},
    {"tensorrt", "a TensorRT engine", COMPILED, MAGIC(0, "ftrt")},
    {"tensorrt", "a TensorRT engine", COMPILED, MAGIC(0, "ptrt")},
    {"litert-lm", "a LiteRT-LM bundle", "run it with LiteRT-LM, or export the model itself",
     MAGIC(0, "LITERTLM")},

    {"npy", "a NumPy array, not a model", "give it as an input: --input NAME=FILE",
     MAGIC(0, "\x93NUMPY")},
    {"tar", "a tar archive", UNPACK, MAGIC(257, "ustar")},
    {"gzip", "a gzip file", UNPACK, MAGIC(0, "\x1f\x8b")},
    {"zstd", "a zstd file", UNPACK, MAGIC(0, "\x28\xb5\x2f\xfd")},
    {"7z", "a 7z archive", UNPACK, MAGIC(0, "7z\xbc\xaf\x27\x1c")},
    {"elf", "a program or library (ELF)", "a plug-in is loaded with --plugin FILE",
     MAGIC(0,
           "\x7f"
           "ELF")},
    {"png", "a PNG picture, not a model", "give it as an input: --input NAME=FILE",
     MAGIC(0, "\x89PNG\r\n\x1a\n")},
    {"jpeg", "a JPEG picture, not a model", "give it as an input: --input NAME=FILE",
     MAGIC(0, "\xff\xd8\xff")},
    {"wav", "sound or another RIFF file, not a model", "give it as an input: --input NAME=FILE",
     MAGIC(0, "RIFF")},
    {"git-lfs", "a Git LFS pointer, not the file itself", "run 'git lfs pull' where it came from",
     MAGIC(0, "version https://git-lfs")},
    {"html", "a web page, not a model", "the download has gone wrong", TOLD},
    {"pickle", "a Python pickle (old PyTorch, scikit-learn, joblib)",
     "it is a program and is not opened: export the model to ONNX in Python", TOLD},
};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

const tn_file_kind *tn_file_kind_named(const char *name) {
  for (int k = 0; k < N_KINDS; k++)
    if (!strcmp(kinds[k].name, name)) return &kinds[k];
  return NULL;
}

static const tn_file_kind *by_magic(const uint8_t *data, uint64_t size) {
  for (int k = 0; k < N_KINDS; k++) {
    const tn_file_kind *kind = &kinds[k];
    if (kind->n_magic && kind->at + kind->n_magic <= size &&
        !memcmp(data + kind->at, kind->magic, kind->n_magic))
      return kind;
  }
  return NULL;
}

static uint64_t u64(const uint8_t *p) {
  uint64_t v = 0;
  for (int k = 7; k >= 0; k--) v = v << 8 | p[k];
  return v;
}

/* ---- what files say of themselves ---- */

static void describe(char *detail, const char *before, const uint8_t *text, uint64_t n,
                     const char *after) {
  snprintf(detail, TN_FILE_DETAIL, "%s%.*s%s", before, (int)(n < 80 ? n : 80), (const char *)text,
           after);
}

/* The first texts and numbers of GGUF's keys; lists, which come later, end it. */
static void describe_gguf(const uint8_t *data, uint64_t size, char *detail) {
  static const uint8_t bytes_of[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  static const char wanted[] = "general.architecture";
  uint64_t at = 24; /* magic, version, number of tensors, number of keys */
  for (int k = 0; k < 64 && at + 8 <= size; k++) {
    const uint64_t n_key = u64(data + at);
    if (n_key > size - at - 8 || size - at - 8 - n_key < 12) return;
    const uint8_t *key = data + at + 8, *value = key + n_key + 4;
    const uint32_t type = value[-4];
    at += 8 + n_key + 4;
    if (type != 8 && (type >= sizeof bytes_of || !bytes_of[type])) return;
    const uint64_t n = type == 8 ? u64(value) : bytes_of[type], skip = type == 8 ? 8 : 0;
    if (n > size - at - skip) return;
    if (type == 8 && n_key == sizeof wanted - 1 && !memcmp(key, wanted, n_key))
      describe(detail, "architecture ", value + 8, n, "");
    at += skip + n;
  }
}

/* How many tensors the header describes, which is JSON, and the first one's name:
 * {"name":{"dtype": ... */
static void describe_safetensors(const uint8_t *data, uint64_t n, char *detail) {
  static const char key[] = "\"dtype\"", before[] = "\":{";
  const char *header = (const char *)data + 8, *end = header + n, *name = NULL, *close = NULL;
  int64_t count = 0;
  for (const char *p = header; (p = memmem(p, (size_t)(end - p), key, strlen(key))); p++) {
    if (!count++ && p - header > 3 && !memcmp(p - 3, before, 3)) {
      close = p - 3;
      name = memrchr(header, '"', (size_t)(close - header));
    }
  }
  int used = snprintf(detail, TN_FILE_DETAIL, "%lld tensors", (long long)count);
  if (name && used > 0)
    snprintf(detail + used, (size_t)(TN_FILE_DETAIL - used), ": %.*s%s",
             (int)tn_min_i64(close - name - 1, 80), name + 1, count > 1 ? ", ..." : "");
}

static bool is_safetensors(const uint8_t *data, uint64_t size) {
  return size > 9 && data[8] == '{' && u64(data) >= 2 && u64(data) <= size - 8;
}

/* Protocols 2 to 5. */
static bool is_pickle(const uint8_t *data, uint64_t size) {
  return size > 2 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5;
}

static bool is_checkpoint_index(const uint8_t *data, uint64_t size) {
  return size >= 48 && u64(data + size - 8) == UINT64_C(0xdb4775248b80fb57);
}

/* ---- text ---- */

enum { MAX_TEXT = 64 << 10 };

/* Does the line say `word {`, or, with another end, `word:`? */
static bool opens(const char *line, size_t n, const char *word, char end) {
  const size_t k = strlen(word);
  if (n <= k || memcmp(line, word, k)) return false;
  line += k, n -= k;
  while (n && (*line == ' ' || (end == '{' && *line == ':'))) line++, n--;
  return n && *line == end;
}

static bool has(const char *text, size_t n, const char *word) {
  return memmem(text, n, word, strlen(word)) != NULL;
}

static bool begins(const char *text, size_t n, const char *word) {
  return n >= strlen(word) && !strncasecmp(text, word, strlen(word));
}

/* Protobuf's text form: by the first message on the outermost level that one kind alone has. */
static const char *by_message(const char *text, size_t n) {
  int depth = 0;
  for (const char *p = text, *end = text + n; p < end; p++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    while (p < stop && isspace((unsigned char)*p)) p++;
    const size_t left = (size_t)(stop - p);
    if (!depth && opens(p, left, "ir_version", ':')) return "onnx-text";
    if (!depth && opens(p, left, "node", '{')) return "tensorflow-text";
    if (!depth && (opens(p, left, "layer", '{') || opens(p, left, "layers", '{')))
      return "caffe-text";
    for (; p < stop && *p != '#'; p++) depth += (*p == '{') - (*p == '}');
    p = stop;
  }
  return NULL;
}

static const char *by_text(const uint8_t *data, uint64_t size) {
  const char *text = (const char *)data;
  size_t n = size < MAX_TEXT ? (size_t)size : MAX_TEXT;
  if (n > 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3, n -= 3; /* a byte order mark */
  while (n && isspace((unsigned char)*text)) text++, n--;
  if (!n || memchr(text, 0, n)) return NULL;
  if (begins(text, n, "<!doctype html") || begins(text, n, "<html")) return "html";
  if (*text == '<') return has(text, n, "<net") ? "openvino" : NULL;
  if (*text == '{') /* nodes come first, and their arguments behind them */
    return has(text, n, "\"nodes\"") &&
                   has(text, (size_t)size - (size_t)(text - (const char *)data), "\"arg_nodes\"")
               ? "mxnet"
               : NULL;
  return by_message(text, n);
}

/* ---- all together ---- */

static const tn_file_kind *named(const char *name) {
  return name ? tn_file_kind_named(name) : NULL;
}

const tn_file_kind *tn_file_identify(const uint8_t *data, uint64_t size, char *detail) {
  *detail = 0;
  const tn_file_kind *kind = NULL;
  if (!data || !size) return NULL;
  if (size >= 4 && (!memcmp(data, "PK\3\4", 4) || !memcmp(data, "PK\5\6", 4)))
    kind = named(tn_identify_zip(data, size, detail));
  if (!kind) kind = by_magic(data, size);
  if (kind && !strcmp(kind->name, "gguf")) describe_gguf(data, size, detail);
  if (!kind && is_safetensors(data, size)) {
    kind = named("safetensors");
    describe_safetensors(data, u64(data), detail);
  }
  if (!kind && is_checkpoint_index(data, size)) kind = named("tensorflow-checkpoint");
  if (!kind) kind = named(by_text(data, size));
  if (!kind) kind = named(tn_identify_protobuf(data, size));
  if (!kind && is_pickle(data, size)) kind = named("pickle");
  tn_text_tame(detail, (int64_t)strlen(detail));
  return kind;
}

bool tn_file_is(const uint8_t *data, uint64_t size, const char *kind, const char *or_kind) {
  char detail[TN_FILE_DETAIL];
  const tn_file_kind *found = tn_file_identify(data, size, detail);
  return found && (!strcmp(found->name, kind) || (or_kind && !strcmp(found->name, or_kind)));
}

const tn_file_kind *tn_folder_identify(const char *path, char *detail) {
  static const struct {
    const char *file, *kind;
  } marks[] = {{"saved_model.pb", "saved-model"},
               {"saved_model.pbtxt", "saved-model"},
               {"Manifest.json", "mlpackage"},
               {"model.xml", "openvino"}};
  char full[4096];
  struct stat info;
  *detail = 0;
  for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
    const int n = snprintf(full, sizeof full, "%s/%s", path, marks[k].file);
    if (n < 0 || (size_t)n >= sizeof full || stat(full, &info) || !S_ISREG(info.st_mode)) continue;
    snprintf(detail, TN_FILE_DETAIL, "%s", marks[k].file);
    return named(marks[k].kind);
  }
  return NULL;
}

uint64_t tn_file_describe(const void *data, uint64_t size, const char *path, char *text,
                          uint64_t text_size) {
  char detail[TN_FILE_DETAIL];
  const tn_file_kind *kind = tn_file_identify(data, size, detail);
  if (!kind && path && !size) kind = tn_folder_identify(path, detail);
  if (!text) text_size = 0;
  if (!kind) return (uint64_t)snprintf(text, (size_t)text_size, "%s", "");
  const int n = snprintf(text, (size_t)text_size, "%s%s%s%s%s%s", kind->what, *detail ? " (" : "",
                         detail, *detail ? ")" : "", *kind->advice ? ": " : "", kind->advice);
  return n < 0 ? 0 : (uint64_t)n;
}
