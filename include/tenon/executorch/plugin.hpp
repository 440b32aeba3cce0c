/* How a registered kernel becomes an operator: its schema, its arguments, dry runs for shapes, and
 * the tables of the plug-in. Include tenon/executorch.hpp. */
#ifndef TENON_EXECUTORCH_PLUGIN_HPP
#define TENON_EXECUTORCH_PLUGIN_HPP

#include <new>
#include <string>
#include <tuple>

#include "tenon/executorch/types.hpp"

/* ---- arguments of a function ----------------------------------------------------------------- */

namespace tenon_et TENON_ET_HIDDEN {
namespace et = executorch::runtime;
using executorch::aten::IntArrayRef;
using executorch::aten::Scalar;
using executorch::aten::Tensor;
using executorch::aten::TensorList;

inline TensorImpl *impl_of(Run &run, const tn_tensor *t, int32_t output) {
  if (run.n_tensors == MOST) {
    run.say("more than %d tensors", int(MOST));
    fail(Error::NotSupported, TN_ERR_UNSUPPORTED);
  }
  TensorImpl *i = &run.tensors[run.n_tensors++];
  *i = TensorImpl();
  i->data = t->data;
  i->dtype = scalar_of(t->dtype);
  i->dim = t->rank;
  i->output = output;
  i->run = &run;
  bool fits = t->rank >= 0;
  for (int32_t k = 0; k < t->rank; k++) {
    fits = fits && t->shape[k] >= 0 && t->shape[k] <= INT32_MAX;
    i->sizes[k] = fits ? int32_t(t->shape[k]) : 0;
  }
  if (!fits || !measure(i)) {
    run.say("a dim is larger than kernels of ExecuTorch can count");
    fail(Error::NotSupported, TN_ERR_UNSUPPORTED);
  }
  return i;
}

inline const tn_tensor *next_input(Run &run) {
  const uint32_t k = run.n_in++;
  return k < run.call->n_inputs ? run.call->inputs[k] : nullptr;
}

inline Tensor read_tensor(Run &run) {
  const tn_tensor *t = next_input(run);
  if (!t) {
    run.say("input %u is missing", run.n_in - 1);
    fail(Error::InvalidArgument, TN_ERR_INVALID);
  }
  return Tensor(impl_of(run, t, -1));
}

inline std::optional<Tensor> read_optional_tensor(Run &run) {
  const tn_tensor *t = next_input(run);
  return t ? std::optional<Tensor>(Tensor(impl_of(run, t, -1))) : std::nullopt;
}

/* The equal part of one list in what single tensors leave of the inputs. */
inline TensorList read_list(Run &run) {
  const uint32_t all = run.call->n_inputs > run.n_singles ? run.call->n_inputs - run.n_singles : 0;
  std::vector<Tensor> list;
  for (uint32_t k = 0; k < all / (run.n_lists ? run.n_lists : 1); k++)
    list.push_back(read_tensor(run));
  const size_t n = list.size();
  return {run.keep(std::move(list)), n};
}

/* The output as far as it is known, or like the first input; a session's own if it has memory. */
inline Tensor read_output(Run &run) {
  const uint32_t k = run.n_out++;
  static const tn_tensor nothing = {
      TN_HEAD(tn_tensor), nullptr, TN_PLAIN, TN_NONE, 0, {0}, 0, 0, 0};
  const tn_tensor *y = k < run.call->n_outputs ? run.call->outputs[k] : nullptr;
  const tn_tensor *x = run.call->n_inputs ? run.call->inputs[0] : nullptr;
  TensorImpl *i;
  if (run.is_dry || run.is_dynamic) {
    tn_tensor like = x ? *x : nothing;
    like.data = nullptr;
    if (y && y->dtype) like.dtype = y->dtype;
    i = impl_of(run, &like, int32_t(k));
    if (run.is_dynamic && !run.is_dry) i->dim = 1, i->sizes[0] = 0, i->numel = 0;
  } else if (y) {
    i = impl_of(run, y, int32_t(k));
  } else {
    run.say("output %u was left out, which kernels of ExecuTorch do not know", k);
    fail(Error::NotSupported, TN_ERR_UNSUPPORTED);
  }
  return Tensor(i);
}

template <class T>
T read_attr(Run &run) {
  T value;
  memcpy(&value, run.attr, sizeof value);
  run.attr += sizeof value;
  return value;
}

/* How an argument of C++ stands in a schema, and where its value is. */
template <class T>
struct Arg {
  static_assert(!sizeof(T), "an argument of this type is not supported by tenon/executorch.hpp");
};
template <>
struct Arg<Tensor> {
  static constexpr const char *type = "Tensor";
  static Tensor read(Run &r) { return read_tensor(r); }
};
template <>
struct Arg<std::optional<Tensor>> {
  static constexpr const char *type = "Tensor?";
  static std::optional<Tensor> read(Run &r) { return read_optional_tensor(r); }
};
template <>
struct Arg<TensorList> {
  static constexpr const char *type = "Tensor[]";
  static TensorList read(Run &r) { return read_list(r); }
};
template <>
struct Arg<int64_t> {
  static constexpr const char *type = "int";
  static int64_t read(Run &r) { return read_attr<int64_t>(r); }
};
template <>
struct Arg<bool> {
  static constexpr const char *type = "bool";
  static bool read(Run &r) { return read_attr<int64_t>(r) != 0; }
};
template <>
struct Arg<double> {
  static constexpr const char *type = "float";
  static double read(Run &r) { return read_attr<double>(r); }
};
template <>
struct Arg<Scalar> {
  static constexpr const char *type = "Scalar";
  static Scalar read(Run &r) { return Scalar(read_attr<double>(r)); }
};
template <>
struct Arg<ScalarType> {
  static constexpr const char *type = "ScalarType";
  static ScalarType read(Run &r) { return scalar_of(uint32_t(read_attr<int64_t>(r))); }
};
template <>
struct Arg<executorch::aten::MemoryFormat> {
  static constexpr const char *type = "MemoryFormat";
  static executorch::aten::MemoryFormat read(Run &r) {
    return executorch::aten::MemoryFormat(read_attr<int64_t>(r));
  }
};
template <>
struct Arg<std::string_view> {
  static constexpr const char *type = "str";
  static std::string_view read(Run &r) {
    const tn_str s = read_attr<tn_str>(r);
    return s.data ? std::string_view(s.data, size_t(s.size)) : std::string_view();
  }
};
template <>
struct Arg<IntArrayRef> {
  static constexpr const char *type = "int[]";
  static IntArrayRef read(Run &r) {
    const tn_ints v = read_attr<tn_ints>(r);
    return {v.data, size_t(v.size)};
  }
};
template <>
struct Arg<et::ArrayRef<double>> {
  static constexpr const char *type = "float[]";
  static et::ArrayRef<double> read(Run &r) {
    const tn_floats v = read_attr<tn_floats>(r);
    return {v.data, size_t(v.size)};
  }
};
template <class T>
struct Arg<std::optional<T>> { /* int64_t has_x, then x */
  static constexpr const char *type = nullptr;
  static std::optional<T> read(Run &r) {
    const bool has = read_attr<int64_t>(r) != 0;
    T value = Arg<T>::read(r);
    return has ? std::optional<T>(value) : std::nullopt;
  }
};

template <class T>
constexpr bool is_output =
    std::is_lvalue_reference_v<T> &&std::is_same_v<std::remove_reference_t<T>, Tensor>;
template <class T>
constexpr bool is_optional_of = false;
template <class T>
constexpr bool is_optional_of<std::optional<T>> = !std::is_same_v<T, Tensor>;

struct SchemaText {
  std::string inputs, outputs;
  uint32_t n = 0, n_outputs = 0;
};
template <class T>
void write_arg(SchemaText &s) {
  using V = std::decay_t<T>;
  const std::string number = std::to_string(s.n++);
  if constexpr (is_output<T>) {
    s.outputs += (s.n_outputs++ ? ", Tensor out" : "Tensor out") + number;
  } else {
    if (!s.inputs.empty()) s.inputs += ", ";
    if constexpr (is_optional_of<V>)
      s.inputs += Arg<typename V::value_type>::type + std::string("? arg") + number + "=None";
    else
      s.inputs += Arg<V>::type + std::string(" arg") + number +
                  (std::is_same_v<V, std::optional<Tensor>> ? "=None" : "");
  }
}

template <class T>
auto read_arg(Run &run) {
  if constexpr (is_output<T>)
    return read_output(run);
  else
    return Arg<std::decay_t<T>>::read(run);
}

template <class R, class... Args>
struct Signature {
  static std::string schema() {
    SchemaText s;
    (write_arg<Args>(s), ...);
    return "(" + s.inputs + ") -> (" + s.outputs + ")";
  }
  static void count(Run &run) {
    run.n_singles =
        ((!is_output<Args> && (std::is_same_v<std::decay_t<Args>, Tensor> ||
                               std::is_same_v<std::decay_t<Args>, std::optional<Tensor>>)) +
         ... + 0u);
    run.n_lists = (std::is_same_v<std::decay_t<Args>, TensorList> + ... + 0u);
  }
  template <class F>
  static void call(Run &run, F function) {
    count(run);
    std::tuple<decltype(read_arg<Args>(run))...> args{read_arg<Args>(run)...};
    std::apply([&](auto &...a) { function(static_cast<Args>(a)...); }, args);
  }
};

/* A function with or without a context as its first argument. */
template <class F>
struct Traits;
template <class R, class... Args>
struct Traits<R (*)(Args...)> {
  using Plain = Signature<R, Args...>;
  static_assert((is_output<Args> || ...),
                "a function without an output `Tensor &` is of ATen: register its out variant");
  template <auto F>
  static void call(Run &run) {
    Plain::call(run, F);
  }
};
template <class R, class... Args>
struct Traits<R (*)(et::KernelRuntimeContext &, Args...)> {
  using Plain = Signature<R, Args...>;
  static_assert((is_output<Args> || ...), "a kernel without an output `Tensor &` is not supported");
  template <auto F>
  static void call(Run &run) {
    et::KernelRuntimeContext ctx;
    Plain::call(run, [&](auto &&...a) { F(ctx, std::forward<decltype(a)>(a)...); });
  }
};

/* EXECUTORCH_FN, TORCH_FN, WRAP_TO_ATEN */
template <auto F>
struct Function {
  static constexpr auto call = &Traits<decltype(F)>::template call<F>;
  static std::string schema() { return Traits<decltype(F)>::Plain::schema(); }
};

/* ---- the plug-in ----------------------------------------------------------------------------- */

enum { OPS = 256, NAMES = 256, SCHEMAS = 1024 };

struct Entry {
  char full[NAMES], domain[NAMES], name[NAMES]; /* "my_ops::mul3.out", "my_ops", "mul3" */
  char op_name[2 * NAMES], kernel[2 * NAMES];   /* "my_ops::mul3", "my_ops_mul3" */
  char schema[SCHEMAS], types[SCHEMAS];         /* types: of boxed values, see letter_of() */
  void (*call)(Run &);                          /* NULL: boxed */
  et::OpFunction boxed;
  bool is_dynamic, has_schema;
  tn_op op;
  tn_kernel row;
};

/* Zero before any constructor runs: those of other files may come first. */
struct Plugin {
  Entry entries[OPS];
  const tn_op *ops[OPS];
  const tn_kernel *kernels[OPS];
  uint32_t n;
  tn_plugin table;
  char problem[TEXT];
};
inline Plugin plugin;

__attribute__((format(printf, 1, 2))) inline void problem(const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (!*plugin.problem) vsnprintf(plugin.problem, sizeof plugin.problem, format, args);
  va_end(args);
}

/* The texts of a schema: "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)" as "(Tensor x) -> Tensor
 * out". types: a letter for each argument, for boxed calls. */
inline std::vector<std::string> split_args(const std::string &text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  char quote = 0;
  for (char c : text) {
    if (quote)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (c == '(' || c == '[')
      depth++;
    else if (c == ')' || c == ']')
      depth--;
    if (c == ',' && !depth && !quote) {
      parts.push_back(part);
      part.clear();
    } else if (c != ' ' || !part.empty()) {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

inline bool starts(const std::string &text, const char *with) { return text.rfind(with, 0) == 0; }

/* The letter of a boxed value, with '?' behind it if it is not a tensor and may be None; "": there
 * is none for its type. */
inline std::string letter_of(const std::string &arg) {
  static const struct {
    const char *type;
    char letter;
  } all[] = {{"Tensor[", 'L'}, {"Tensor", 'T'}, {"int[", 'I'}, {"SymInt[", 'I'},
             {"int", 'i'},     {"SymInt", 'i'}, {"bool", 'b'}, {"float[", 'D'},
             {"float", 'd'},   {"Scalar", 'd'}, {"str", 's'}};
  const std::string type = arg.substr(0, arg.find(' '));
  for (const auto &t : all) {
    if (!starts(arg, t.type) || starts(arg, "ScalarType")) continue;
    return std::string(1, t.letter) + (type.back() == '?' && t.letter != 'T' ? "?" : "");
  }
  return starts(arg, "ScalarType") || starts(arg, "MemoryFormat") ? "i" : "";
}

inline void set_schema(Entry *e, const std::string &text) {
  const size_t open = text.find('('), arrow = text.rfind("->");
  const size_t close = arrow == std::string::npos ? arrow : text.rfind(')', arrow);
  if (open == std::string::npos || close == std::string::npos || close < open) {
    problem("%s: '%s' is no schema", e->full, text.c_str());
    return;
  }
  std::string inputs, outputs, letters;
  for (const std::string &arg : split_args(text.substr(open + 1, close - open - 1))) {
    const bool is_out = arg.find("!)") != std::string::npos;
    if (is_out) {
      const std::string name = arg.substr(arg.rfind(' ') + 1);
      outputs += (outputs.empty() ? "Tensor " : ", Tensor ") + name;
      letters += 'O';
    } else if (arg != "*") {
      const std::string letter = letter_of(arg);
      if (letter.empty()) letters += '-';
      inputs += (inputs.empty() ? "" : ", ") + arg;
      letters += letter;
    }
  }
  if (outputs.empty()) outputs = "Tensor out"; /* that of the functional variant */
  snprintf(e->schema, sizeof e->schema, "(%s) -> (%s)", inputs.c_str(), outputs.c_str());
  snprintf(e->types, sizeof e->types, "%s", letters.c_str());
}

/* "my_ops::mul3.out": domain, name; "x.Tensor_out" is "x.Tensor". */
inline bool split_name(const char *full, std::string *domain, std::string *name) {
  const std::string text = full;
  const size_t colons = text.find("::");
  if (colons == std::string::npos) return false;
  *domain = text.substr(0, colons);
  *name = text.substr(colons + 2);
  const size_t dot = name->rfind('.');
  if (dot == std::string::npos) return true;
  std::string overload = name->substr(dot + 1);
  const bool ends = overload.size() > 4 && !overload.compare(overload.size() - 4, 4, "_out");
  if (ends) overload.resize(overload.size() - 4);
  *name = name->substr(0, dot) + (overload == "out" || overload == "default" ? "" : "." + overload);
  return true;
}

/* The operator of this name, made if there is none; NULL: problem() says why. */
inline Entry *entry_of(const char *full) {
  std::string domain, name;
  if (!split_name(full, &domain, &name)) {
    problem("'%s' is no name of an operator, like my_ops::mul3.out", full);
    return nullptr;
  }
  for (uint32_t k = 0; k < plugin.n; k++)
    if (domain == plugin.entries[k].domain && name == plugin.entries[k].name)
      return &plugin.entries[k];
  if (plugin.n == OPS || strlen(full) >= NAMES - 16) {
    problem("%s: more than %d operators, or too long a name", full, int(OPS));
    return nullptr;
  }
  Entry *e = &plugin.entries[plugin.n++];
  snprintf(e->full, sizeof e->full, "%s", full);
  snprintf(e->domain, sizeof e->domain, "%s", domain.c_str());
  snprintf(e->name, sizeof e->name, "%s", name.c_str());
  snprintf(e->op_name, sizeof e->op_name, "%s::%s", domain.c_str(), name.c_str());
  snprintf(e->kernel, sizeof e->kernel, "%s_%s", domain.c_str(), name.c_str());
  return e;
}

inline const char *error_name(Error e) {
  switch (e) {
    case Error::InvalidArgument: return "InvalidArgument";
    case Error::NotSupported: return "NotSupported";
    case Error::NotImplemented: return "NotImplemented";
    case Error::MemoryAllocationFailed: return "MemoryAllocationFailed";
    case Error::InvalidType: return "InvalidType";
    default: return "an error";
  }
}

/* A boxed kernel gets values of the types of its schema. */
inline void call_boxed(Run &run, const Entry &e) {
  std::vector<et::EValue> values;
  std::vector<et::EValue *> stack;
  for (const char *p = e.types; *p; p++) {
    run.n_lists += *p == 'L';
    run.n_singles += *p == 'T';
  }
  for (const char *p = e.types; *p; p++) {
    bool has = true;
    if (*p == '-') {
      run.say("the schema has a type that boxed kernels do not get here");
      fail(Error::NotSupported, TN_ERR_UNSUPPORTED);
    }
    if (*p == '?') continue;
    if (p[1] == '?') has = read_attr<int64_t>(run) != 0;
    et::EValue v;
    if (*p == 'O') v = et::EValue(read_output(run));
    if (*p == 'L') v = et::EValue(read_list(run));
    if (*p == 'T') {
      const std::optional<Tensor> t = read_optional_tensor(run);
      if (t) v = et::EValue(*t);
    }
    if (*p == 'i') v = et::EValue(read_attr<int64_t>(run));
    if (*p == 'b') v = et::EValue(read_attr<int64_t>(run) != 0);
    if (*p == 'd') v = et::EValue(read_attr<double>(run));
    if (*p == 's') v = et::EValue(Arg<std::string_view>::read(run));
    if (*p == 'I') v = et::EValue(Arg<IntArrayRef>::read(run));
    if (*p == 'D') v = et::EValue(Arg<et::ArrayRef<double>>::read(run));
    values.push_back(has ? v : et::EValue());
  }
  for (et::EValue &v : values) stack.push_back(&v);
  et::KernelRuntimeContext ctx;
  e.boxed(ctx, stack.data());
}

/* Runs the kernel of an entry; no exception gets out. */
inline tn_status perform(Run &run, const Entry &e) {
  try {
    e.call ? e.call(run) : call_boxed(run, e);
  } catch (const Touched &) {
    return TN_OK; /* of a dry run: shapes are known */
  } catch (const Failed &) {
    if (run.error == Error::Ok) run.error = Error::Internal;
  } catch (const std::bad_alloc &) {
    run.error = Error::MemoryAllocationFailed;
    run.status = TN_ERR_MEMORY;
  } catch (const std::exception &x) {
    run.say("%s", x.what());
    run.error = Error::Internal;
  } catch (...) {
    run.error = Error::Internal;
  }
  if (run.error == Error::Ok) return TN_OK;
  return run.status ? run.status : TN_ERR_INVALID;
}

inline tn_status report(const Run &run, const Entry &e, tn_status status) {
  const tn_call *c = run.call;
  return (c->host->fail)(c->ctx, status, "%s: %s", e.full,
                         *run.text ? run.text : error_name(run.error));
}

/* The shapes of the outputs after a dry run. */
inline void take_shapes(const Run &run) {
  for (uint32_t k = 0; k < run.n_tensors; k++) {
    const TensorImpl &t = run.tensors[k];
    if (t.output < 0 || uint32_t(t.output) >= run.call->n_outputs) continue;
    tn_tensor *y = run.call->outputs[t.output];
    if (!y) continue;
    y->dtype = dtype_of(t.dtype);
    y->rank = run.is_dynamic ? TN_RANK_UNKNOWN : t.dim;
    for (int32_t i = 0; i < t.dim && !run.is_dynamic; i++) y->shape[i] = t.sizes[i];
  }
}

inline tn_status infer(const tn_call *call, const Entry &e) {
  const uint32_t first =
      call->n_inputs && call->inputs[0] ? call->inputs[0]->dtype : uint32_t(TN_NONE);
  const uint32_t tried[] = {first, TN_BOOL, TN_I64, TN_F32};
  auto told = std::make_unique<Run>(call, true, e.is_dynamic);
  tn_status status = TN_OK, answer = TN_OK;
  for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
    if (k && tried[k] == first) continue;
    for (uint32_t i = 0; i < call->n_outputs; i++)
      if (call->outputs[i]) call->outputs[i]->dtype = tried[k];
    auto run = std::make_unique<Run>(call, true, e.is_dynamic);
    status = perform(*run, e);
    if (!status) take_shapes(*run);
    if (!status) return TN_OK;
    if (k && status != TN_ERR_MEMORY) continue; /* the first refusal is the one that is told */
    answer = status;
    snprintf(told->text, sizeof told->text, "%s", run->text);
    told->error = run->error;
    if (status == TN_ERR_MEMORY) break;
  }
  return report(*told, e, answer);
}

inline tn_status compute(const tn_call *call, const Entry &e) {
  auto run = std::make_unique<Run>(call, false, e.is_dynamic);
  const tn_status status = perform(*run, e);
  return status ? report(*run, e, status) : tn_status(TN_OK);
}

/* Not inlined: the callbacks of each entry end here. */
[[gnu::noinline]] inline tn_status contain(const tn_call *call, const Entry &e,
                                           tn_status (*work)(const tn_call *, const Entry &)) {
  try {
    return work(call, e);
  } catch (...) {
    return (call->host->fail)(call->ctx, TN_ERR_MEMORY, "%s: no memory", e.full);
  }
}

/* Callbacks are not told which operator they serve: a set of them for each entry. */
template <size_t K>
struct Slot {
  static tn_status infer(const tn_call *call) {
    return contain(call, plugin.entries[K], tenon_et::infer);
  }
  static tn_status plan(const tn_call *, tn_kernel_plan *out) {
    if (plugin.entries[K].is_dynamic) out->flags |= TN_PLAN_DATA_DEPENDENT;
    return TN_OK;
  }
  static tn_status run(const tn_call *call, uint32_t, int64_t, int64_t, uint32_t) {
    return contain(call, plugin.entries[K], compute);
  }
};
struct Callbacks {
  tn_status (*infer)(const tn_call *);
  tn_status (*plan)(const tn_call *, tn_kernel_plan *);
  tn_status (*run)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t);
};
template <size_t... K>
constexpr std::array<Callbacks, sizeof...(K)> callbacks_of(std::index_sequence<K...>) {
  return {{{Slot<K>::infer, Slot<K>::plan, Slot<K>::run}...}};
}
inline constexpr auto callbacks = callbacks_of(std::make_index_sequence<OPS>());
inline constexpr tn_accept accept = {TN_HEAD(tn_accept), "*", all_types(), TN_PLAIN, 0, 0, 0};
inline constexpr const tn_accept *accepts[] = {&accept};

/* Writes the tables of what is registered; entries without a kernel are left out. */
inline void write_tables() {
  uint32_t n = 0;
  for (uint32_t k = 0; k < plugin.n; k++) {
    Entry &e = plugin.entries[k];
    if ((!e.call && !e.boxed) || !*e.schema) continue; /* one without the other */
    e.op = {};
    e.op.head = TN_HEAD(tn_op);
    e.op.domain = e.domain;
    e.op.name = e.name;
    e.op.schema = e.schema;
    e.op.infer = callbacks[k].infer;
    e.row = {};
    e.row.head = TN_HEAD(tn_kernel);
    e.row.name = e.kernel;
    e.row.op = e.op_name;
    e.row.n_accepts = strchr(e.schema, 'T') ? 1 : 0;
    e.row.accepts = accepts;
    e.row.plan = callbacks[k].plan;
    e.row.run = callbacks[k].run;
    plugin.ops[n] = &e.op;
    plugin.kernels[n++] = &e.row;
  }
  plugin.table.n_ops = plugin.table.n_kernels = n;
  plugin.table.ops = plugin.ops;
  plugin.table.kernels = plugin.kernels;
}

inline bool add_kernel(const char *full, void (*call)(Run &), et::OpFunction boxed,
                       const std::string &schema) {
  Entry *e = entry_of(full);
  if (!e) return false;
  if (e->call || e->boxed) problem("%s: is registered twice", full);
  e->call = call;
  e->boxed = boxed;
  if (!e->has_schema && call) snprintf(e->schema, sizeof e->schema, "%s", schema.c_str());
  write_tables();
  return true;
}
template <auto F>
bool add(const char *full, Function<F>) {
  return add_kernel(full, Function<F>::call, nullptr, Function<F>::schema());
}

/* text: "mul3.out(...) -> ...", with or without "ns::". */
inline bool add_schema(const char *ns, const char *text) {
  std::string name = std::string(text).substr(0, strcspn(text, "("));
  if (name.find("::") == std::string::npos) name = std::string(ns) + "::" + name;
  Entry *e = entry_of(name.c_str());
  const bool is_out = strstr(text, "!)") != nullptr;
  if (!e || (e->has_schema && !is_out)) return e != nullptr;
  e->has_schema = true;
  set_schema(e, text + strcspn(text, "("));
  write_tables();
  return true;
}

inline bool set_dynamic(const char *full) {
  Entry *e = entry_of(full);
  if (e) e->is_dynamic = true;
  return e != nullptr;
}

inline tn_status init(const tn_host *host, void *ctx, const tn_option *const *, uint32_t n,
                      void **) {
  if (n) return (host->fail)(ctx, TN_ERR_INVALID, "the plug-in has no options");
  for (uint32_t k = 0; k < plugin.n; k++)
    if (plugin.entries[k].boxed && !plugin.entries[k].has_schema)
      problem("%s: a boxed kernel needs its schema: TENON_SCHEMA or TORCH_LIBRARY",
              plugin.entries[k].full);
  return *plugin.problem ? (host->fail)(ctx, TN_ERR_INVALID, "%s", plugin.problem) : TN_OK;
}

inline bool name_plugin(const char *name, const char *version, const char *license) {
  tn_plugin &p = plugin.table;
  p.head = TN_HEAD(tn_plugin);
  p.name = name;
  p.version = version;
  p.license = license;
  p.flavour = TN_FLAVOUR;
  p.init = init;
  write_tables();
  return true;
}

/* m of TORCH_LIBRARY. */
struct Library {
  const char *ns;
  void def(const char *schema) { add_schema(ns, schema); }
  template <auto F>
  void def(const char *schema, Function<F> f) {
    def(schema);
    impl(std::string(schema).substr(0, strcspn(schema, "(")).c_str(), f);
  }
  template <auto F>
  void impl(const char *name, Function<F> f) {
    add((strstr(name, "::") ? std::string(name) : std::string(ns) + "::" + name).c_str(), f);
  }
};
} // namespace TENON_ET_HIDDEN

#endif
