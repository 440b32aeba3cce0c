/* The animals that do not follow from the table of members.h: ANIMAL(what it breaks, name, where it
 * is caught, what is wrong, what Tenon says, code). kinds.h lists what and where, and how messages
 * begin. `*` in what Tenon says stands for any text. The code runs in plugin.c, among its tables
 * and helpers. Included several times, each time with another ANIMAL. */
/* clang-format off */

/* ---- What several callbacks have in common ---- */

#define ANSWERS(kind, callback, where, failed, said, fails) \
  ANIMAL(kind, callback##_positive, where, "it answers 7", \
    failed "it answered 7, which is no status it may answer", return 7) \
  ANIMAL(kind, callback##_unknown, where, "it answers a code that is none", \
    failed "it answered -77, which is no status it may answer", return -77) \
  ANIMAL(kind, callback##_fails_silent, where, "it fails and says nothing", \
    failed "TN_ERR_SHAPE: shapes or dtypes do not fit together", return TN_ERR_SHAPE) \
  ANIMAL(kind, callback##_fail_null, where, "it fails with a NULL format", \
    failed "TN_ERR_SHAPE: shapes or dtypes do not fit together", return fails(TN_ERR_SHAPE, NULL)) \
  ANIMAL(kind, callback##_fails_text, where, "it fails and says why", \
    said "no wheels on Sundays", return fails(TN_ERR_SHAPE, "no %s on Sundays", "wheels"))
#define INIT_FAILS(...) host->fail(ctx, __VA_ARGS__)
#define CALL_FAILS(...) call->host->fail(call->ctx, __VA_ARGS__)
#define READ_FAILS(...) source->host->fail(source->ctx, __VA_ARGS__)
#define WRITE_FAILS(...) sink->host->fail(sink->ctx, __VA_ARGS__)

ANSWERS(INIT, init, LOAD, "plug-in 'zoo', init: failed: ", "plug-in 'zoo', init: ", INIT_FAILS)
ANSWERS(INFER, infer, USE, NODE "inference failed: ", NODE, CALL_FAILS)
ANSWERS(LOWER, lower, USE, NODE "lowering failed: ", NODE, CALL_FAILS)
ANSWERS(REWRITE, rewrite, USE, NODE "rewrite 'twice_away' failed: ", NODE, CALL_FAILS)
ANSWERS(PREPARE, prepare, USE, "kernel 'twice_f32_c': prepare() fails: ", NODE, CALL_FAILS)
ANSWERS(RUN, run, USE, RAN, RAN, CALL_FAILS)
ANSWERS(READ, read, USE, READING, "model in memory: ", READ_FAILS)
ANSWERS(WRITE, write, USE, "*: format zoo: ", "*: ", WRITE_FAILS)

#define CRASHES(kind, callback, place) \
  ANIMAL(kind, callback##_crashes, VET, "it crashes", \
    place "crashed with SIGSEGV in " #callback "()*", return raise(SIGSEGV))
#define EXITS(kind, callback, place) \
  ANIMAL(kind, callback##_exits, VET, "it ends the process", \
    place "ended the process in " #callback "()*", exit(0))
#define ABORTS(kind, callback, place) \
  ANIMAL(kind, callback##_aborts, VET, "it aborts", \
    place "crashed with SIGABRT*in " #callback "()*", abort())
#define LOOPS(kind, callback, place) \
  ANIMAL(kind, callback##_loops, VET, "it takes for ever", \
    place "hangs in " #callback "()*", return loop_for_ever())
#define JUMPS(kind, callback, place) \
  ANIMAL(kind, callback##_jumps, VET_PLAIN, "it jumps to where nothing is", \
    place "crashed with SIG* in " #callback "()*", static jmp_buf nowhere; longjmp(nowhere, 1))

CRASHES(INIT, init, BEGINNING)
CRASHES(INFER, infer, VETTED_OP)
CRASHES(PLAN, plan, VETTED)
CRASHES(PREPARE, prepare, VETTED)
CRASHES(RUN, run, VETTED)
CRASHES(READ, read, VETTED_FORMAT)
CRASHES(WRITE, write, VETTED_FORMAT)
EXITS(INIT, init, BEGINNING)
EXITS(INFER, infer, VETTED_OP)
EXITS(REFUSE, refuse, VETTED)
EXITS(RUN, run, VETTED)
ABORTS(PLAN, plan, VETTED)
ABORTS(RUN, run, VETTED)
ABORTS(READ, read, VETTED_FORMAT)
LOOPS(INIT, init, BEGINNING)
LOOPS(INFER, infer, VETTED_OP)
LOOPS(RUN, run, VETTED)
LOOPS(READ, read, VETTED_FORMAT)
JUMPS(INIT, init, BEGINNING)
JUMPS(INFER, infer, VETTED_OP)
JUMPS(RUN, run, VETTED)

#define SCHEMA(name, wrong, rule, text) \
  ANIMAL(DESCRIPTOR, schema_##name, LOAD, "the schema: " wrong, \
    IN_OP "member schema: schema, column " rule, \
    op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = text)


/* ---- Descriptors: what does not follow from the kind of a member ---- */

ANIMAL(DESCRIPTOR, format_extensions, LOAD, "file endings without a dot",
  IN_FORMAT "member extensions: is 'zoo,cage', but has to read like .onnx or .tflite,.lite",
  format[0].extensions = "zoo,cage")
ANIMAL(DESCRIPTOR, format_extensions_path, LOAD, "a file ending with a folder in it",
  IN_FORMAT "member extensions: is '.zoo/../cage', but has to read like .onnx or .tflite,.lite",
  format[0].extensions = ".zoo/../cage")
ANIMAL(DESCRIPTOR, op_infer_missing, LOAD, "an operator that does not say which shapes it has",
  IN_OP "member infer: must be given, or lower, or a flag (TN_OP_SAME_AS_INPUT, TN_OP_BROADCAST)",
  op[0].flags = 0)
ANIMAL(DESCRIPTOR, op_lower_missing, LOAD, "an operator that wants to be lowered and cannot",
  IN_OP "member lower: must be given: flags ask for lowering", op[0].flags |= TN_OP_LOWER_ALWAYS)
ANIMAL(DESCRIPTOR, format_read_missing, LOAD, "a format that neither reads nor writes",
  IN_FORMAT "member read: must be given, or write", format[0].read = NULL; format[0].write = NULL)
ANIMAL(DESCRIPTOR, format_probe_missing, LOAD, "a format that no file can be recognised to be of",
  IN_FORMAT "member probe: must be given, or extensions: nothing tells which files are of this "
  "format", format[0].probe = NULL; format[0].extensions = NULL)
ANIMAL(DESCRIPTOR, plugin_ops_row, LOAD, "the second of two ops is NULL",
  "plug-in 'zoo', op 1, member head: is NULL", plugin.n_ops = 2; ops[1] = NULL)
ANIMAL(DESCRIPTOR, plugin_ops_past_end, LOAD, "a table that goes on after the end of the library",
  "plug-in 'zoo', member ops: points to *, which is not inside the tables of a loaded library",
  plugin.n_ops = 60000)
ANIMAL(DESCRIPTOR, query_null, LOAD, "tn_plugin_query answers NULL",
  "plug-in *zoo.so: tn_plugin_query offers nothing for ABI *", answer = NULL)
ANIMAL(DESCRIPTOR, query_stack, LOAD,
  "tn_plugin_query answers a variable of its own, which is gone",
  "plug-in *zoo.so, member head: points to *, which is not inside the tables of a loaded library",
  tn_plugin gone = plugin; answer = &gone; leak_address(&answer))
ANIMAL(DESCRIPTOR, query_freed, LOAD, "tn_plugin_query answers what it has freed",
  "plug-in *zoo.so, member head: points to *, which is not inside the tables of a loaded library",
  tn_plugin *made = malloc(sizeof *made); *made = plugin; answer = made; free(made);
  leak_address(&answer))
ANIMAL(DESCRIPTOR, query_rubbish, LOAD, "tn_plugin_query answers a text",
  "plug-in *zoo.so, member head.size: is *, no struct is that large",
  answer = (const tn_plugin *)(const void *)rubbish)
ANIMAL(DESCRIPTOR, query_code, LOAD, "tn_plugin_query answers its own code",
  "plug-in *zoo.so, member head.size: is *, no struct is that large",
  answer = (const tn_plugin *)(uintptr_t)(((uintptr_t)&twice_run + 7) & ~(uintptr_t)7))
ANIMAL(DESCRIPTOR, types_stack, LOAD, "a table of type rules on the stack",
  IN_OP "member types: points to *, which is not inside the tables of a loaded library",
  const tn_type_rule *gone[1] = {&rule[0]}; op[0].types = gone; leak_address(&op[0].types))
ANIMAL(DESCRIPTOR, schema_deep, LOAD, "the schema has ten thousand opening brackets",
  IN_OP "member schema: schema, column 9: expected an integer, found '['",
  memset(endless, '[', 10000); memcpy(endless, "(Tensor", 7); endless[10000] = 0; op[0].schema =
  endless)
ANIMAL(DESCRIPTOR, schema_no_inputs, LOAD, "shapes follow from inputs, and there are none",
  IN_OP "member flags: say that shapes follow from the inputs, but the schema has none",
  op[0].schema = "(*, float by=2.0) -> Tensor Y"; rule[0].args = "Y")
ANIMAL(DESCRIPTOR, rule_arg_unknown, LOAD,
  "a type rule names an argument that the schema does not have",
  IN_OP "member types: rule 'T' names 'Z', which is no tensor input or output of the schema",
  rule[0].args = "X,Z")
ANIMAL(DESCRIPTOR, rule_arg_attribute, LOAD, "a type rule names an attribute",
  IN_OP "member types: rule 'T' names 'by', which is no tensor input or output of the schema",
  rule[0].args = "X,by")
ANIMAL(DESCRIPTOR, rule_arg_twice, LOAD, "a type rule names an argument twice",
  IN_OP "member types: name argument 'X' more than once", rule[0].args = "X,Y,X")
ANIMAL(DESCRIPTOR, rule_arg_empty, LOAD, "a type rule names nothing between commas",
  IN_OP "member types: rule 'T' names '', which is no tensor input or output of the schema",
  rule[0].args = "X,,Y")
ANIMAL(DESCRIPTOR, rule_no_dtype, LOAD, "a type rule allows no dtype",
  IN_RULE "member types: rule 'T' allows no dtype", rule[0].dtypes = 0)
ANIMAL(DESCRIPTOR, op_since_negative, LOAD, "an operator since version -5",
  "plug-in 'zoo', op 'zoo::Twice' since -5, member since: is -5, versions begin at 1",
  op[0].since = -5)
ANIMAL(DESCRIPTOR, op_until_before_since, LOAD, "an operator that ends before it begins",
  "plug-in 'zoo', op 'zoo::Twice' since 9, member until: is 3, which is before since = 9",
  op[0].since = 9; op[0].until = 3)
ANIMAL(DESCRIPTOR, op_until_negative, LOAD, "an operator until version -1",
  IN_OP "member until: is -1, which is before since = 1", op[0].until = -1)
ANIMAL(DESCRIPTOR, ops_overlap, LOAD, "two versions of one operator overlap",
  "plug-in 'zoo', op 'zoo::Twice' since 9, member since: overlaps the versions of the same op "
  "since 1 in this plug-in (until 9; 0 is the newest)",
  plugin.n_ops = 2; op[0].until = 9; op[1].since = 9)
ANIMAL(DESCRIPTOR, ops_twice, LOAD, "one operator twice",
  IN_OP "member since: overlaps the versions of the same op since 1 in this plug-in (until 0; 0 is "
  "the newest)", plugin.n_ops = 2)
ANIMAL(DESCRIPTOR, op_same_row_twice, LOAD, "one descriptor twice in the table",
  IN_OP "member since: overlaps the versions of the same op since 1 in this plug-in (until 0; 0 is "
  "the newest)", plugin.n_ops = 2; ops[1] = ops[0])
ANIMAL(DESCRIPTOR, kernel_since_negative, LOAD, "a kernel since version -1",
  IN_KERNEL "member since: is -1, must not be negative", kernel[0].since = -1)
ANIMAL(DESCRIPTOR, kernel_until_before_since, LOAD, "a kernel that ends before it begins",
  IN_KERNEL "member until: is 3, which is before since = 9",
  kernel[0].since = 9; kernel[0].until = 3)
ANIMAL(DESCRIPTOR, kernel_versions_none, LOAD,
  "a kernel for versions that the operator does not have",
  IN_KERNEL "member since: serves versions 6..0 (0 is open) of 'zoo::Twice', none of which is "
  "registered", op[0].until = 5; kernel[0].since = 6)
ANIMAL(DESCRIPTOR, kernels_twice, LOAD, "two kernels of one name",
  IN_KERNEL "member name: is the name of another kernel of this plug-in", plugin.n_kernels = 2)
ANIMAL(DESCRIPTOR, kernel_op_unknown, LOAD, "a kernel for an operator that nobody offers",
  IN_KERNEL "member op: is 'zoo::Thrice', which neither this plug-in nor any loaded before it "
  "offers", kernel[0].op = "zoo::Thrice")
ANIMAL(DESCRIPTOR, kernel_op_colons, LOAD, "a kernel for an operator with two domains",
  IN_KERNEL "member op: is 'cage::Twice', but names are made of letters, digits and _ . -",
  kernel[0].op = "zoo::cage::Twice")
ANIMAL(DESCRIPTOR, kernel_op_no_domain, LOAD, "a kernel for an operator in the wrong domain",
  IN_KERNEL "member op: is 'Twice', which neither this plug-in nor any loaded before it offers",
  kernel[0].op = "Twice")
ANIMAL(DESCRIPTOR, kernel_device_unknown, LOAD, "a kernel for a device that is not there",
  IN_KERNEL "member device: is 'npu', this host knows 'cpu' only", kernel[0].device = "npu")
ANIMAL(DESCRIPTOR, accept_arg_unknown, LOAD, "a row for an argument that the schema does not have",
  IN_KERNEL "member accepts: row 'Z' names no tensor input or output of zoo::Twice, whose schema "
  "is (Tensor X, *, float by=2.0) -> Tensor Y", accept[0].arg = "Z")
ANIMAL(DESCRIPTOR, accept_arg_attribute, LOAD, "a row for an attribute",
  IN_KERNEL "member accepts: row 'by' names no tensor input or output of zoo::Twice, whose schema "
  "is (Tensor X, *, float by=2.0) -> Tensor Y", accept[0].arg = "by")
ANIMAL(DESCRIPTOR, accept_rows_more, LOAD, "more rows than arguments: two for one",
  IN_KERNEL "member accepts: has two rows for 'X'", kernel[0].n_accepts = 2)
ANIMAL(DESCRIPTOR, accept_row_null, LOAD, "a row that is NULL",
  IN_KERNEL "row 1 of accepts, member head: is NULL", kernel[0].n_accepts = 2; accepts[1] = NULL)
ANIMAL(DESCRIPTOR, accept_missing, LOAD, "no row for an argument, and no type rule that binds it",
  IN_KERNEL "member accepts: output Y has no row: say what the kernel takes for it, in a row of "
  "its own or in one for '*'", op[0].n_types = 0)
ANIMAL(DESCRIPTOR, accept_no_dtype, LOAD, "a row that takes no dtype",
  IN_ROW "member accepts: row 'X' takes no dtype: name them, or say TN_ANY_DTYPE",
  accept[0].dtypes = 0)
ANIMAL(DESCRIPTOR, accept_others_flags, LOAD, "a row for all other arguments that wants a constant",
  IN_ROW "member accepts: row '*' has flags 0x1, which an argument has in a row of its own",
  accept[0].arg = "*"; accept[0].flags = TN_ACCEPT_CONST)
ANIMAL(DESCRIPTOR, accept_flags_contrary, LOAD,
  "a row that wants an argument both there and left out",
  IN_ROW "member accepts: row 'X' wants the argument to be left out and to be there",
  accept[0].flags = TN_ACCEPT_ABSENT | TN_ACCEPT_PRESENT)
ANIMAL(DESCRIPTOR, accept_output_const, LOAD, "a row that wants an output to be constant",
  IN_KERNEL "member accepts: row 'Y' wants an output to be constant",
  accept[0].arg = "Y"; accept[0].flags = TN_ACCEPT_CONST)
ANIMAL(DESCRIPTOR, accept_layout_unknown, LOAD, "a row in blocks of 7",
  IN_ROW "member accepts: row 'X' has layout 0x20000000007, which is none",
  accept[0].layout = TN_BLOCKED(7))
ANIMAL(DESCRIPTOR, accept_layout_bits, LOAD, "a row with two layouts",
  IN_ROW "member accepts: row 'X' has layout 0x50000000000, which is none",
  accept[0].layout = TN_CHANNELS_LAST | TN_ANY_LAYOUT)
ANIMAL(DESCRIPTOR, accept_rank_negative, LOAD, "a row from rank -1",
  IN_ROW "member accepts: row 'X' has ranks -1 to 4, which is no range within 0 to 8",
  accept[0].rank_min = -1; accept[0].rank_max = 4)
ANIMAL(DESCRIPTOR, accept_rank_high, LOAD, "a row up to rank 1000",
  IN_ROW "member accepts: row 'X' has ranks 0 to 1000, which is no range within 0 to 8",
  accept[0].rank_max = 1000)
ANIMAL(DESCRIPTOR, accept_rank_crossed, LOAD, "a row from rank 5 to rank 3",
  IN_ROW "member accepts: row 'X' has ranks 5 to 3, which is no range within 0 to 8",
  accept[0].rank_min = 5; accept[0].rank_max = 3)
ANIMAL(DESCRIPTOR, rewrite_root_unknown, LOAD, "a rewrite for an operator that nobody offers",
  IN_REWRITE "member root: is 'zoo::Thrice', which neither this plug-in nor any loaded before it "
  "offers", rewrite[0].root = "zoo::Thrice")
ANIMAL(DESCRIPTOR, formats_twice, LOAD, "two formats of one name",
  IN_FORMAT "member name: is that of another format of this plug-in", plugin.n_formats = 2)
ANIMAL(DESCRIPTOR, format_builtin, LOAD, "a format that ships already",
  "plug-in 'zoo', format 'onnx', member name: is that of a registered format; formats cannot be "
  "replaced", format[0].name = "onnx")
ANIMAL(DESCRIPTOR, plugin_name_taken, LOAD, "the name of a plug-in that is in use",
  "plug-in 'tenon', member name: is that of a plug-in in use (built in)", plugin.name = "tenon")
ANIMAL(DESCRIPTOR, flavour_32bit, LOAD, "built for pointers of another size",
  "plug-in 'zoo', member flavour: is * (32 bit, *", plugin.flavour ^= TN_FLAVOUR_32BIT)
ANIMAL(DESCRIPTOR, flavour_endian, LOAD, "built for the other byte order",
  "plug-in 'zoo', member flavour: is * (64 bit, big endian, *",
  plugin.flavour ^= TN_FLAVOUR_BIG_ENDIAN)
ANIMAL(DESCRIPTOR, flavour_sanitizer, LOAD, "built with another sanitizer",
  "plug-in 'zoo', member flavour: is * (64 bit, little endian, *",
  plugin.flavour ^= TN_FLAVOUR_MSAN)
ANIMAL(DESCRIPTOR, flavour_unknown, LOAD, "built in a way that nobody knows",
  "plug-in 'zoo', member flavour: is * (64 bit, little endian, *",
  plugin.flavour |= UINT64_C(1) << 40)
ANIMAL(DESCRIPTOR, schema_no_output, USE, "the schema: it has no outputs",
  "node 'first' (zoo::Twice) has 1 outputs; the operator gives at most 0",
  op[0].n_types = 0; op[0].schema = "(Tensor X) -> ()")
ANIMAL(DESCRIPTOR, schema_two_lists, USE, "the schema: two lists, for one input",
  "node 'first' (zoo::Twice) has 1 inputs, which the lists among the operator's 2 cannot share in "
  "equal parts", op[0].schema = "(Tensor[] X, Tensor[] Z) -> Tensor Y"; rule[0].args = "X,Z,Y";
  accept[0].arg = "*")
ANIMAL(DESCRIPTOR, kernel_isa_unknown, USE, "a kernel for an instruction set that nobody knows",
  "*twice_f32_c: needs instruction set 0x4000000000000000, which may not be used here",
  kernel[0].isa = UINT64_C(1) << 62)
ANIMAL(DESCRIPTOR, op_minor_future, WORKS,
  "a later minor version with members that this host does not know", "",
  newer_op.op = op[0]; newer_op.op.head.size = sizeof newer_op; newer_op.op.head.minor = 99;
  memset(newer_op.appended, 0xff, sizeof newer_op.appended); ops[0] = &newer_op.op)
ANIMAL(DESCRIPTOR, plugin_minor_future, WORKS, "a later minor version", "", plugin.head.minor = 99)
ANIMAL(DESCRIPTOR, query_writes, WORKS, "tn_plugin_query changes its tables each time", "",
  static int calls; plugin.version = calls++ ? "2.0" : "1.0")
ANIMAL(DESCRIPTOR, kernel_rank_lowest, WORKS, "a kernel of the lowest rank there is", "",
  kernel[0].rank = INT32_MIN)
ANIMAL(DESCRIPTOR, kernel_rank_highest, WORKS, "a kernel of the highest rank there is", "",
  kernel[0].rank = INT32_MAX)
ANIMAL(DESCRIPTOR, op_cases_nested, WORKS, "a test case that is nested without end", "",
  memcpy(endless, "X=f32[2] body=", 14); memset(endless + 14, '{', 60000); endless[60014] = 0;
  cases[0] = endless)
ANIMAL(DESCRIPTOR, query_exits, VET_PLAIN, "tn_plugin_query ends the process",
  MAPPING "ended the process in tn_plugin_query()*", exit(0))
ANIMAL(DESCRIPTOR, query_loops, VET_PLAIN, "tn_plugin_query takes for ever",
  MAPPING "hangs in tn_plugin_query(): ended after *", loop_for_ever())
ANIMAL(DESCRIPTOR, run_ranges, VET_PLAIN, "it does not care which range it is given", VETTED
  "Y[0,*",
  kernel[0].run = runs_from_zero)
ANIMAL(DESCRIPTOR, init_keeps_host, VET_PLAIN,
  "it uses the host of the first runtime for all runtimes",
  "zoo: init and shutdown, *: crashed with SIGSEGV in *",
  plugin.init = first_init; plugin.shutdown = first_shutdown)
ANIMAL(DESCRIPTOR, finish_exits, VET_PLAIN, "it ends the process when it finishes",
  VETTED "ended the process in finish()*",
  kernel[0].plan = stateful_plan; kernel[0].finish = exit_finish)
ANIMAL(DESCRIPTOR, run_jumps_back, VET_PLAIN,
  "it jumps out of the call, to where its plan was asked for",
  VETTED "", kernel[0].plan = placing_plan; kernel[0].run = jumping_run)
ANIMAL(DESCRIPTOR, run_keeps_call, VET_PLAIN, "it takes its input from the call that prepare had",
  VETTED "crashed with SIGSEGV in run()*of the call of prepare(), which is not there any more",
  kernel[0].plan = stateful_plan; kernel[0].prepare = keeping_prepare; kernel[0].run =
  kept_input_run)
ANIMAL(DESCRIPTOR, run_keeps_context, VET_PLAIN,
  "it asks for memory through the context that prepare had",
  VETTED "crashed with SIGSEGV in run()*of the call of prepare(), which is not there any more",
  kernel[0].plan = stateful_plan; kernel[0].prepare = keeping_prepare; kernel[0].run = kept_ctx_run)
ANIMAL(DESCRIPTOR, finish_inputs, VET_PLAIN, "it looks at an input when it finishes",
  VETTED "crashed with SIGSEGV in finish()*",
  kernel[0].plan = stateful_plan; kernel[0].finish = input_finish)
ANIMAL(DESCRIPTOR, plugin_size_of_version, LOAD, "the plug-in is shorter than in its own version",
  "plug-in 'zoo', member head.size: is *, but this struct has * bytes in ABI *",
  plugin.head.size -= 8)
ANIMAL(DESCRIPTOR, plugin_needs_unknown, LOAD, "it needs what this host does not have",
  "plug-in 'zoo', member needs: asks for 'tn_host.teleport', which this host (ABI *) does not have",
  plugin.needs = "tn_host.teleport")
ANIMAL(DESCRIPTOR, extension_version, LOAD, "an extension whose name has no version",
  "plug-in 'zoo', extension 0, member name: is 'profiler', but has to end in a version, *",
  extension[0].name = "profiler")
ANIMAL(DESCRIPTOR, extension_table, LOAD, "an extension without a table",
  "plug-in 'zoo', extension 'profiler.v1', member table: must be given",
  extension[0].table = NULL)
ANIMAL(DESCRIPTOR, compiler_no_targets, LOAD, "a compiler for no machine",
  "plug-in 'zoo', compiler 'zoo-npu', member targets: must be given: it has none",
  compiler.n_targets = 0)
ANIMAL(DESCRIPTOR, kernel_op_empty, LOAD, "a kernel for an operator whose domain is empty",
  IN_KERNEL "member op: is empty", kernel[0].op = "::Twice")
ANIMAL(DESCRIPTOR, kernel_two_schemas, LOAD, "a kernel for versions that are called differently",
  IN_KERNEL "member since: serves zoo::Twice since 1 and since 6, whose arguments differ: limit "
  "the versions with since and until",
  plugin.n_ops = 2; op[0].until = 5; op[1].since = 6; op[1].schema = "(Tensor X) -> Tensor Y")
ANIMAL(DESCRIPTOR, accept_rank_any, LOAD, "a row from rank 2 to any",
  IN_ROW "member accepts: row 'X' has rank_min 2 with rank_max 0, which means any rank",
  accept[0].rank_min = 2)
ANIMAL(DESCRIPTOR, format_extensions_end, LOAD, "file endings of which the last is empty",
  IN_FORMAT "member extensions: is '.a,', but has to read like .onnx or .tflite,.lite",
  format[0].extensions = ".a,")

/* ---- Schemas ---- */

SCHEMA(unclosed, "its parenthesis is not closed",
  "11: expected ',' or ')', found '-'", "(Tensor X -> Tensor Y")
SCHEMA(arrow, "it has no arrow",
  "12: expected '->' before the returns, found 'Tensor'", "(Tensor X) Tensor Y")
SCHEMA(type, "it has a type that nobody knows",
  "2: expected a type such as Tensor, int or float, found 'Tenzor'", "(Tenzor X) -> Tensor Y")
SCHEMA(default, "a default is no value of its type",
  "24: expected a number, found 'often'", "(Tensor X, *, float by=often) -> Tensor Y")
SCHEMA(twice, "two arguments have one name",
  "12: there are two of the name 'X'", "(Tensor X, Tensor X) -> Tensor Y")
SCHEMA(output_twice, "two outputs have one name",
  "26: there are two of the name 'Y'", "(Tensor X) -> (Tensor Y, Tensor Y)")
SCHEMA(empty, "it is empty", "1: expected '(' before the arguments, found the end", "")
SCHEMA(rest, "something stands after its end",
  "23: expected the end of the schema, found ';'", "(Tensor X) -> Tensor Y; drop table")
SCHEMA(nested, "its brackets are nested a thousand times",
  "10: lists of lists are not part of the language", "(Tensor[][][][][][][][] X) -> Tensor Y")
SCHEMA(number, "a default does not fit in 64 bits",
  "21: the integer does not fit in 64 bits",
  "(Tensor X, *, int k=99999999999999999999) -> Tensor Y")
SCHEMA(alias, "an alias set is not closed",
  "11: expected ')' after the alias set, found 'X'", "(Tensor(a X) -> Tensor Y")
SCHEMA(utf8_name, "a name is not ASCII",
  "9: expected the argument's name, found 'é'", "(Tensor \xc3\xa9) -> Tensor Y")
SCHEMA(input_list_size, "a list of inputs has a size",
  "26: 'X' is a list of inputs or outputs, which has no size: Tensor[]",
  "(Tensor[2] X) -> Tensor Y")
SCHEMA(list_size, "a list of negative size",
  "19: the size of a list is 1 to 4096", "(Tensor X, *, int[-1] k) -> Tensor Y")

/* ---- What runs when the library is mapped ---- */

ANIMAL(BIRTH, birth_aborts, VET_PLAIN, "it aborts when it is mapped",
  MAPPING "crashed with SIGABRT*in dlopen() (its constructors)*", abort())
ANIMAL(BIRTH, birth_exits, VET_PLAIN, "it ends the process when it is mapped",
  MAPPING "ended the process in dlopen() (its constructors)*", _exit(0))
ANIMAL(BIRTH, birth_loops, VET_PLAIN, "mapping it takes for ever",
  MAPPING "hangs in dlopen() (its constructors): ended after *", loop_for_ever())
ANIMAL(BIRTH, birth_stops, VET_PLAIN, "it stops the process, and does not end it",
  MAPPING "hangs in dlopen() (its constructors): ended after *", raise(SIGSTOP))

/* ---- init ---- */

ANIMAL(INIT, init_fail_long, LOAD, "init fails with a text of 100000 letters",
  "plug-in 'zoo', init: aaaaaaaaaaaa*", return host->fail(ctx, TN_ERR_IO, "%s", endless))
ANIMAL(INIT, init_alloc_all, LOAD, "init wants all memory there is",
  "plug-in 'zoo', init: failed: TN_ERR_MEMORY: memory could not be had",
  return host->alloc(ctx, UINT64_MAX) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(INIT, init_needs_data, LOAD, "init answers a code of inference",
  "plug-in 'zoo', init: failed: it answered -20, which is no status it may answer",
  return TN_NEEDS_DATA)
ANIMAL(INIT, init_says_and_works, WORKS, "init says that something failed, and goes on",
  "plug-in 'zoo', init: oh", host->fail(ctx, TN_ERR_IO, "oh"); return TN_OK)
ANIMAL(INIT, init_killed, VET_PLAIN, "init raises what cannot be caught",
  "zoo: init and shutdown, once: crashed with SIGKILL (9) in init()*", return raise(SIGKILL))

/* ---- Inference ---- */

ANIMAL(INFER, infer_negative, USE, "a dim of -7", NODE "output 0 would have -7 elements in dim 0",
  return says_shape(call, 2, -7))
ANIMAL(INFER, infer_overflow, USE, "more elements than 64 bits count",
  NODE "the size of output 0 overflows", return says_shape(call, 3, INT64_C(1) << 40))
ANIMAL(INFER, infer_int64_max, USE, "a dim of 2^63 - 1", NODE "the size of output 0 overflows",
  return says_shape(call, 1, INT64_MAX))
ANIMAL(INFER, infer_petabytes, USE, "an output of 4 PB",
  "model: memory for a run cannot be had: * bytes", return says_shape(call, 1, INT64_C(1) << 50))
ANIMAL(INFER, infer_rank_1000, USE, "rank 1000",
  NODE "output 0 would have rank 1000; the limit is 8", return says_shape(call, 1000, 1))
ANIMAL(INFER, infer_rank_minus_5, USE, "rank -5",
  NODE "output 0 would have rank -5; the limit is 8", return says_shape(call, -5, 1))
ANIMAL(INFER, infer_dtype_unknown, USE, "a dtype that nobody knows",
  NODE "inference gave output 0 dtype 999, which is none",
  says_shape(call, 1, 4); call->outputs[0]->dtype = 999; return TN_OK)
ANIMAL(INFER, infer_dtype_open, USE, "a shape, and no dtype",
  NODE "inference left the type of output 0 open",
  says_shape(call, 1, 4); call->outputs[0]->dtype = TN_NONE; return TN_OK)
ANIMAL(INFER, infer_dtype_rule, USE, "a dtype that the operator's own rule excludes",
  NODE "not supported: output 'Y' of type i64",
  says_shape(call, 1, 4); call->outputs[0]->dtype = TN_I64; return TN_OK)
ANIMAL(INFER, infer_dtype_differs, USE, "another dtype than the input, which the rule binds it to",
  NODE "'Y' is f64 but 'X' is f32; they must have the same type (T)",
  says_shape(call, 1, 4); call->outputs[0]->dtype = TN_F64; return TN_OK)
ANIMAL(INFER, infer_nothing, USE, "it never fills in its output",
  NODE "not supported: operator zoo::Twice version 1 with types f32[4] -> f32[...]; twice_f32_c: "
  "plan() fails: kernel 'twice_f32_c': plan() answered no TN_PLAN_DATA_DEPENDENT, but inference "
  "left a shape open", return TN_OK)
ANIMAL(INFER, infer_kind_unknown, USE, "a kind of value that nobody knows",
  NODE "inference gave output 0 kind 77, which is none",
  says_shape(call, 1, 4); call->outputs[0]->kind = 77; return TN_OK)
ANIMAL(INFER, infer_needs_nothing, USE, "it needs data, and does not say of which input",
  NODE "inference asks for data without saying of which input", return TN_NEEDS_DATA)
ANIMAL(INFER, infer_needs_input_9, USE, "it needs the data of an input that it does not have",
  NODE "inference asks for data without saying of which input",
  call->host->needs_data(call->ctx, 9); return TN_NEEDS_DATA)
ANIMAL(INFER, infer_never_content, USE, "it needs data, and has them already",
  "model: an operator asks for the data of input 'x', which it was given",
  return call->host->needs_data(call->ctx, 0))
ANIMAL(INFER, infer_resizes, USE, "it asks for a service that is there only while running",
  NODE "calls the host's output_resize, which is there only while running",
  return call->host->output_resize(call->ctx, 0, 0, NULL))
ANIMAL(INFER, infer_subgraph, USE, "it asks for a subgraph that is not there",
  NODE "asks for subgraph 5 of 0",
  return call->host->subgraph_infer(call->ctx, 5, 0, NULL, 0, NULL))
ANIMAL(INFER, infer_subgraph_shape, USE, "it asks for the inputs of a subgraph that is not there",
  NODE "asks for subgraph -1 of 0",
  uint32_t n, m; return call->host->subgraph_shape(call->ctx, -1, &n, &m))
ANIMAL(INFER, infer_subgraphs_null, USE,
  "it asks for the types of a subgraph without room for them", NODE "asks for subgraph 0 of 0",
  return call->host->subgraph_infer(call->ctx, 0, 1, NULL, 1, NULL))
ANIMAL(INFER, infer_says_and_works, WORKS, "it says that something failed, and goes on", NODE "oh",
  fails(call, TN_ERR_SHAPE, "oh"); return says_shape(call, 1, 4))
ANIMAL(INFER, infer_layout, WORKS, "a layout that nobody knows", "",
  says_shape(call, 1, 4); call->outputs[0]->layout = 777; return TN_OK)
ANIMAL(INFER, infer_data, WORKS, "an output with data at an address where nothing is", "",
  says_shape(call, 1, 4); call->outputs[0]->data = (void *)(uintptr_t)8; return TN_OK)
ANIMAL(INFER, infer_changes_inputs, WORKS, "it writes into the types of its inputs", "",
  tn_tensor *x = (tn_tensor *)(uintptr_t)call->inputs[0]; says_shape(call, 1, 4); x->rank = 1000;
  x->dtype = 999; return TN_OK)

/* ---- Operations, and steps that others may do ---- */

ANIMAL(FLOPS, flops_nan, WORKS, "NaN operations", "", *out_flops = NAN; return TN_OK)
ANIMAL(FLOPS, flops_negative, WORKS, "less than none operations", "",
  *out_flops = -1e300; return TN_OK)
ANIMAL(FLOPS, flops_infinite, WORKS, "infinitely many operations", "",
  *out_flops = INFINITY; return TN_OK)
ANIMAL(FLOPS, flops_fails, WORKS, "it fails", "", return TN_ERR_INTERNAL)
ANIMAL(FLOPS, flops_unknown, WORKS, "it answers a code that is none", "", *out_flops = 1; return 77)
ANIMAL(EPILOGUE, epilogue_kind, WORKS, "a step that nobody knows", "",
  out->kind = 999; return TN_OK)
ANIMAL(EPILOGUE, epilogue_none, WORKS, "no step", "", out->kind = TN_EPILOGUE_NONE; return TN_OK)
ANIMAL(EPILOGUE, epilogue_operand, WORKS, "an operand that is not there", "",
  out->kind = TN_EPILOGUE_ADD; out->input = 55; return TN_OK)
ANIMAL(EPILOGUE, epilogue_fails, WORKS, "it fails", "", return TN_ERR_INTERNAL)
ANIMAL(EPILOGUE, epilogue_positive, WORKS, "it answers 7", "",
  out->kind = TN_EPILOGUE_RELU; return 7)

/* ---- Lowering ---- */

ANIMAL(LOWER, lower_cycle, USE, "a node that reads what it writes",
  "node 'added' (zoo::Twice) depends on itself: the graph has a cycle",
  int32_t v = API->value(graph, NULL); add(API, graph, "Twice", 1, &v, 1, &v); return
  API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_cycle_two, USE, "two nodes that read each other",
  "node 'added' (zoo::Twice) depends on itself: the graph has a cycle",
  int32_t a = API->value(graph, NULL), b = API->value(graph, NULL); add(API, graph, "Twice", 1, &a,
  1, &b); add(API, graph, "Twice", 1, &b, 1, &a); return API->replace_node(graph, node, &a, 1))
ANIMAL(LOWER, lower_to_itself, USE, "it becomes itself, for ever",
  "node 'added' (zoo::Twice): lowering comes to no end: the graph has grown to * nodes",
  return become(call, graph, node, "Twice"))
ANIMAL(LOWER, lower_unknown_op, USE, "a node of an operator that nobody offers",
  "node 'added' (zoo::Thrice): not supported: operator zoo::Thrice; no plug-in offers it",
  return become(call, graph, node, "Thrice"))
ANIMAL(LOWER, lower_arity, USE, "a node with three inputs where the schema has one",
  "node 'added' (zoo::Twice) has 3 inputs; the operator takes at most 1",
  int32_t v = API->value(graph, NULL), x = API->node(graph, node)->inputs[0]; int32_t in[] = {x, x,
  x}; add(API, graph, "Twice", 3, in, 1, &v); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_no_source, USE, "its output comes from a value that nobody makes",
  NODE "lowering replaces a value by one that nothing makes",
  int32_t v = API->value(graph, NULL); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_type, USE, "its output becomes a constant of another dtype",
  NODE "lowering replaces a value of type f32[4] by one of type i64[4]",
  return become_const(call, graph, node, TN_I64, 4))
ANIMAL(LOWER, lower_shape, USE, "its output becomes a constant of another shape",
  NODE "lowering replaces a value of type f32[4] by one of type f32[2]",
  return become_const(call, graph, node, TN_F32, 2))
ANIMAL(LOWER, lower_ids, USE, "values and nodes that are not there",
  NOT_LOWERED "what replaces a value is no value of the graph",
  int32_t v[] = {999}; API->remove_node(graph, 999); API->replace_value(graph, -3, 12345); return
  API->replace_node(graph, node, v, 1))
ANIMAL(LOWER, lower_null, USE, "NULL wherever a pointer is wanted",
  NOT_LOWERED "replace_node: no such node, or values is NULL",
  API->add_node(graph, NULL); API->value_set_type(graph, 0, NULL); API->value_set_const(graph, 0,
  NULL, 1); API->set_meta(graph, NULL, NULL); API->set_opset(graph, NULL, 1); API->value(graph,
  NULL); return API->replace_node(graph, node, NULL, 5))
ANIMAL(LOWER, lower_removes_foreign, USE, "it removes all nodes",
  NOT_NOW "a node whose outputs are in use cannot be removed",
  for (int32_t k = 0; k < 9; k++) if (k != node) API->remove_node(graph, k); return
  API->remove_node(graph, node))
ANIMAL(LOWER, lower_adds_output, USE, "the model gets another output",
  NOT_NOW "inputs and outputs of the graph cannot be changed here",
  return API->add_output(graph, API->node(graph, node)->inputs[0]))
ANIMAL(LOWER, lower_adds_input, USE, "the model gets another input",
  NOT_NOW "inputs and outputs of the graph cannot be changed here",
  int32_t v = API->value(graph, "more"); return API->add_input(graph, v))
ANIMAL(LOWER, lower_input_const, USE, "the model's input becomes a constant",
  NOT_NOW "inputs and outputs of the graph cannot be changed here",
  return API->value_set_const(graph, API->input(graph, 0), TENSOR(TN_F32, 4, endless), 1))
ANIMAL(LOWER, lower_input_type, USE, "the model's input gets another type",
  NOT_NOW "inputs and outputs of the graph cannot be changed here",
  return API->value_set_type(graph, API->input(graph, 0), TENSOR(TN_I64, 2, NULL)))
ANIMAL(LOWER, lower_region_outside, USE, "a region that reads past its input",
  NOT_LOWERED "set_regions: a region leaves its input or output",
  return cover(call, graph, node, 1, REGION(.rank = 1, .size = {400}, .src_stride = {1}, .dst_stride
  = {1}), -1))
ANIMAL(LOWER, lower_region_overlap, USE, "two regions that write one element",
  NOT_LOWERED "set_regions: two regions write one element",
  return cover(call, graph, node, 2, REGION(.rank = 1, .size = {4}, .src_stride = {1}, .dst_stride =
  {1}), -1))
ANIMAL(LOWER, lower_region_overflow, USE, "a region whose strides overflow",
  NOT_LOWERED "set_regions: a region leaves its input or output",
  return cover(call, graph, node, 1, REGION(.rank = 2, .size = {4, 4}, .src_stride = {INT64_MAX,
  INT64_MAX}, .dst_stride = {1, INT64_MIN}), -1))
ANIMAL(LOWER, lower_region_rank, USE, "a region of rank 1000",
  NOT_LOWERED "set_regions: the rank or a size of a region is none",
  return cover(call, graph, node, 1, REGION(.rank = 1000, .size = {4}), -1))
ANIMAL(LOWER, lower_region_input, USE, "a region of an input that is not there",
  NOT_LOWERED "set_regions: a region is NULL, or its input none",
  return cover(call, graph, node, 1, REGION(.input = 7, .rank = 1, .size = {4}, .src_stride = {1},
  .dst_stride = {1}), -1))
ANIMAL(LOWER, lower_region_fill, USE,
  "what regions leave out is filled from an input that is not there",
  NOT_LOWERED "set_regions: no such node, a table is NULL, or fill is no input",
  return cover(call, graph, node, 1, REGION(.rank = 1, .size = {2}, .src_stride = {1}, .dst_stride =
  {1}), 9))
ANIMAL(LOWER, lower_region_null, USE, "regions that are NULL",
  NOT_LOWERED "set_regions: a region is NULL, or its input none",
  return cover(call, graph, node, 1, NULL, -1))
ANIMAL(LOWER, lower_unsupported, USE, "it edits, and answers that it does not",
  NODE "lowering answers TN_ERR_UNSUPPORTED, but has changed the graph",
  become(call, graph, node, "Twice"); return TN_ERR_UNSUPPORTED)
ANIMAL(LOWER, lower_nothing, WORKS, "it replaces nothing", "", return TN_OK)
ANIMAL(LOWER, lower_cuts_foreign, VET_PLAIN, "what reads its output reads its input, and it stays",
  "zoo: op 'zoo::Twice', session *: Y[0,0] is 1, expected 2 *",
  return API->replace_value(graph, API->node(graph, node)->outputs[0], API->node(graph,
  node)->inputs[0]))

/* ---- Rewrites ---- */

ANIMAL(REWRITE, rewrite_endless, USE, "each node becomes another of its kind, for ever",
  "node 'added' (zoo::Twice): rewriting comes to no end: the graph has grown to * nodes",
  return become(call, graph, node, "Twice"))
ANIMAL(REWRITE, rewrite_cycle, USE, "the first node reads what the second writes",
  "node 'first' (zoo::Twice) depends on itself: the graph has a cycle",
  static int done; if (done++) return TN_OK; int32_t y = API->output(graph, 0), v =
  API->value(graph, NULL); add(API, graph, "Twice", 1, &y, 1, &v); return API->replace_value(graph,
  API->input(graph, 0), v))
ANIMAL(REWRITE, rewrite_type, USE, "the output becomes a constant of another dtype",
  NODE "rewrite 'twice_away' replaces a value of type f32[4] by one of type i64[4]",
  return become_const(call, graph, node, TN_I64, 4))
ANIMAL(REWRITE, rewrite_removes_all, VET_PLAIN, "it removes all nodes, used or not",
  "zoo: op 'zoo::Twice', session *: Y[0,0] is 1, expected 2 *",
  int32_t x = API->input(graph, 0); for (int32_t k = 0; k < 9; k++) if (API->node(graph, k))
  API->replace_node(graph, k, &x, 1); return TN_OK)

ANIMAL(REWRITE, rewrite_pattern, VET, "two of them become one",
  "*graphs around zoo::Twice: makes something else of Twice(Twice(x))*",
  const int32_t before = node_before(call, graph, node); if (before < 0) return TN_OK; return
  API->replace_node(graph, node, API->node(graph, before)->outputs, 1))
ANIMAL(REWRITE, rewrite_user, VET, "what stands before the sum of two is left out",
  "*graphs around zoo::Twice: makes something else of Add(*Twice(x)*",
  const int32_t y = API->node(graph, node)->outputs[0]; if (API->value_n_users(graph, y) != 1)
  return TN_OK; const tn_node *user = API->node(graph, API->value_user(graph, y, 0));
  if (strcmp(user->op, "Add")) return TN_OK;
  return API->replace_node(graph, node, API->node(graph, node)->inputs, 1))
ANIMAL(REWRITE, rewrite_sign, VET, "what is not negative is taken for any number",
  "*graphs around zoo::Twice: makes something else of Twice(Abs(x))*",
  const int32_t at = API->value_producer(graph, API->node(graph, node)->inputs[0]);
  const int32_t y = API->value(graph, NULL);
  if (at < 0 || strcmp(API->node(graph, at)->op, "Abs")) return TN_OK;
  const int32_t x = API->node(graph, at)->inputs[0];
  return add(API, graph, "Twice", 1, &x, 1, &y) < 0 ? TN_ERR_INTERNAL :
    API->replace_node(graph, node, &y, 1))
ANIMAL(REWRITE, rewrite_user_twice, VET, "what is multiplied by itself is left out",
  "*graphs around zoo::Twice: makes something else of Mul(Twice(*",
  const int32_t y = API->node(graph, node)->outputs[0]; if (API->value_n_users(graph, y) != 2)
  return TN_OK; const tn_node *user = API->node(graph, API->value_user(graph, y, 0));
  if (strcmp(user->op, "Mul") || user->inputs[0] != user->inputs[1]) return TN_OK;
  return API->replace_node(graph, node, API->node(graph, node)->inputs, 1))
ANIMAL(REWRITE, rewrite_difference, VET, "x - x is taken for 0, infinities, too",
  "*graphs around zoo::Twice: makes something else of *Twice(Sub(x, x))*",
  static float nothing[1 << 14];
  const int32_t at = API->value_producer(graph, API->node(graph, node)->inputs[0]),
    y = API->value(graph, NULL);
  const tn_tensor *type = API->value_type(graph, API->node(graph, node)->outputs[0]);
  if (at < 0 || !type || type->dtype != TN_F32 || strcmp(API->node(graph, at)->op, "Sub") ||
      API->node(graph, at)->inputs[0] != API->node(graph, at)->inputs[1])
    return TN_OK;
  tn_tensor zeros = *type; zeros.data = nothing;
  return API->value_set_const(graph, y, &zeros, 1) ? TN_ERR_INTERNAL :
    API->replace_node(graph, node, &y, 1))
ANIMAL(REWRITE, rewrite_second, VET, "of a difference and what was taken, what was taken is left",
  "*graphs around zoo::Twice: makes something else of *Twice(Add(Sub(x, y), y))*",
  const int32_t at = API->value_producer(graph, API->node(graph, node)->inputs[0]);
  const tn_node *sum = at < 0 ? NULL : API->node(graph, at);
  if (!sum || strcmp(sum->op, "Add")) return TN_OK;
  const int32_t taken = sum->inputs[1], before = API->value_producer(graph, sum->inputs[0]);
  if (before < 0 || strcmp(API->node(graph, before)->op, "Sub") ||
      API->node(graph, before)->inputs[1] != taken)
    return TN_OK;
  const int32_t y = API->value(graph, NULL);
  return add(API, graph, "Twice", 1, &taken, 1, &y) < 0 ? TN_ERR_INTERNAL :
    API->replace_node(graph, node, &y, 1))
ANIMAL(REWRITE, rewrite_list, VET, "of the larger of two the first is left",
  "*graphs around zoo::Twice: makes something else of *Twice(Max(x, y))*",
  const int32_t at = API->value_producer(graph, API->node(graph, node)->inputs[0]);
  if (at < 0 || strcmp(API->node(graph, at)->op, "Max")) return TN_OK;
  const tn_tensor *x = API->value_type(graph, API->node(graph, at)->inputs[0]),
    *y = API->value_type(graph, API->node(graph, node)->outputs[0]);
  if (API->node(graph, at)->n_inputs != 2 || !x || !y || x->rank != y->rank ||
      memcmp(x->shape, y->shape, sizeof x->shape))
    return TN_OK;
  const int32_t first = API->node(graph, at)->inputs[0], out = API->value(graph, NULL);
  return add(API, graph, "Twice", 1, &first, 1, &out) < 0 ? TN_ERR_INTERNAL :
    API->replace_node(graph, node, &out, 1))
ANIMAL(REWRITE, rewrite_writes, VET, "it writes into the graph itself",
  "*graphs around zoo::Twice: apply() on * writes into the graph, not through its functions",
  ((tn_node *)(uintptr_t)API->node(graph, node))->offset++; return TN_OK)
ANIMAL(REWRITE, rewrite_status, VET, "it fails where it finds nothing",
  "*graphs around zoo::Twice: apply() on Twice(Twice(x)) fails: *",
  return node_before(call, graph, node) < 0 ? TN_OK : TN_ERR_UNSUPPORTED)
ANIMAL(REWRITE, rewrite_unused, FIT, "it makes a value that nobody uses",
  "*rewrite 'twice_away': not checked: it changes none of * graphs that were tried*",
  return API->value(graph, NULL) < 0 ? TN_ERR_INTERNAL : TN_OK)
ANIMAL(REWRITE, rewrite_sound, FIT, "two of them become one of the sum",
  "*rewrite 'twice_away': checked where it changes Twice(Twice(x))*",
  const int32_t before = node_before(call, graph, node); if (before < 0) return TN_OK;
  const int32_t x = API->node(graph, before)->inputs[0], sum = API->value(graph, NULL),
    y = API->value(graph, NULL), both[] = {x, x};
  const tn_node add_node = {.head = TN_HEAD(tn_node), .op = "Add", .n_inputs = 2, .n_outputs = 1,
    .inputs = both, .outputs = &sum, .offset = -1};
  if (API->add_node(graph, &add_node) < 0 || add(API, graph, "Twice", 1, &sum, 1, &y) < 0)
    return TN_ERR_INTERNAL;
  return API->replace_node(graph, node, &y, 1))

/* ---- Kernels: refuse(), plan(), prepare() ---- */

ANIMAL(REFUSE, refuse_empty, USE, "an empty reason", "*twice_f32_c: refuse() gives an empty reason",
  return "")
ANIMAL(REFUSE, refuse_text, USE, "a reason", "*twice_f32_c: only on Tuesdays",
  return "only on Tuesdays")
ANIMAL(REFUSE, refuse_endless, USE, "a reason of 100000 letters", "*twice_f32_c: aaaaaaaaaaaa*",
  return endless)
ANIMAL(REFUSE, refuse_control, USE, "a reason that moves the cursor of a terminal",
  NODE "not supported: *; twice_f32_c: refuse() gives a reason that is no text",
  return "\x1b[2Jgone\xff")
ANIMAL(PLAN, plan_scratch, USE, "scratch of 2^63 bytes",
  PLANNED "scratch or state of more than 64 TiB",
  plan->scratch_bytes = UINT64_C(1) << 63; return TN_OK)
ANIMAL(PLAN, plan_scratch_wraps, USE, "scratch that becomes nothing when it is rounded up",
  PLANNED "scratch or state of more than 64 TiB",
  plan->worker_scratch_bytes = UINT64_MAX; return TN_OK)
ANIMAL(PLAN, plan_scratch_32t, USE, "scratch of 32 TiB",
  "model: memory for a run cannot be had: * bytes",
  plan->scratch_bytes = UINT64_C(1) << 45; return TN_OK)
ANIMAL(PLAN, plan_state, USE, "a state of 2^63 bytes",
  PLANNED "scratch or state of more than 64 TiB",
  plan->state_bytes = UINT64_C(1) << 63; return TN_OK)
ANIMAL(PLAN, plan_state_32t, USE, "a state of 32 TiB",
  "kernel 'twice_f32_c': no memory for 35184372088832 bytes of prepared constants",
  plan->state_bytes = UINT64_C(1) << 45; return TN_OK)
ANIMAL(PLAN, plan_no_stage, USE, "no stages", PLANNED "a number of stages that is not 1 to 8",
  plan->n_stages = 0; return TN_OK)
ANIMAL(PLAN, plan_1000_stages, USE, "1000 stages", PLANNED "a number of stages that is not 1 to 8",
  plan->n_stages = 1000; return TN_OK)
ANIMAL(PLAN, plan_items_negative, USE, "-5 items", PLANNED "a negative number of items",
  plan->items[0] = -5; return TN_OK)
ANIMAL(PLAN, plan_items_none, USE, "no items for an output that has elements",
  PLANNED "no items for an output that has elements",
  plan->items[0] = 0; return TN_OK)
ANIMAL(RUN, run_fail_no_ctx, USE, "it fails with a NULL ctx",
  RAN "TN_ERR_SHAPE: shapes or dtypes do not fit together",
  call->host->log(NULL, TN_LOG_NOTE, "x"); return call->host->fail(NULL, TN_ERR_SHAPE, "no"))
ANIMAL(INFER, infer_fail_no_ctx, USE, "it fails with a NULL ctx",
  NODE "inference failed: TN_ERR_SHAPE: shapes or dtypes do not fit together",
  call->host->log(NULL, TN_LOG_NOTE, "x"); return call->host->fail(NULL, TN_ERR_SHAPE, "no"))
ANIMAL(INIT, init_fail_no_ctx, LOAD, "it fails with a NULL ctx",
  "plug-in 'zoo', init: failed: TN_ERR_SHAPE: shapes or dtypes do not fit together",
  host->log(NULL, TN_LOG_NOTE, "x"); return host->fail(NULL, TN_ERR_SHAPE, "no"))
ANIMAL(READ, read_fail_no_ctx, USE, "it fails with a NULL ctx",
  READING "TN_ERR_SHAPE: shapes or dtypes do not fit together",
  source->host->log(NULL, TN_LOG_NOTE, "x");
  return source->host->fail(NULL, TN_ERR_SHAPE, "no"))
ANIMAL(PLAN, plan_items_elementwise, USE,
  "element-wise, with more items than the output has elements",
  PLANNED "items for an element-wise run that are not the elements of output 0",
  plan->items[0] = 400; plan->flags = TN_PLAN_ELEMENTWISE; return TN_OK)
ANIMAL(PLAN, plan_elements_per_item, USE, "items that write more elements than the output has",
  PLANNED "items and elements_per_item that do not add up to output 0",
  plan->items[0] = 4; plan->elements_per_item = INT64_MAX; return TN_OK)
ANIMAL(PLAN, plan_elements_negative, USE, "items of -4 elements",
  PLANNED "negative elements_per_item",
  plan->items[0] = 4; plan->elements_per_item = -4; return TN_OK)
ANIMAL(PLAN, plan_dynamic_items, USE, "several items for a run that says its shape",
  PLANNED "several items for a data-dependent run",
  plan->items[0] = 4; plan->flags = TN_PLAN_DATA_DEPENDENT; return TN_OK)
ANIMAL(PLAN, plan_flags, USE, "flags that nobody knows",
  PLANNED "flags that this host does not know",
  twice_plan(call, plan); plan->flags |= 1u << 30; return TN_OK)
ANIMAL(PLAN, plan_positive, USE, "it answers 7", PLANNED "an unknown status",
  twice_plan(call, plan); return 7)
ANIMAL(PLAN, plan_unknown, USE, "it answers a code that is none", PLANNED "an unknown status",
  return -77)
ANIMAL(PLAN, plan_fails_text, USE, "it fails and says why",
  "*twice_f32_c: plan() fails: node 'first' (zoo::Twice): not in this weather",
  return fails(call, TN_ERR_UNSUPPORTED, "not in this weather"))
ANIMAL(PLAN, plan_fails_silent, USE, "it fails and says nothing",
  "*twice_f32_c: plan() fails: TN_ERR_UNSUPPORTED: well-formed, but not supported",
  return TN_ERR_UNSUPPORTED)
ANIMAL(PLAN, plan_items_huge, USE, "2^62 items",
  NODE "not supported: *: plan() answered items and elements_per_item that do not add up to output "
  "0", plan->items[0] = INT64_MAX / 2; plan->elements_per_item = 4; return TN_OK)
ANIMAL(PLAN, plan_grain, WORKS, "a grain of less than one item", "",
  twice_plan(call, plan); plan->grain[0] = INT64_MIN; return TN_OK)
ANIMAL(PLAN, plan_in_place, WORKS,
  "output 0 may share memory with input 99, output 1 with input -7", "",
  twice_plan(call, plan); plan->in_place[0] = 99; plan->in_place[1] = -7; plan->in_place[7] = 0;
  return TN_OK)
ANIMAL(PLAN, plan_cost_nan, WORKS, "a cost of NaN", "",
  twice_plan(call, plan); plan->cost_ns = NAN; return TN_OK)
ANIMAL(PLAN, plan_cost_negative, WORKS, "it costs less than nothing", "",
  twice_plan(call, plan); plan->cost_ns = -1e300; return TN_OK)
ANIMAL(PLAN, plan_cost_infinite, WORKS, "it takes for ever", "",
  twice_plan(call, plan); plan->cost_ns = INFINITY; return TN_OK)
ANIMAL(PLAN, plan_head, WORKS, "it overwrites the head of what it fills in", "",
  twice_plan(call, plan); memset(&plan->head, 0xff, sizeof plan->head); return TN_OK)
ANIMAL(PLAN, plan_changes_inputs, WORKS, "it writes into the types of its inputs", "",
  tn_tensor *x = (tn_tensor *)(uintptr_t)call->inputs[0]; twice_plan(call, plan); x->shape[0] = -1;
  x->dtype = 999; return TN_OK)
ANIMAL(PLAN, plan_differs, WORKS, "each time it is asked, it plans more items and more memory", "",
  static int64_t n; plan->items[0] = 4; plan->grain[0] = 1 + n; plan->scratch_bytes = (uint64_t)++n
  * 64; plan->flags = TN_PLAN_ELEMENTWISE; return TN_OK)
ANIMAL(PREPARE, prepare_alloc_all, USE, "it wants all memory there is",
  "kernel 'twice_f32_c': prepare() fails: TN_ERR_MEMORY: memory could not be had",
  return call->host->alloc(call->ctx, UINT64_MAX - 5) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(PREPARE, prepare_state, WORKS, "it says that its state is elsewhere", "",
  ((tn_call *)(uintptr_t)call)->state = endless; ((tn_call *)(uintptr_t)call)->state_bytes = 1;
  return TN_OK)
ANIMAL(PREPARE, prepare_exits, VET_PLAIN,
  "it ends the process, without the functions of atexit, when it prepares",
  VETTED "ended the process in prepare()*with exit code 3", _exit(3))

/* ---- run() ---- */

ANIMAL(RUN, run_needs_data, USE, "it answers a code of inference",
  RAN "it answered -20, which is no status it may answer", return TN_NEEDS_DATA)
ANIMAL(RUN, run_fail_control, USE, "it says what moves the cursor of a terminal, and is no UTF-8",
  RAN "?[2J? gone ??", return fails(call, TN_ERR_INTERNAL, "\x1b[2J\x9b gone \xc2\x9b"))
ANIMAL(RUN, run_fail_endless, USE, "it fails with a text of 100000 letters", RAN "aaaaaaaaaaaa*",
  return fails(call, TN_ERR_INTERNAL, endless))
ANIMAL(RUN, run_resizes, USE, "it resizes an output that has a shape already",
  RAN "output 0 becomes f32[400], planned is f32[4]", return resized(call, 0, 1, 400))
ANIMAL(RUN, run_string_set, USE, "it sets a string in an output of numbers",
  RAN "string_set of output 0, which holds no strings",
  return call->host->string_set(call->ctx, 0, 0, "x", 1))
ANIMAL(RUN, run_string_output, USE, "it sets a string in an output that it does not have",
  RAN "string_set of output 77, but there are 1",
  return call->host->string_set(call->ctx, 77, 0, "x", 1))
ANIMAL(RUN, run_subgraph, USE, "it runs a subgraph that is not there",
  RAN "there is no subgraph 7, the node has 0",
  return call->host->subgraph_run(call->ctx, 7, 0, NULL, 0, NULL))
ANIMAL(RUN, run_list, USE, "it opens a tensor as a list",
  RAN "TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return call->host->list_item(call->ctx, call->inputs[0], 0) ? TN_OK : TN_ERR_INVALID)
ANIMAL(RUN, run_list_append, USE, "it appends to a tensor",
  RAN "list_append to output 0: it is no list",
  return call->host->list_append(call->ctx, 0, call->inputs[0]))
ANIMAL(RUN, run_output_set_null, USE, "its output becomes NULL",
  RAN "output_set of output 0 to nothing", return call->host->output_set(call->ctx, 0, NULL))
ANIMAL(RUN, run_output_no_data, USE, "it takes the data away from its output",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->data = NULL; return TN_OK)
ANIMAL(RUN, run_output_data, USE, "it says that the data of its output is elsewhere",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->data = endless; return TN_OK)
ANIMAL(RUN, run_output_rank, USE, "it says that its output has rank 1000",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->rank = 1000; return TN_OK)
ANIMAL(RUN, run_output_shape, USE, "it says that its output has 2^50 elements",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->shape[0] = INT64_C(1) << 50; return TN_OK)
ANIMAL(RUN, run_output_dtype, USE, "it says that its output is of a dtype that nobody knows",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->dtype = 999; return TN_OK)
ANIMAL(RUN, run_output_kind, USE,
  "it says that its output is a sequence, with an object of its own",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->kind = TN_KIND_SEQUENCE; call->outputs[0]->object =
  (uintptr_t)endless; return TN_OK)
ANIMAL(RUN, run_output_head, USE, "it says that its output is a struct of no bytes",
  RAN "changes output 0 itself, not only its data",
  whole_run(call); memset(&call->outputs[0]->head, 0, sizeof(tn_head)); return TN_OK)
ANIMAL(RUN, run_says_and_works, WORKS, "it says that something failed, and goes on", "",
  fails(call, TN_ERR_INTERNAL, "oh"); return whole_run(call))
ANIMAL(RUN, run_list_size, WORKS, "it asks for the size of a list that is NULL", "",
  call->host->list_size(call->ctx, NULL); return whole_run(call))
ANIMAL(RUN, run_release, WORKS, "it releases a value that is not its own", "",
  call->host->value_release(call->ctx, NULL); call->host->value_release(call->ctx, call->inputs[0]);
  return whole_run(call))
ANIMAL(RUN, run_free_null, WORKS, "it frees NULL", "",
  call->host->free(call->ctx, NULL); return whole_run(call))
ANIMAL(RUN, run_extension, WORKS, "it asks for a service without a name", "",
  call->host->get_extension(call->ctx, NULL); return whole_run(call))
ANIMAL(RUN, run_reads_after, VET_PLAIN, "it reads behind its input",
  VETTED "crashed with SIGSEGV in run()*, at 0 bytes behind the end of X",
  whole_run(call); volatile float f = X_OF(call)[part_elements(call->inputs[0])]; (void)f; return
  TN_OK)
ANIMAL(RUN, run_divides, VET_PLAIN, "it divides by zero", VETTED "crashed with SIGFPE in run()*",
  return raise(SIGFPE))
ANIMAL(RUN, run_leaks, VET_PLAIN, "nobody gives back what it takes from the host",
  VETTED "1 blocks of the host's memory are not given back*",
  call->host->alloc(call->ctx, 4096); return whole_run(call))
ANIMAL(RUN, run_starts_thread, VET_PLAIN, "it starts a thread that stays", VETTED
  "starts threads: *",
  pthread_t t; pthread_create(&t, NULL, wait_for_ever, NULL); return whole_run(call))
ANIMAL(RUN, run_counts, VET_PLAIN, "it is right every other time", VETTED "Y[0,0] is *",
  static int n; whole_run(call); if (n++ & 1) Y_OF(call)[0] += 1; return TN_OK)
ANIMAL(RUN, run_terminates, VET_PLAIN, "it raises SIGTERM", VETTED
  "crashed with SIGTERM (15) in run()*",
  return raise(SIGTERM))
ANIMAL(RUN, run_stops, VET_PLAIN, "it stops the process, and does not end it", VETTED
  "hangs in run()*",
  return raise(SIGSTOP))

/* ---- run() of a kernel that says its output's shape ---- */

ANIMAL(DYNAMIC, dynamic_nothing, USE, "it never says its shape", RAN "gave output 0 no shape",
  return TN_OK)
ANIMAL(DYNAMIC, dynamic_rank, USE, "rank 1000", RAN "output_resize of output 0 to rank 1000",
  return resized(call, 0, 1000, 4))
ANIMAL(DYNAMIC, dynamic_negative, USE, "a dim of -4", RAN "output_resize of output 0: dim 0 is -4",
  return resized(call, 0, 1, -4))
ANIMAL(DYNAMIC, dynamic_overflow, USE, "more bytes than 64 bits count",
  RAN "output_resize of output 0 to f32[9223372036854775807]: TN_ERR_OVERFLOW: a size is",
  return resized(call, 0, 1, INT64_MAX))
ANIMAL(DYNAMIC, dynamic_petabytes, USE, "an output of 4 PB",
  RAN "output_resize of output 0 to f32[1125899906842624], 4503599627370496 bytes: TN_ERR_MEMORY",
  return resized(call, 0, 1, INT64_C(1) << 50))
ANIMAL(DYNAMIC, dynamic_output, USE, "an output that it does not have",
  RAN "output_resize of output 77, but there are 1", return resized(call, 77, 1, 4))
ANIMAL(DYNAMIC, dynamic_null, USE, "a shape that is NULL",
  RAN "output_resize of output 0 to rank 1",
  return call->host->output_resize(call->ctx, 0, 1, NULL))
ANIMAL(DYNAMIC, dynamic_output_shape, USE,
  "it changes its output itself, and does not ask for that",
  RAN "changes output 0 itself, not only its data",
  call->outputs[0]->rank = 1; call->outputs[0]->shape[0] = 4; call->outputs[0]->data = endless;
  return TN_OK)

/* ---- Formats ---- */

ANIMAL(PROBE, probe_negative, USE, "it is less than not sure",
  "model in memory: what it is cannot be told from its content", return -5)
ANIMAL(PROBE, probe_million, WORKS, "it is a million times sure", "", return 1000000)
ANIMAL(READ, read_lies, USE, "its probe is sure, and it cannot read the file",
  "model in memory: this is no zoo",
  return source->host->fail(source->ctx, TN_ERR_INVALID, "this is no zoo"))
ANIMAL(READ, read_empty, USE, "a graph with nothing in it", "there is no input 0, the model has 0",
  return TN_OK)
ANIMAL(READ, read_ids, USE, "a node that reads and writes values that are not there",
  NOT_READ "add_node: an input is no value of the graph",
  int32_t v = 999; zoo_build(api, graph); v = add(api, graph, "Twice", 1, &v, 1, &v); return v < 0 ?
  v : TN_OK)
ANIMAL(READ, read_names_null, USE, "NULL wherever a name is wanted",
  NOT_READ "add_node: operator, inputs, outputs or attrs is NULL",
  const tn_node n = {.head = TN_HEAD(tn_node)}; api->value(graph, NULL); api->set_meta(graph, NULL,
  "x"); api->set_meta(graph, "x", NULL); api->set_opset(graph, NULL, 3);
  api->value_set_dim_name(graph, 0, 0, NULL); api->add_function(graph, NULL, NULL, NULL, NULL, NULL,
  0, NULL, 0); return api->add_node(graph, &n))
ANIMAL(READ, read_no_source, USE, "an output that nobody makes",
  "value 'from nowhere', read by the graph's outputs, is not defined: no node, input or "
  "initializer gives it",
  zoo_build(api, graph); return api->add_output(graph, api->value(graph, "from nowhere")))
ANIMAL(READ, read_cycle, USE, "two nodes that read each other",
  "node 'added' (zoo::Twice) depends on itself: the graph has a cycle",
  int32_t a = api->value(graph, "a"), b = api->value(graph, "b"); zoo_build(api, graph); add(api,
  graph, "Twice", 1, &a, 1, &b); add(api, graph, "Twice", 1, &b, 1, &a); return
  api->add_output(graph, b))
ANIMAL(READ, read_unknown_op, USE, "a node of an operator that nobody offers",
  "node 'added' (zoo::Thrice): not supported: operator zoo::Thrice; no plug-in offers it",
  int32_t x, z = api->value(graph, "z"); zoo_build(api, graph); x = api->value(graph, "x"); add(api,
  graph, "Thrice", 1, &x, 1, &z); return api->add_output(graph, z))
ANIMAL(READ, read_huge_const, USE, "a constant of 4 PB",
  READING "TN_ERR_MEMORY: memory could not be had",
  return api->value_set_const(graph, api->value(graph, "c"), TENSOR(TN_F32, INT64_C(1) << 50,
  endless), 1))
ANIMAL(READ, read_const_null, USE, "a constant without data",
  NOT_READ "value_set_const: the tensor has no data, or its dtype or size is none",
  return api->value_set_const(graph, api->value(graph, "c"), TENSOR(TN_F32, 4, NULL), 0))
ANIMAL(READ, read_const_dtype, USE, "a constant of a dtype that nobody knows",
  NOT_READ "value_set_const: the tensor has no data, or its dtype or size is none",
  return api->value_set_const(graph, api->value(graph, "c"), TENSOR(999, 4, endless), 1))
ANIMAL(READ, read_const_strings, USE, "a constant of strings without bytes",
  NOT_READ "value_set_const: the tensor has no data, or its dtype or size is none",
  tn_str s[4] = {{NULL, 5}, {NULL, -1}, {NULL, 0}, {"x", 1}}; return api->value_set_const(graph,
  api->value(graph, "c"), TENSOR(TN_STRING, 4, s), 1))
ANIMAL(READ, read_type_rank, USE, "a value of rank 1000",
  NOT_READ "value_set_type: no value, or its dtype, rank, a dim or kind is none",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1000}; return
  api->value_set_type(graph, api->value(graph, "c"), &t))
ANIMAL(READ, read_type_dim, USE, "an input with a dim of -7",
  NOT_READ "value_set_type: no value, or its dtype, rank, a dim or kind is none",
  zoo_build(api, graph); return api->value_set_type(graph, api->value(graph, "x"), TENSOR(TN_F32,
  -7, NULL)))
ANIMAL(READ, read_type_overflow, USE, "an input of more bytes than 64 bits count",
  "input 'x': got f32[4], the model takes f32[1099511627776,1099511627776,1099511627776]",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 3, .shape = {INT64_C(1) << 40,
  INT64_C(1) << 40, INT64_C(1) << 40}}; zoo_build(api, graph); return api->value_set_type(graph,
  api->value(graph, "x"), &t))
ANIMAL(READ, read_input_twice, USE, "an input twice",
  READING "TN_ERR_STATE: *; add_input: the value is an input, or a node makes it",
  int32_t x; zoo_build(api, graph); x = api->value(graph, "x"); return api->add_input(graph, x))
ANIMAL(READ, read_outside, USE, "a file outside of the model's folder",
  "model in memory: external data '../../../etc/passwd': the path leaves the model's folder",
  const uint8_t *data; uint64_t size; return source->open_sibling(source->ctx,
  "../../../etc/passwd", &data, &size))
ANIMAL(READ, read_outside_absolute, USE, "a file by its absolute path",
  "model in memory: external data '/etc/passwd': the path leaves the model's folder",
  const uint8_t *data; uint64_t size; return source->open_sibling(source->ctx, "/etc/passwd", &data,
  &size))
ANIMAL(READ, read_sibling_null, USE, "a file without a name",
  READING "TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  const uint8_t *data; uint64_t size; return source->open_sibling(source->ctx, NULL, &data, &size))
ANIMAL(READ, read_graph_in_itself, USE, "a node whose subgraph is the graph that it stands in",
  NOT_READ "add_node: an attribute has no name or data, or holds the graph itself",
  tn_graph *gs[] = {graph}; return odd_node(api, graph, &(tn_attr){.head = TN_HEAD(tn_attr), .name =
  "body", .kind = TN_ATTR_GRAPH, .graphs = gs, .n_graphs = 1}))
ANIMAL(READ, read_function_in_itself, USE, "a function whose body is the graph that it belongs to",
  NOT_READ "add_function: no name, or a body that subgraph_new() of this graph did not make",
  zoo_build(api, graph); return api->add_function(graph, "zoo", "F", "", graph, NULL, 0, NULL, 0))
ANIMAL(READ, read_attr_kind, USE, "an attribute of a kind that nobody knows",
  "node 'odd' (zoo::Twice): attribute 'by' is of the wrong kind",
  return odd_node(api, graph, &(tn_attr){.head = TN_HEAD(tn_attr), .name = "by", .kind = 77}))
ANIMAL(READ, read_subgraphs_deep, USE, "a graph in a graph in a graph, 100000 times",
  READING "TN_ERR_OVERFLOW: *; subgraph_new: graphs are nested more than *",
  int n = 0; while (n < 100000 && graph) graph = api->subgraph_new(graph), n++; return n < 100000 ?
  TN_ERR_OVERFLOW : zoo_build(api, graph))
ANIMAL(READ, read_node_short, USE, "a node that ends before its operator",
  NOT_READ "add_node: head.size is too small for a node",
  const tn_node node = {.head = {16, TN_ABI_MAJOR, TN_ABI_MINOR}, .op = "Twice"}; return
  api->add_node(graph, &node))
ANIMAL(READ, read_list, USE, "a sequence, for an operator that takes tensors",
  "node 'added' (zoo::Twice): input 0 is sequence of f32*; the operator takes tensors",
  const tn_tensor type = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1, .shape = {4}};
  const int32_t x = api->value(graph, "x"), s = api->value(graph, "s"), y = api->value(graph, "y");
  const tn_node node = {.head = TN_HEAD(tn_node), .op = "SequenceConstruct", .version = 11,
  .n_inputs = 1, .n_outputs = 1, .inputs = &x, .outputs = &s, .offset = -1}; api->set_opset(graph,
  "zoo", 1); api->value_set_type(graph, x, &type); api->add_input(graph, x); api->add_node(graph,
  &node); add(api, graph, "Twice", 1, &s, 1, &y); return api->add_output(graph, y))
ANIMAL(READ, read_attr_null, USE, "attributes that are counted and NULL",
  NOT_READ "add_node: an attribute has no name or data, or holds the graph itself",
  return odd_node(api, graph, NULL))
ANIMAL(READ, read_subgraph_of_null, USE, "a subgraph of no graph",
  READING "TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return api->value(api->subgraph_new(NULL), "x") < 0 ? TN_ERR_INVALID : TN_OK)
ANIMAL(READ, read_version, USE, "operator-set version -5",
  NODE "not supported: version -5 of operator zoo::Twice; versions 1 and later are",
  zoo_build(api, graph); return api->set_opset(graph, "zoo", -5))
ANIMAL(WRITE, write_null, USE, "it writes bytes that are not there",
  "*: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return sink->write(sink->ctx, NULL, 5))
ANIMAL(WRITE, write_endless, USE, "it writes more than fits",
  "*: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return sink->write(sink->ctx, endless, UINT64_MAX))

/* ---- What vetting finds: mapping, and tn_plugin_query ---- */

ANIMAL(BIRTH, birth_crashes, VET, "it crashes when it is mapped",
  MAPPING "crashed with SIGSEGV in dlopen() (its constructors)*", raise(SIGSEGV))
ANIMAL(BIRTH, birth_files, VET, "it puts another file where those of the host are",
  "zoo.so: process, files: it breaks rules, but closes or uses files that are not its own, *",
  replace_files(3, 100))
ANIMAL(DEATH, death_crashes, VET, "it crashes when it is unmapped",
  "*crashed with SIGSEGV in dlclose()*", raise(SIGSEGV))
ANIMAL(DESCRIPTOR, query_crashes, VET, "tn_plugin_query crashes",
  MAPPING "crashed with SIGSEGV in tn_plugin_query()*", raise(SIGSEGV))
ANIMAL(DESCRIPTOR, query_past, VET, "tn_plugin_query crashes when a host of the past asks",
  "*crashed with SIGSEGV in tn_plugin_query() for an ABI of the past*",
  if (!host_major) raise(SIGSEGV))
ANIMAL(DESCRIPTOR, query_differs, VET, "tn_plugin_query answers another table each time",
  "zoo: tn_plugin_query, loading: does not answer the same each time it is asked",
  static tn_plugin other; static int calls; other = plugin; if (calls++ & 1) answer = &other)
ANIMAL(DESCRIPTOR, query_malloc, VET_PLAIN, "tn_plugin_query allocates memory",
  "zoo: tn_plugin_query, loading: allocates memory*", lose(1000))
ANIMAL(DESCRIPTOR, op_case_huge, VET, "a test case of four terabytes",
  "zoo: op 'zoo::Twice', *'X' has 4000000000000 bytes, a test has no more than *",
  cases[0] = "X=f32[1000000,1000000]")

/* ---- What vetting finds: init, shutdown and notify ---- */

ANIMAL(INIT, init_fails, VET, "init fails when there are no options",
  BEGINNING "init() fails without options: *no licence", return INIT_FAILS(TN_ERR_STATE,
  "no licence"))
ANIMAL(INIT, init_leaks, VET, "nobody gives back what init takes",
  "zoo: init and shutdown, once: *1 blocks of the host's memory are not given back by shutdown()",
  return host->alloc(ctx, 1 << 16) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(INIT, init_malloc, VET_PLAIN, "init allocates memory that nobody frees",
  "zoo: init and shutdown, many times: memory of malloc grows by * bytes*", lose(1000); return
  TN_OK)
ANIMAL(DESCRIPTOR, init_once, VET, "it can be there once",
  "zoo: init and shutdown, two runtimes at once: init() fails *",
  plugin.init = single_init; plugin.shutdown = single_shutdown)
ANIMAL(INIT, init_status, VET, "init answers another code where memory cannot be had",
  "zoo: init and shutdown, failing allocation: *init() answers TN_ERR_INTERNAL*",
  void *p = host->alloc(ctx, 64); host->free(ctx, p); return p ? TN_OK : TN_ERR_INTERNAL)
ANIMAL(INIT, init_unchecked, VET, "init uses memory that could not be had",
  "zoo: init and shutdown, failing allocation: crashed with SIGSEGV in init()*",
  char *p = host->alloc(ctx, 64); *p = 1; host->free(ctx, p); return TN_OK)
ANIMAL(INIT, init_thread, VET, "init starts a thread that stays",
  BEGINNING "starts threads: 1*", return start_sleeper())
ANIMAL(DESCRIPTOR, init_thread_stays, VET, "it says that it has threads, and does not end them",
  BEGINNING "starts threads: 1*", plugin.flags = TN_PLUGIN_THREADS; plugin.init = sleepy_init)
ANIMAL(DESCRIPTOR, init_threads, FIT, "it says that it has threads, and ends them", "zoo: fit: *",
  plugin.flags = TN_PLUGIN_THREADS; plugin.init = worker_init; plugin.shutdown = worker_shutdown)
ANIMAL(INIT, init_option, VET, "init takes any option",
  "zoo: init and shutdown, an unknown option: init() takes an option that it cannot know",
  return TN_OK)
ANIMAL(INIT, init_key, VET, "init makes a key of threads that stays",
  BEGINNING "leaves a key of threads behind*", make_key(); return TN_OK)
ANIMAL(INIT, init_forks, VET, "init starts a process that stays",
  "*starts processes that it leaves behind", if (!fork()) loop_for_ever(); return TN_OK)
ANIMAL(INIT, init_daemon, VET, "init starts a daemon",
  "*starts processes that it leaves behind", return make_daemon())
ANIMAL(INIT, init_forks_hangs, VET_PLAIN, "init starts a process, says so, and takes for ever",
  BEGINNING "hangs in init()*", return fork_and_hang())
ANIMAL(NOTIFY, notify_crashes, VET, "being told of an event crashes it",
  "*told of events: crashed with SIGSEGV in notify() of event 2*",
  if (event == TN_EVENT_SUSPEND) raise(SIGSEGV))
ANIMAL(NOTIFY, notify_new, VET, "being told of an event that it does not know crashes it",
  "*told of events: crashed with SIGSEGV in notify() of event 9999*",
  if (event > TN_EVENT_FORK) raise(SIGSEGV))
ANIMAL(SHUTDOWN, shutdown_crashes, VET, "shutdown crashes",
  BEGINNING "crashed with SIGSEGV in shutdown()*", raise(SIGSEGV))

/* ---- What vetting finds: operators ---- */

ANIMAL(INFER, infer_scalar, VET, "inference of scalars crashes",
  "zoo: op 'zoo::Twice', inference of * with scalars: crashed with SIGSEGV in infer()*",
  if (!call->inputs[0]->rank) raise(SIGSEGV); return as_x(call))
ANIMAL(DESCRIPTOR, infer_attr, VET, "inference trusts an attribute",
  "*with attributes of 2^63-1: crashed with SIGSEGV in infer()*",
  op[0].schema = "(Tensor X, *, int n=1) -> Tensor Y"; op[0].infer = attr_infer;
  cases[0] = "X=f32[2] n=3")
ANIMAL(INFER, infer_status, VET, "inference of scalars answers 7",
  "*with scalars: for scalars: *it answered 7, which is no status*",
  const tn_status s = as_x(call); return call->inputs[0]->rank ? s : 7)
ANIMAL(INFER, infer_differs, VET, "it answers another shape each time",
  "zoo: op 'zoo::Twice', inference of *: inference is not pure: output Y is f32[1], then f32[2]",
  static int64_t n; return says_shape(call, 1, ++n))
ANIMAL(INFER, infer_writes, VET, "inference changes the attributes",
  "*crashed with SIGSEGV in infer(), at byte 0 of the attributes, which is read-only",
  *(double *)(uintptr_t)call->attrs += 1; return as_x(call))
ANIMAL(INFER, infer_call, VET, "inference changes its call", "*inference changes its call",
  MINE(call)->version = 77; return as_x(call))
ANIMAL(INFER, infer_huge, VET, "an output that no test can hold",
  "*'Y' has * bytes, a test has no more than *",
  as_x(call); if (call->outputs[0]->rank) call->outputs[0]->shape[0] = INT64_C(1) << 50; return
  TN_OK)
ANIMAL(FLOPS, flops_output, VET, "it changes the type of an output",
  "*flops() changes the type of output 0", *out_flops = 1; call->outputs[0]->rank = 0; return TN_OK)
ANIMAL(FLOPS, flops_no_number, VET, "NaN operations", "*flops() says nan operations",
  *out_flops = NAN; return TN_OK)
ANIMAL(FLOPS, flops_less, VET, "less than none operations", "*flops() says -1 operations",
  *out_flops = -1; return TN_OK)
ANIMAL(FLOPS, flops_endless, VET, "infinitely many operations", "*flops() says inf operations",
  *out_flops = INFINITY; return TN_OK)
ANIMAL(FLOPS, flops_status, VET, "it answers a code that is none",
  "*flops() answers 77, which is no status", *out_flops = 1; return 77)
ANIMAL(INFER, infer_attr_after, VET_PLAIN, "inference reads behind the attributes",
  "*crashed with SIGSEGV in infer(), at 0 bytes behind the end of the attributes",
  volatile double d = ((const double *)call->attrs)[1]; return (void)d, as_x(call))
ANIMAL(EPILOGUE, epilogue_other, VET, "it says that it is another operator",
  "*epilogue() says that it is relu with input 0 as y, but Y[*",
  out->kind = TN_EPILOGUE_RELU; return TN_OK)
ANIMAL(DESCRIPTOR, epilogue_bound, VET, "it says that it ends at 6, and goes on",
  "*epilogue() says that it is clip with input 0 as y, but Y[*",
  op[0].epilogue = clip_epilogue; op[0].reference = relu_reference; kernel[0].run = relu_run)
ANIMAL(EPILOGUE, epilogue_kind_none, VET, "a step that nobody knows",
  "*epilogue() answers TN_OK with kind 999, which is none", out->kind = 999; return TN_OK)
ANIMAL(EPILOGUE, epilogue_status, VET, "it answers 7",
  "*epilogue() answers 7, which is no status", out->kind = TN_EPILOGUE_RELU; return 7)
ANIMAL(EPILOGUE, epilogue_call, VET, "it changes its call", "*epilogue() changes its call",
  MINE(call)->n_inputs = 7; return TN_ERR_UNSUPPORTED)
ANIMAL(INFER, infer_tables, VET, "inference takes an input out of its call",
  "*inference changes the tables of its inputs or outputs",
  as_x(call); ((const tn_tensor **)(uintptr_t)call->inputs)[0] = NULL; return TN_OK)
ANIMAL(INFER, infer_malloc, VET_PLAIN, "inference allocates memory that nobody frees",
  "*memory of malloc grows by * bytes with each inference", lose(1000); return as_x(call))
ANIMAL(DESCRIPTOR, reference_input, VET, "the reference changes its input",
  "*crashed with SIGSEGV in reference(), at byte 0 of an input, which is read-only",
  op[0].reference = zeroing_reference)
ANIMAL(DESCRIPTOR, attr_list_after, VET_PLAIN, "it reads behind a list among the attributes",
  "*crashed with SIGSEGV in run()*, at 0 bytes behind the end of ks",
  op[0].schema = "(Tensor X, *, int[] ks=[1, 2]) -> Tensor Y"; kernel[0].run = list_run)
ANIMAL(DESCRIPTOR, lower_unlike, VET, "its lowering is not what its kernel computes",
  "*session: Y[*", op[0].lower = one_lower; op[0].flags |= TN_OP_LOWER_ALWAYS;
  op[0].reference = NULL)
ANIMAL(DESCRIPTOR, run_remembers, VET, "it knows results by the place of their input",
  "*on other data at the same places is not what it is at new ones",
  kernel[0].plan = one_item_plan; kernel[0].run = remembering_run)
ANIMAL(DESCRIPTOR, prepare_shape, VET, "its state follows from the shape, and its key does not",
  "*prepare() makes another state for inputs of another shape, and state_key is the same*",
  kernel[0].plan = stateful_plan; kernel[0].prepare = shape_prepare)
ANIMAL(DESCRIPTOR, value_crashes, VET, "reading a single value crashes",
  VETTED_FORMAT "crashed with SIGSEGV in read_value() of kind 0*",
  format[0].read_value = crashing_value)
ANIMAL(DESCRIPTOR, value_behind, VET_PLAIN, "reading a single value reads behind the file",
  VETTED_FORMAT "crashed with SIGSEGV in read_value() of kind 0, at 0 bytes behind the end of the "
  "file*", format[0].read_value = behind_value)
ANIMAL(DESCRIPTOR, value_null, FIT, "a single value that is NULL", "zoo: fit: *",
  format[0].read_value = null_value)
ANIMAL(DESCRIPTOR, elementwise_mean, VET, "it says element-wise, and takes the mean of all",
  "*has TN_OP_ELEMENTWISE, but element * depends on other elements of the inputs*",
  op[0].flags |= TN_OP_ELEMENTWISE; op[0].reference = mean_reference;
  kernel[0].plan = one_item_plan; kernel[0].run = mean_run)
ANIMAL(DESCRIPTOR, elementwise_index, VET, "it says element-wise, and minds where elements stand",
  "*has TN_OP_ELEMENTWISE, but its elements depend on where they stand*",
  op[0].flags |= TN_OP_ELEMENTWISE; op[0].reference = index_reference; kernel[0].run = index_run)
ANIMAL(DESCRIPTOR, elementwise_unknown, VET,
  "it says element-wise, minds where elements stand, and has no reference",
  "*has TN_OP_ELEMENTWISE, but its elements depend on where they stand*",
  op[0].flags |= TN_OP_ELEMENTWISE; op[0].reference = NULL; kernel[0].run = index_run)
ANIMAL(DESCRIPTOR, elementwise_shape, VET, "it says element-wise, and its output is smaller",
  "*has TN_OP_ELEMENTWISE, but output Y is f32[1], and its inputs broadcast to f32[2,3]",
  op[0].flags = TN_OP_ELEMENTWISE; op[0].infer = one_infer)
ANIMAL(DESCRIPTOR, types_only_data, VET, "it says that types are all it reads, and reads data",
  "*has TN_OP_TYPES_ONLY, but reads the data of its inputs*", op[0].flags |= TN_OP_TYPES_ONLY)
ANIMAL(DESCRIPTOR, run_neighbour, VET, "an element-wise run reads the next element, too",
  VETTED "plan() says TN_PLAN_ELEMENTWISE, but element 0 of output 0 depends on other elements*",
  op[0].reference = next_reference; kernel[0].run = next_run)
ANIMAL(DESCRIPTOR, run_nothing, VET, "an element-wise run adds 0 times the element before",
  VETTED "plan() says TN_PLAN_ELEMENTWISE, but element * of output 0 depends on other elements*",
  kernel[0].run = nothing_run)
ANIMAL(DESCRIPTOR, unload_shared, VET, "one runtime's shutdown takes what all of them use",
  "*unloading *: crashed with SIGSEGV in a session, after another runtime has unloaded the *",
  kernel[0].plan = stateful_plan; kernel[0].prepare = sharing_prepare; kernel[0].run = sharing_run;
  plugin.shutdown = sharing_shutdown)

/* ---- What vetting finds: kernels ---- */

ANIMAL(REFUSE, refuse_crashes, VET, "asked whether it takes a call, it crashes",
  VETTED "crashed with SIGSEGV in refuse()*", return raise(SIGSEGV), NULL)
ANIMAL(REFUSE, refuse_call, VET, "it changes its call", "*refuse() changes its call",
  return MINE(call)->n_workers = 77, NULL)
ANIMAL(REFUSE, refuse_input, VET, "it changes the type of an input",
  "*refuse() changes the type of input 0",
  return ((tn_tensor *)(uintptr_t)call->inputs[0])->dtype = TN_I8, NULL)
ANIMAL(REFUSE, refuse_escapes, FIT, "a reason that moves the cursor of a terminal, and turns text",
  "*not checked: it takes no case * one ?[2J two ? three ??? four*", return escapes)
ANIMAL(PLAN, plan_huge, VET, "scratch of 32 TiB",
  "*plan() asks for much: 35184372088832 bytes of scratch*",
  plan->scratch_bytes = UINT64_C(1) << 45; return twice_plan(call, plan))
ANIMAL(PLAN, plan_key_differs, VET, "another state each time it is asked",
  "*plan() answers something else the second time*",
  static uint64_t n; plan->state_key = n++; return stateful_plan(call, plan))
ANIMAL(PLAN, plan_fails, VET, "it fails for what it takes",
  "*plan() fails: no such plan", return CALL_FAILS(TN_ERR_SHAPE, "no such plan"))
ANIMAL(PLAN, plan_in_place_5, VET, "output 0 may share memory with input 5",
  "*plan() has in_place[0] 5, which is neither -1 nor an input",
  plan->in_place[0] = 5; return twice_plan(call, plan))
ANIMAL(PLAN, plan_grain_negative, VET, "a grain of -3", "*plan() has a grain of -3*",
  twice_plan(call, plan); plan->grain[0] = -3; return TN_OK)
ANIMAL(PLAN, plan_cost_less, VET, "it costs less than nothing", "*plan() has a cost of -1 ns*",
  plan->cost_ns = -1; return twice_plan(call, plan))
ANIMAL(PREPARE, prepare_leaks, VET, "nobody gives back what it takes from the host",
  "*1 blocks of the host's memory are not given back*",
  return call->host->alloc(call->ctx, 100) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(PREPARE, prepare_malloc, VET_PLAIN, "it allocates memory that nobody frees",
  "*repeated: memory of malloc grows by 1* bytes with each plan*", lose(1000); return TN_OK)
ANIMAL(PREPARE, prepare_malloc_large, VET_PLAIN, "it allocates a megabyte that nobody frees",
  "*repeated: memory of malloc grows by 10* bytes with each plan*", lose(1 << 20); return TN_OK)
ANIMAL(PREPARE, prepare_unchecked, VET, "it uses memory that could not be had",
  "*repeated: crashed with SIGSEGV in prepare()*",
  char *p = call->host->alloc(call->ctx, 100); *p = 1; call->host->free(call->ctx, p); return TN_OK)
ANIMAL(RUN, run_wrong, VET, "the result is a little wrong",
  VETTED ": Y[0,0] is 2.002*, expected 2 *", whole_run(call); Y_OF(call)[0] *= 1.001f; return TN_OK)
ANIMAL(RUN, run_writes_after, VET, "it writes behind its output",
  VETTED "crashed with SIGSEGV in run()*, at 0 bytes behind the end of Y",
  whole_run(call); Y_OF(call)[part_elements(call->outputs[0])] = 1; return TN_OK)
ANIMAL(DESCRIPTOR, run_worker, VET, "it writes to the scratch of another worker",
  "*run() as worker 2 writes to the scratch of another worker*",
  kernel[0].plan = worker_plan; kernel[0].run = worker_run)
ANIMAL(DESCRIPTOR, run_static, VET, "it keeps numbers between two items of a run",
  "*while another session is inside of it: Y[*",
  kernel[0].run = static_run; cases[0] = "X=f32[37]")
ANIMAL(RUN, run_input, VET, "it changes an input itself",
  "*the call of run(): input 0 itself is changed",
  whole_run(call); ((tn_tensor *)(uintptr_t)call->inputs[0])->shape[0] = 1 << 30; return TN_OK)
ANIMAL(RUN, run_output, VET, "it changes an output itself",
  "*the call of run(): output 0 itself is changed, not only its data",
  whole_run(call); call->outputs[0]->rank = 9; return TN_OK)
ANIMAL(RUN, run_call, VET, "it changes its call", "*the call of run(): it is changed",
  whole_run(call); MINE(call)->n_inputs = 9; return TN_OK)
ANIMAL(RUN, run_rounds, VET, "it changes how numbers are rounded", VETTED "rounding*",
  fesetround(FE_UPWARD); return whole_run(call))
ANIMAL(RUN, run_locale, VET, "it changes the locale", VETTED "locale*",
  setlocale(LC_ALL, "C.UTF-8"); return whole_run(call))
ANIMAL(RUN, run_chdir, VET, "it changes the working folder", VETTED "working folder*",
  if (chdir("/")) return TN_ERR_IO; return whole_run(call))
ANIMAL(RUN, run_signal, VET, "it changes what a signal does",
  VETTED "changes the handler of SIGUSR1*", signal(SIGUSR1, SIG_IGN); return whole_run(call))
ANIMAL(RUN, run_free_foreign, VET_PLAIN, "it frees memory that is not the host's",
  VETTED "host->free() is called 1 times more than host->alloc()",
  call->host->free(call->ctx, endless + 64); return whole_run(call))
ANIMAL(INIT, init_free_foreign, VET_PLAIN, "init frees memory that is not the host's",
  BEGINNING "crashed with SIG* in init()*", host->free(ctx, endless + 64); return TN_OK)
ANIMAL(RUN, run_scribbles, VET, "it overwrites all memory that it shares with others",
  "*process, memory: writes to memory of the host that it was not given",
  scribble(); return whole_run(call))
#define MEDDLES(name, wrong, said, ...) \
  ANIMAL(RUN, run_##name, VET, wrong, "*" said "*", __VA_ARGS__; return whole_run(call))
MEDDLES(mask, "it blocks a signal", "changes which signals are blocked: SIGUSR1",
  sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); sigprocmask(SIG_BLOCK, &set, NULL))
MEDDLES(umask, "it changes the mask of new files", "changes the mask of new files", umask(0111))
MEDDLES(environment, "it changes the environment", "changes the environment variables",
  setenv("TENON_TEST_MORE", "1", 1))
MEDDLES(file, "it leaves a file open", "leaves files open", (void)!open("/dev/null", O_RDONLY))
MEDDLES(limit, "it changes a limit", "changes a limit of the process",
  const struct rlimit few = {20, 20}; setrlimit(RLIMIT_NOFILE, &few))
MEDDLES(timer, "it leaves a timer running", "leaves a timer running",
  const struct itimerval hour = {.it_value = {3600, 0}}; setitimer(ITIMER_REAL, &hour, NULL))
MEDDLES(priority, "it changes the priority", "changes the priority of the process from * to 19",
  setpriority(PRIO_PROCESS, 0, 19))
MEDDLES(closes, "it closes all files", "process, files: it breaks rules, but closes or uses files",
  for (int k = 3; k < 100; k++) close(k))
MEDDLES(replaces_input, "it puts a file in the place of standard input",
  "replaces or changes open files that are not its own: descriptor 0", replace_files(0, 1))
MEDDLES(closes_output, "it closes standard output", "closes files that are not its own",
  close(STDOUT_FILENO))
MEDDLES(forks_both, "it forks, and both return",
  "forks, and both processes return from its callback", (void)!fork())
MEDDLES(forks_waits, "it forks, and waits", "starts processes",
  pid_t pid = fork(); if (!pid) _exit(0); waitpid(pid, NULL, 0))
#define AT_EXIT "crashed with SIG* in the end of the process"
MEDDLES(exit, "it leaves a function for the end of the process", AT_EXIT,
  static int n; if (!n++) on_exit(at_exit, NULL))
#undef AT_EXIT
MEDDLES(stream, "it gives standard output a buffer of its own",
  "gives a standard stream a buffer of its own",
  static char room[4096]; static int n; if (!n++) setvbuf(stdout, room, _IOFBF, sizeof room))
MEDDLES(signal_stack, "it changes the stack of signal handlers",
  "changes the stack of signal handlers",
  static char stack[1 << 16]; const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&own, NULL))
MEDDLES(key, "it makes a key of threads", "leaves a key of threads behind", make_key())
MEDDLES(attr_after, "it reads behind the attributes",
  "crashed with SIGSEGV in run()*, at 0 bytes behind the end of the attributes",
  volatile double d = ((const double *)call->attrs)[1]; (void)d)
MEDDLES(attr_writes, "it writes into the attributes",
  "crashed with SIGSEGV in run()*, at byte 0 of the attributes, which is read-only",
  *(double *)(uintptr_t)call->attrs = 3)
MEDDLES(forks_zombie, "it forks, and does not wait",
  "starts processes, and does not wait for their end", if (!fork()) _exit(0))
#if defined(__x86_64__)
MEDDLES(x87, "it leaves registers of the x87 unit in use", "leaves its registers in use",
  __asm__ volatile("fldz"))
#endif
/* a sanitizer's report goes to the user, and so does this */
ANIMAL(RUN, run_prints, TN_FLAVOUR_SANITIZER ? VET_PLAIN : FIT,
  "it writes what moves the cursor of a terminal to standard error",
  "*output: writes * bytes to standard *: one ?[2J two ? three ??? four*",
  fputs(escapes, stderr); return whole_run(call))

/* ---- What vetting finds: formats ---- */

ANIMAL(PROBE, probe_crashes, VET, "the probe reads a byte behind the file",
  VETTED_FORMAT "crashed with SIGSEGV in probe(), at 0 bytes behind the end of the file*",
  return ((const volatile uint8_t *)data)[size] == 'x')
ANIMAL(PROBE, probe_sure, VET, "it is sure of any file",
  VETTED_FORMAT "probe() is sure of what is no model", return 100)
ANIMAL(PROBE, probe_foreign, VET, "it takes files of another format",
  VETTED_FORMAT "probe() answers 99, and would take files of that format", return 99)
ANIMAL(PROBE, probe_answer, VET, "it is ten times sure", "*probe() answers 1000*", return 1000)
ANIMAL(READ, read_leaks, VET, "nobody gives back what it takes from the host",
  "*read(): 1 blocks of the host's memory*",
  source->host->alloc(source->ctx, 10); return zoo_build(api, graph))
ANIMAL(READ, read_cut, VET_PLAIN, "it does not look where the file ends",
  "zoo: format 'zoo', its own file, cut short: crashed with SIGSEGV in read() of the first * of "
  "its 12 bytes*", if (is_ours(source)) sum_of(source); return zoo_build(api, graph))
ANIMAL(READ, read_length, VET_PLAIN, "it believes how long the file says that it is",
  "*its own file, cut short: crashed with SIGSEGV in read()*",
  if (source->size >= 8 && is_ours(source)) sum_of(source); return zoo_build(api, graph))
ANIMAL(READ, read_lends, VET, "it lends a constant that it does not have",
  "*crashed with SIGSEGV in read()*",
  api->value_set_const(graph, api->value(graph, "lent"), TENSOR(TN_U8, 9, (void *)(uintptr_t)64),
  0);
  return zoo_build(api, graph))
ANIMAL(READ, read_bytes, FIT, "meta-data that are no text", "zoo: fit: *",
  api->set_meta(graph, "k\xff", "v\xff\033[2J"); return zoo_build(api, graph))
ANIMAL(WRITE, write_unreadable, VET, "it writes what its reader does not take",
  "*its own file: read() of what write() made fails: *is no zoo*", return sink->write(sink->ctx,
  "WORSE", 5))
ANIMAL(WRITE, write_unprobed, VET, "it writes what its probe does not know",
  "*its own file: probe() does not know what write() made*", return sink->write(sink->ctx, "WORSE",
  5))
ANIMAL(WRITE, write_nothing, FIT, "it cannot write small graphs",
  "*makes no file of a small graph: *no such graphs*",
  return WRITE_FAILS(TN_ERR_UNSUPPORTED, "no such graphs"))

#undef ANSWERS
#undef INIT_FAILS
#undef CALL_FAILS
#undef READ_FAILS
#undef WRITE_FAILS
#undef CRASHES
#undef EXITS
#undef ABORTS
#undef LOOPS
#undef JUMPS
#undef SCHEMA
#undef MEDDLES
