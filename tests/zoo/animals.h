/* The animals: ANIMAL(what it breaks, name, where it is caught, what is wrong, what Tenon says,
 * code). kinds.h lists what and where. `*` in what Tenon says stands for any text. The code runs in
 * plugin.c, among its tables and helpers. Included several times, each time with another ANIMAL;
 * docs/zoo.md is made of it. */
/* clang-format off */

ANIMAL(DESCRIPTOR, plugin_size_zero, LOAD,
  "the plug-in says that it has no bytes",
  "plug-in *zoo.so, member head.size: is 0, but at least the first * bytes of this struct have "
  "to be there",
  plugin.head.size = 0)
ANIMAL(DESCRIPTOR, plugin_size_short, LOAD,
  "the plug-in ends before its last required member",
  "plug-in *zoo.so, member head.size: is 16, but at least the first * bytes of this struct "
  "have to be there",
  plugin.head.size = 16)
ANIMAL(DESCRIPTOR, plugin_size_odd, LOAD,
  "the size of the plug-in is no multiple of a pointer",
  "plug-in *zoo.so, member head.size: is *, which is no multiple of 8",
  plugin.head.size += 3)
ANIMAL(DESCRIPTOR, plugin_size_huge, LOAD,
  "the plug-in says that it has 4 GB",
  "plug-in *zoo.so, member head.size: is 4294967295, no struct is that large",
  plugin.head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, plugin_major_future, LOAD,
  "the plug-in is of a later major version",
  "plug-in 'zoo', member head.major: is *: made for ABI *, this host serves ABI *",
  plugin.head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, op_size_zero, LOAD,
  "the operator says that it has no bytes",
  "plug-in 'zoo', op 0, member head.size: is 0, but at least the first * bytes of this struct "
  "have to be there",
  op[0].head.size = 0)
ANIMAL(DESCRIPTOR, op_size_short, LOAD,
  "the operator ends before its last required member",
  "plug-in 'zoo', op 0, member head.size: is 16, but at least the first * bytes of this struct "
  "have to be there",
  op[0].head.size = 16)
ANIMAL(DESCRIPTOR, op_size_odd, LOAD,
  "the size of the operator is no multiple of a pointer",
  "plug-in 'zoo', op 0, member head.size: is *, which is no multiple of 8",
  op[0].head.size += 3)
ANIMAL(DESCRIPTOR, op_size_huge, LOAD,
  "the operator says that it has 4 GB",
  "plug-in 'zoo', op 0, member head.size: is 4294967295, no struct is that large",
  op[0].head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, op_major_future, LOAD,
  "the operator is of a later major version",
  "plug-in 'zoo', op 0, member head.major: is *: made for ABI *, this host serves ABI *",
  op[0].head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, rule_size_zero, LOAD,
  "the type rule says that it has no bytes",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member head.size: is 0, but at least "
  "the first * bytes of this struct have to be there",
  rule[0].head.size = 0)
ANIMAL(DESCRIPTOR, rule_size_short, LOAD,
  "the type rule ends before its last required member",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member head.size: is 16, but at least "
  "the first * bytes of this struct have to be there",
  rule[0].head.size = 16)
ANIMAL(DESCRIPTOR, rule_size_odd, LOAD,
  "the size of the type rule is no multiple of a pointer",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member head.size: is *, which is no "
  "multiple of 8",
  rule[0].head.size += 3)
ANIMAL(DESCRIPTOR, rule_size_huge, LOAD,
  "the type rule says that it has 4 GB",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member head.size: is 4294967295, no "
  "struct is that large",
  rule[0].head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, rule_major_future, LOAD,
  "the type rule is of a later major version",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member head.major: is *: made for ABI "
  "*, this host serves ABI *",
  rule[0].head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, kernel_size_zero, LOAD,
  "the kernel says that it has no bytes",
  "plug-in 'zoo', kernel 0, member head.size: is 0, but at least the first * bytes of this "
  "struct have to be there",
  kernel[0].head.size = 0)
ANIMAL(DESCRIPTOR, kernel_size_short, LOAD,
  "the kernel ends before its last required member",
  "plug-in 'zoo', kernel 0, member head.size: is 16, but at least the first * bytes of this "
  "struct have to be there",
  kernel[0].head.size = 16)
ANIMAL(DESCRIPTOR, kernel_size_odd, LOAD,
  "the size of the kernel is no multiple of a pointer",
  "plug-in 'zoo', kernel 0, member head.size: is *, which is no multiple of 8",
  kernel[0].head.size += 3)
ANIMAL(DESCRIPTOR, kernel_size_huge, LOAD,
  "the kernel says that it has 4 GB",
  "plug-in 'zoo', kernel 0, member head.size: is 4294967295, no struct is that large",
  kernel[0].head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, kernel_major_future, LOAD,
  "the kernel is of a later major version",
  "plug-in 'zoo', kernel 0, member head.major: is *: made for ABI *, this host serves ABI *",
  kernel[0].head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, accept_size_zero, LOAD,
  "the row of accepts says that it has no bytes",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member head.size: is 0, but at least "
  "the first * bytes of this struct have to be there",
  accept[0].head.size = 0)
ANIMAL(DESCRIPTOR, accept_size_short, LOAD,
  "the row of accepts ends before its last required member",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member head.size: is 16, but at least "
  "the first * bytes of this struct have to be there",
  accept[0].head.size = 16)
ANIMAL(DESCRIPTOR, accept_size_odd, LOAD,
  "the size of the row of accepts is no multiple of a pointer",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member head.size: is *, which is no "
  "multiple of 8",
  accept[0].head.size += 3)
ANIMAL(DESCRIPTOR, accept_size_huge, LOAD,
  "the row of accepts says that it has 4 GB",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member head.size: is 4294967295, no "
  "struct is that large",
  accept[0].head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, accept_major_future, LOAD,
  "the row of accepts is of a later major version",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member head.major: is *: made for ABI "
  "*, this host serves ABI *",
  accept[0].head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, rewrite_size_zero, LOAD,
  "the rewrite says that it has no bytes",
  "plug-in 'zoo', rewrite 0, member head.size: is 0, but at least the first * bytes of this "
  "struct have to be there",
  rewrite[0].head.size = 0)
ANIMAL(DESCRIPTOR, rewrite_size_short, LOAD,
  "the rewrite ends before its last required member",
  "plug-in 'zoo', rewrite 0, member head.size: is 16, but at least the first * bytes of this "
  "struct have to be there",
  rewrite[0].head.size = 16)
ANIMAL(DESCRIPTOR, rewrite_size_odd, LOAD,
  "the size of the rewrite is no multiple of a pointer",
  "plug-in 'zoo', rewrite 0, member head.size: is *, which is no multiple of 8",
  rewrite[0].head.size += 3)
ANIMAL(DESCRIPTOR, rewrite_size_huge, LOAD,
  "the rewrite says that it has 4 GB",
  "plug-in 'zoo', rewrite 0, member head.size: is 4294967295, no struct is that large",
  rewrite[0].head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, rewrite_major_future, LOAD,
  "the rewrite is of a later major version",
  "plug-in 'zoo', rewrite 0, member head.major: is *: made for ABI *, this host serves ABI *",
  rewrite[0].head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, format_size_zero, LOAD,
  "the format says that it has no bytes",
  "plug-in 'zoo', format 0, member head.size: is 0, but at least the first * bytes of this "
  "struct have to be there",
  format[0].head.size = 0)
ANIMAL(DESCRIPTOR, format_size_short, LOAD,
  "the format ends before its last required member",
  "plug-in 'zoo', format 0, member head.size: is 16, but at least the first * bytes of this "
  "struct have to be there",
  format[0].head.size = 16)
ANIMAL(DESCRIPTOR, format_size_odd, LOAD,
  "the size of the format is no multiple of a pointer",
  "plug-in 'zoo', format 0, member head.size: is *, which is no multiple of 8",
  format[0].head.size += 3)
ANIMAL(DESCRIPTOR, format_size_huge, LOAD,
  "the format says that it has 4 GB",
  "plug-in 'zoo', format 0, member head.size: is 4294967295, no struct is that large",
  format[0].head.size = UINT32_MAX)
ANIMAL(DESCRIPTOR, format_major_future, LOAD,
  "the format is of a later major version",
  "plug-in 'zoo', format 0, member head.major: is *: made for ABI *, this host serves ABI *",
  format[0].head.major = TN_ABI_MAJOR + 1)
ANIMAL(DESCRIPTOR, plugin_major_far, LOAD,
  "version 99 of the ABI",
  "plug-in 'zoo', member head.major: is *: made for ABI *, this host serves ABI *",
  plugin.head.major = 99)
ANIMAL(DESCRIPTOR, plugin_major_past, LOAD,
  "an earlier major version, which wraps around below 0",
  "plug-in 'zoo', member head.major: is *: made for ABI *, this host serves ABI *",
  plugin.head.major = (uint16_t)(TN_ABI_MAJOR - 1))
ANIMAL(DESCRIPTOR, op_minor_future, WORKS,
  "a later minor version with members that this host does not know",
  "",
  newer_op.op = op[0]; newer_op.op.head.size = sizeof newer_op; newer_op.op.head.minor = 99;
  memset(newer_op.appended, 0xff, sizeof newer_op.appended); ops[0] = &newer_op.op)
ANIMAL(DESCRIPTOR, plugin_minor_future, WORKS,
  "a later minor version",
  "",
  plugin.head.minor = 99)
ANIMAL(DESCRIPTOR, plugin_name_missing, LOAD,
  "no name",
  "plug-in *zoo.so, member name: must be given",
  plugin.name = NULL)
ANIMAL(DESCRIPTOR, plugin_name_empty, LOAD,
  "an empty name",
  "plug-in *zoo.so, member name: is empty",
  plugin.name = "")
ANIMAL(DESCRIPTOR, plugin_name_letters, LOAD,
  "a name with a blank and a slash",
  "plug-in *zoo.so, member name: is '../my zoo', but names are made of letters, digits and _ . -",
  plugin.name = "../my zoo")
ANIMAL(DESCRIPTOR, plugin_name_utf8, LOAD,
  "a name that is not UTF-8",
  "plug-in *zoo.so, member name: is not UTF-8",
  plugin.name = "zoo\xff")
ANIMAL(DESCRIPTOR, plugin_name_long, LOAD,
  "a name of 200 letters",
  "plug-in *zoo.so, member name: does not end within 128 bytes",
  endless[200] = 0; plugin.name = endless)
ANIMAL(DESCRIPTOR, plugin_name_format, LOAD,
  "a name that is a printf format",
  "plug-in *zoo.so, member name: is '%s%s%n', but names are made of letters, digits and _ . -",
  plugin.name = "%s%s%n")
ANIMAL(DESCRIPTOR, plugin_version_control, LOAD,
  "a version that moves the cursor of a terminal",
  "plug-in 'zoo', member version: has control characters",
  plugin.version = "1.0\x1b[2J")
ANIMAL(DESCRIPTOR, plugin_license_c1, LOAD,
  "a licence with an 8-bit control character",
  "plug-in 'zoo', member license: has control characters",
  plugin.license = "MIT\xc2\x9b")
ANIMAL(DESCRIPTOR, plugin_license_delete, LOAD,
  "a licence with the delete character",
  "plug-in 'zoo', member license: has control characters",
  plugin.license = "MIT\x7f")
ANIMAL(DESCRIPTOR, plugin_build_id_endless, LOAD,
  "a build id without end",
  "plug-in 'zoo', member build_id: does not end within 128 bytes",
  plugin.build_id = endless)
ANIMAL(DESCRIPTOR, op_name_missing, LOAD,
  "an operator without a name",
  "plug-in 'zoo', op 0, member name: must be given",
  op[0].name = NULL)
ANIMAL(DESCRIPTOR, op_name_colons, LOAD,
  "an operator whose name holds its domain",
  "plug-in 'zoo', op 0, member name: is 'zoo::Twice', but names are made of letters, digits and "
  "_ . -",
  op[0].name = "zoo::Twice")
ANIMAL(DESCRIPTOR, op_name_long, LOAD,
  "an operator with a name of 200 letters",
  "plug-in 'zoo', op 0, member name: does not end within 128 bytes",
  endless[200] = 0; op[0].name = endless)
ANIMAL(DESCRIPTOR, op_domain_letters, LOAD,
  "a domain with a slash",
  "plug-in 'zoo', op 0, member domain: is 'zoo/cage', but names are made of letters, digits and "
  "_ . -",
  op[0].domain = "zoo/cage")
ANIMAL(DESCRIPTOR, op_domain_wild, LOAD,
  "a domain at an address where nothing is",
  "plug-in 'zoo', op 0, member domain: points to *, which is not inside the tables of a loaded "
  "library",
  op[0].domain = (const char *)(uintptr_t)0xdead0000)
ANIMAL(DESCRIPTOR, op_doc_utf8, LOAD,
  "a description that is not UTF-8",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member doc: is not UTF-8",
  op[0].doc = "caf\xe9")
ANIMAL(DESCRIPTOR, op_doc_surrogate, LOAD,
  "a description with half a surrogate pair",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member doc: is not UTF-8",
  op[0].doc = "\xed\xa0\x80")
ANIMAL(DESCRIPTOR, op_source_wild, LOAD,
  "a source at an address where nothing is",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member source: points to *, which is not inside the "
  "tables of a loaded library",
  op[0].source = (const char *)(uintptr_t)8)
ANIMAL(DESCRIPTOR, op_case_missing, LOAD,
  "a test case that is NULL",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member cases: must be given",
  cases[0] = NULL)
ANIMAL(DESCRIPTOR, op_cases_missing, LOAD,
  "two test cases, and no table",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member cases: is NULL, but 2 entries are counted",
  op[0].cases = NULL; op[0].n_cases = 2)
ANIMAL(DESCRIPTOR, op_cases_count, LOAD,
  "more test cases than there is memory",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member cases: is counted as 4294967295 entries, the "
  "limit is 65536",
  op[0].n_cases = UINT32_MAX)
ANIMAL(DESCRIPTOR, kernel_name_missing, LOAD,
  "a kernel without a name",
  "plug-in 'zoo', kernel 0, member name: must be given",
  kernel[0].name = NULL)
ANIMAL(DESCRIPTOR, kernel_name_equals, LOAD,
  "a kernel whose name cannot be pinned",
  "plug-in 'zoo', kernel 0, member name: is 'twice=fast', but names are made of letters, digits "
  "and _ . -",
  kernel[0].name = "twice=fast")
ANIMAL(DESCRIPTOR, kernel_source_wild, LOAD,
  "a source inside of nothing",
  "plug-in 'zoo', kernel 'twice_f32_c', member source: points to *, which is not inside the "
  "tables of a loaded library",
  kernel[0].source = (const char *)(uintptr_t)0xdead0000)
ANIMAL(DESCRIPTOR, rewrite_name_missing, LOAD,
  "a rewrite without a name",
  "plug-in 'zoo', rewrite 0, member name: must be given",
  rewrite[0].name = NULL)
ANIMAL(DESCRIPTOR, format_name_missing, LOAD,
  "a format without a name",
  "plug-in 'zoo', format 0, member name: must be given",
  format[0].name = NULL)
ANIMAL(DESCRIPTOR, format_extensions, LOAD,
  "file endings without a dot",
  "plug-in 'zoo', format 'zoo', member extensions: is 'zoo,cage', but has to read like .onnx or "
  ".tflite,.lite",
  format[0].extensions = "zoo,cage")
ANIMAL(DESCRIPTOR, format_extensions_path, LOAD,
  "a file ending with a folder in it",
  "plug-in 'zoo', format 'zoo', member extensions: is '.zoo/../cage', but has to read like "
  ".onnx or .tflite,.lite",
  format[0].extensions = ".zoo/../cage")
ANIMAL(DESCRIPTOR, format_domains_wild, LOAD,
  "domains at an address where nothing is",
  "plug-in 'zoo', format 'zoo', member domains: points to *, which is not inside the tables of "
  "a loaded library",
  format[0].domains = (const char *)(uintptr_t)0xdead0000)
ANIMAL(DESCRIPTOR, op_schema_missing, LOAD,
  "an operator without a schema",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: must be given",
  op[0].schema = NULL)
ANIMAL(DESCRIPTOR, op_infer_missing, LOAD,
  "an operator that does not say which shapes it has",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member infer: must be given, or lower, or a flag "
  "(TN_OP_SAME_AS_INPUT, TN_OP_BROADCAST)",
  op[0].flags = 0)
ANIMAL(DESCRIPTOR, op_lower_missing, LOAD,
  "an operator that wants to be lowered and cannot",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member lower: must be given: flags ask for lowering",
  op[0].flags |= TN_OP_LOWER_ALWAYS)
ANIMAL(DESCRIPTOR, rule_name_missing, LOAD,
  "a type rule without a name",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member name: must be given",
  rule[0].name = NULL)
ANIMAL(DESCRIPTOR, rule_args_missing, LOAD,
  "a type rule without arguments",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member args: must be given",
  rule[0].args = NULL)
ANIMAL(DESCRIPTOR, kernel_op_missing, LOAD,
  "a kernel for no operator",
  "plug-in 'zoo', kernel 'twice_f32_c', member op: must be given",
  kernel[0].op = NULL)
ANIMAL(DESCRIPTOR, kernel_device_missing, LOAD,
  "a kernel for no device",
  "plug-in 'zoo', kernel 'twice_f32_c', member device: must be given",
  kernel[0].device = NULL)
ANIMAL(DESCRIPTOR, kernel_run_missing, LOAD,
  "a kernel that cannot run",
  "plug-in 'zoo', kernel 'twice_f32_c', member run: must be given",
  kernel[0].run = NULL)
ANIMAL(DESCRIPTOR, accept_arg_missing, LOAD,
  "a row of accepts for no argument",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member arg: must be given",
  accept[0].arg = NULL)
ANIMAL(DESCRIPTOR, rewrite_root_missing, LOAD,
  "a rewrite for no operator",
  "plug-in 'zoo', rewrite 'twice_away', member root: must be given",
  rewrite[0].root = NULL)
ANIMAL(DESCRIPTOR, rewrite_apply_missing, LOAD,
  "a rewrite that does nothing",
  "plug-in 'zoo', rewrite 'twice_away', member apply: must be given",
  rewrite[0].apply = NULL)
ANIMAL(DESCRIPTOR, format_read_missing, LOAD,
  "a format that neither reads nor writes",
  "plug-in 'zoo', format 'zoo', member read: must be given, or write",
  format[0].read = NULL; format[0].write = NULL)
ANIMAL(DESCRIPTOR, format_probe_missing, LOAD,
  "a format that no file can be recognised to be of",
  "plug-in 'zoo', format 'zoo', member probe: must be given, or extensions: nothing tells which "
  "files are of this format",
  format[0].probe = NULL; format[0].extensions = NULL)
ANIMAL(DESCRIPTOR, plugin_ops_missing, LOAD,
  "ops are counted, and there is no table",
  "plug-in 'zoo', member ops: is NULL, but 1 entries are counted",
  plugin.ops = NULL)
ANIMAL(DESCRIPTOR, plugin_ops_count, LOAD,
  "four thousand million ops are counted",
  "plug-in 'zoo', member ops: is counted as 4294967295 entries, the limit is 65536",
  plugin.n_ops = UINT32_MAX)
ANIMAL(DESCRIPTOR, plugin_ops_row, LOAD,
  "the second of two ops is NULL",
  "plug-in 'zoo', op 1, member head: is NULL",
  plugin.n_ops = 2; ops[1] = NULL)
ANIMAL(DESCRIPTOR, plugin_kernels_missing, LOAD,
  "kernels are counted, and there is no table",
  "plug-in 'zoo', member kernels: is NULL, but 1 entries are counted",
  plugin.kernels = NULL)
ANIMAL(DESCRIPTOR, plugin_kernels_count, LOAD,
  "four thousand million kernels are counted",
  "plug-in 'zoo', member kernels: is counted as 4294967295 entries, the limit is 65536",
  plugin.n_kernels = UINT32_MAX)
ANIMAL(DESCRIPTOR, plugin_kernels_row, LOAD,
  "the second of two kernels is NULL",
  "plug-in 'zoo', kernel 1, member head: is NULL",
  plugin.n_kernels = 2; kernels[1] = NULL)
ANIMAL(DESCRIPTOR, plugin_rewrites_missing, LOAD,
  "rewrites are counted, and there is no table",
  "plug-in 'zoo', member rewrites: is NULL, but 1 entries are counted",
  plugin.rewrites = NULL)
ANIMAL(DESCRIPTOR, plugin_rewrites_count, LOAD,
  "four thousand million rewrites are counted",
  "plug-in 'zoo', member rewrites: is counted as 4294967295 entries, the limit is 65536",
  plugin.n_rewrites = UINT32_MAX)
ANIMAL(DESCRIPTOR, plugin_rewrites_row, LOAD,
  "the second of two rewrites is NULL",
  "plug-in 'zoo', rewrite 1, member head: is NULL",
  plugin.n_rewrites = 2; rewrites[1] = NULL)
ANIMAL(DESCRIPTOR, plugin_formats_missing, LOAD,
  "formats are counted, and there is no table",
  "plug-in 'zoo', member formats: is NULL, but 1 entries are counted",
  plugin.formats = NULL)
ANIMAL(DESCRIPTOR, plugin_formats_count, LOAD,
  "four thousand million formats are counted",
  "plug-in 'zoo', member formats: is counted as 4294967295 entries, the limit is 65536",
  plugin.n_formats = UINT32_MAX)
ANIMAL(DESCRIPTOR, plugin_formats_row, LOAD,
  "the second of two formats is NULL",
  "plug-in 'zoo', format 1, member head: is NULL",
  plugin.n_formats = 2; formats[1] = NULL)
ANIMAL(DESCRIPTOR, plugin_ops_past_end, LOAD,
  "a table that goes on after the end of the library",
  "plug-in 'zoo', member ops: points to *, which is not inside the tables of a loaded library",
  plugin.n_ops = 60000)
ANIMAL(DESCRIPTOR, op_types_missing, LOAD,
  "a type rule is counted, and there is no table",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: is NULL, but 1 entries are counted",
  op[0].types = NULL)
ANIMAL(DESCRIPTOR, op_types_count, LOAD,
  "a million type rules",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: is counted as 1000000 entries, the "
  "limit is 256",
  op[0].n_types = 1000000)
ANIMAL(DESCRIPTOR, kernel_accepts_missing, LOAD,
  "a row is counted, and there is no table",
  "plug-in 'zoo', kernel 'twice_f32_c', member accepts: is NULL, but 1 entries are counted",
  kernel[0].accepts = NULL)
ANIMAL(DESCRIPTOR, kernel_accepts_count, LOAD,
  "a million rows",
  "plug-in 'zoo', kernel 'twice_f32_c', member accepts: is counted as 1000000 entries, the "
  "limit is 256",
  kernel[0].n_accepts = 1000000)
ANIMAL(DESCRIPTOR, query_null, LOAD,
  "tn_plugin_query answers NULL",
  "plug-in *zoo.so: tn_plugin_query offers nothing for ABI *",
  answer = NULL)
ANIMAL(DESCRIPTOR, query_stack, LOAD,
  "tn_plugin_query answers a variable of its own, which is gone",
  "plug-in *zoo.so, member head: points to *, which is not inside the tables of a loaded library",
  tn_plugin gone = plugin; answer = &gone; leak_address(&answer))
ANIMAL(DESCRIPTOR, query_heap, LOAD,
  "tn_plugin_query allocates its answer",
  "plug-in *zoo.so, member head: points to *, which is not inside the tables of a loaded library",
  static tn_plugin *made; if (!made) made = new_page(); *made = plugin; answer = made)
ANIMAL(DESCRIPTOR, query_freed, LOAD,
  "tn_plugin_query answers what it has freed",
  "plug-in *zoo.so, member head: points to *, which is not inside the tables of a loaded library",
  tn_plugin *made = malloc(sizeof *made); *made = plugin; answer = made; free(made);
  leak_address(&answer))
ANIMAL(DESCRIPTOR, query_unmapped, LOAD,
  "tn_plugin_query answers an address where nothing is",
  "plug-in *zoo.so, member head: points to *, which is not inside the tables of a loaded library",
  answer = (const tn_plugin *)(uintptr_t)0xdead0000)
ANIMAL(DESCRIPTOR, query_misaligned, LOAD,
  "tn_plugin_query answers an odd address",
  "plug-in *zoo.so, member head: points to *, which is not aligned",
  answer = (const tn_plugin *)((const char *)&plugin + 1))
ANIMAL(DESCRIPTOR, query_rubbish, LOAD,
  "tn_plugin_query answers a text",
  "plug-in *zoo.so, member head.size: is *, no struct is that large",
  answer = (const tn_plugin *)(const void *)rubbish)
ANIMAL(DESCRIPTOR, query_code, LOAD,
  "tn_plugin_query answers its own code",
  "plug-in *zoo.so, member head.size: is *, no struct is that large",
  answer = (const tn_plugin *)(uintptr_t)(((uintptr_t)&twice_run + 7) & ~(uintptr_t)7))
ANIMAL(DESCRIPTOR, query_writes, WORKS,
  "tn_plugin_query changes its tables each time",
  "",
  static int calls; plugin.version = calls++ ? "2.0" : "1.0")
ANIMAL(DESCRIPTOR, op_heap, LOAD,
  "an operator on the heap",
  "plug-in 'zoo', op 0, member head: points to *, which is not inside the tables of a loaded "
  "library",
  static tn_op *made; if (!made) made = new_page(); *made = op[0]; ops[0] = made)
ANIMAL(DESCRIPTOR, op_misaligned, LOAD,
  "an operator at an odd address",
  "plug-in 'zoo', op 0, member head: points to *, which is not aligned",
  ops[0] = (const tn_op *)((const char *)&op[0] + 4))
ANIMAL(DESCRIPTOR, kernel_wild, LOAD,
  "a kernel at an address where nothing is",
  "plug-in 'zoo', kernel 0, member head: points to *, which is not inside the tables of a "
  "loaded library",
  kernels[0] = (const tn_kernel *)(uintptr_t)0xdead0000)
ANIMAL(DESCRIPTOR, rewrite_wild, LOAD,
  "a rewrite in the first page of memory",
  "plug-in 'zoo', rewrite 0, member head: points to *, which is not inside the tables of a "
  "loaded library",
  rewrites[0] = (const tn_rewrite *)(uintptr_t)64)
ANIMAL(DESCRIPTOR, format_wild, LOAD,
  "a format in the last page of memory",
  "plug-in 'zoo', format 0, member head: points to *, which is not inside the tables of a "
  "loaded library",
  formats[0] = (const tn_format *)(UINTPTR_MAX - 7))
ANIMAL(DESCRIPTOR, types_stack, LOAD,
  "a table of type rules on the stack",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: points to *, which is not inside the "
  "tables of a loaded library",
  const tn_type_rule *gone[1] = {&rule[0]}; op[0].types = gone; leak_address(&op[0].types))
ANIMAL(DESCRIPTOR, op_infer_data, LOAD,
  "infer points to data",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member infer: is no function of a loaded library",
  POINT_TO_DATA(op[0].infer))
ANIMAL(DESCRIPTOR, op_flops_data, LOAD,
  "flops points to data",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member flops: is no function of a loaded library",
  POINT_TO_DATA(op[0].flops))
ANIMAL(DESCRIPTOR, op_lower_data, LOAD,
  "lower points to data",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member lower: is no function of a loaded library",
  POINT_TO_DATA(op[0].lower))
ANIMAL(DESCRIPTOR, op_reference_data, LOAD,
  "reference points to data",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member reference: is no function of a loaded library",
  POINT_TO_DATA(op[0].reference))
ANIMAL(DESCRIPTOR, op_epilogue_data, LOAD,
  "epilogue points to data",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member epilogue: is no function of a loaded library",
  POINT_TO_DATA(op[0].epilogue))
ANIMAL(DESCRIPTOR, kernel_refuse_data, LOAD,
  "refuse points to data",
  "plug-in 'zoo', kernel 'twice_f32_c', member refuse: is no function of a loaded library",
  POINT_TO_DATA(kernel[0].refuse))
ANIMAL(DESCRIPTOR, kernel_plan_data, LOAD,
  "plan points to data",
  "plug-in 'zoo', kernel 'twice_f32_c', member plan: is no function of a loaded library",
  POINT_TO_DATA(kernel[0].plan))
ANIMAL(DESCRIPTOR, kernel_prepare_data, LOAD,
  "prepare points to data",
  "plug-in 'zoo', kernel 'twice_f32_c', member prepare: is no function of a loaded library",
  POINT_TO_DATA(kernel[0].prepare))
ANIMAL(DESCRIPTOR, kernel_run_data, LOAD,
  "run points to data",
  "plug-in 'zoo', kernel 'twice_f32_c', member run: is no function of a loaded library",
  POINT_TO_DATA(kernel[0].run))
ANIMAL(DESCRIPTOR, kernel_finish_data, LOAD,
  "finish points to data",
  "plug-in 'zoo', kernel 'twice_f32_c', member finish: is no function of a loaded library",
  POINT_TO_DATA(kernel[0].finish))
ANIMAL(DESCRIPTOR, rewrite_apply_data, LOAD,
  "apply points to data",
  "plug-in 'zoo', rewrite 'twice_away', member apply: is no function of a loaded library",
  POINT_TO_DATA(rewrite[0].apply))
ANIMAL(DESCRIPTOR, format_probe_data, LOAD,
  "probe points to data",
  "plug-in 'zoo', format 'zoo', member probe: is no function of a loaded library",
  POINT_TO_DATA(format[0].probe))
ANIMAL(DESCRIPTOR, format_read_data, LOAD,
  "read points to data",
  "plug-in 'zoo', format 'zoo', member read: is no function of a loaded library",
  POINT_TO_DATA(format[0].read))
ANIMAL(DESCRIPTOR, format_write_data, LOAD,
  "write points to data",
  "plug-in 'zoo', format 'zoo', member write: is no function of a loaded library",
  POINT_TO_DATA(format[0].write))
ANIMAL(DESCRIPTOR, format_read_value_data, LOAD,
  "read_value points to data",
  "plug-in 'zoo', format 'zoo', member read_value: is no function of a loaded library",
  POINT_TO_DATA(format[0].read_value))
ANIMAL(DESCRIPTOR, plugin_init_data, LOAD,
  "init points to data",
  "plug-in 'zoo', member init: is no function of a loaded library",
  POINT_TO_DATA(plugin.init))
ANIMAL(DESCRIPTOR, plugin_shutdown_data, LOAD,
  "shutdown points to data",
  "plug-in 'zoo', member shutdown: is no function of a loaded library",
  POINT_TO_DATA(plugin.shutdown))
ANIMAL(DESCRIPTOR, schema_unclosed, LOAD,
  "the schema: its parenthesis is not closed",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 11: expected ',' or "
  "')', found '-'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor X -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_arrow, LOAD,
  "the schema: it has no arrow",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 12: expected '->' "
  "before the returns, found 'Tensor'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor X) Tensor Y")
ANIMAL(DESCRIPTOR, schema_type, LOAD,
  "the schema: it has a type that nobody knows",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 2: expected a type "
  "such as Tensor, int or float, found 'Tenzor'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tenzor X) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_default, LOAD,
  "the schema: a default is no value of its type",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 24: expected a number, "
  "found 'often'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema =
  "(Tensor X, *, float by=often) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_twice, LOAD,
  "the schema: two arguments have one name",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 12: there are two of "
  "the name 'X'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor X, Tensor X) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_output_twice, LOAD,
  "the schema: two outputs have one name",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 26: there are two of "
  "the name 'Y'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor X) -> (Tensor Y, Tensor Y)")
ANIMAL(DESCRIPTOR, schema_empty, LOAD,
  "the schema: it is empty",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 1: expected '(' before "
  "the arguments, found the end",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "")
ANIMAL(DESCRIPTOR, schema_rest, LOAD,
  "the schema: something stands after its end",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 23: expected the end "
  "of the schema, found ';'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor X) -> Tensor Y; drop table")
ANIMAL(DESCRIPTOR, schema_nested, LOAD,
  "the schema: its brackets are nested a thousand times",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 10: lists of lists are "
  "not part of the language",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema =
  "(Tensor[][][][][][][][] X) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_number, LOAD,
  "the schema: a default does not fit in 64 bits",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 21: the integer does "
  "not fit in 64 bits",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema =
  "(Tensor X, *, int k=99999999999999999999) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_alias, LOAD,
  "the schema: an alias set is not closed",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 11: expected ')' after "
  "the alias set, found 'X'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor(a X) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_no_output, USE,
  "the schema: it has no outputs",
  "node 'first' (zoo::Twice) has 1 outputs; the operator gives at most 0",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor X) -> ()")
ANIMAL(DESCRIPTOR, schema_utf8_name, LOAD,
  "the schema: a name is not ASCII",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 9: expected the "
  "argument's name, found 'é'",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema = "(Tensor \xc3\xa9) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_list_size, LOAD,
  "the schema: a list of negative size",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 19: the size of a list "
  "is 1 to 4096",
  op[0].n_types = 0; kernel[0].n_accepts = 0; op[0].schema =
  "(Tensor X, *, int[-1] k) -> Tensor Y")
ANIMAL(DESCRIPTOR, schema_endless, LOAD,
  "the schema has no end",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: does not end within 65536 bytes",
  op[0].schema = endless)
ANIMAL(DESCRIPTOR, schema_wild, LOAD,
  "the schema is at an address where nothing is",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: points to *, which is not inside the "
  "tables of a loaded library",
  op[0].schema = (const char *)(uintptr_t)0xdead0000)
ANIMAL(DESCRIPTOR, schema_deep, LOAD,
  "the schema has ten thousand opening brackets",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member schema: schema, column 9: expected an "
  "integer, found '['",
  memset(endless, '[', 10000); memcpy(endless, "(Tensor", 7); endless[10000] = 0; op[0].schema =
  endless)
ANIMAL(DESCRIPTOR, schema_no_inputs, LOAD,
  "shapes follow from inputs, and there are none",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member flags: say that shapes follow from the "
  "inputs, but the schema has none",
  op[0].schema = "(*, float by=2.0) -> Tensor Y"; rule[0].args = "Y")
ANIMAL(DESCRIPTOR, rule_arg_unknown, LOAD,
  "a type rule names an argument that the schema does not have",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: rule 'T' names 'Z', which is no tensor "
  "input or output of the schema",
  rule[0].args = "X,Z")
ANIMAL(DESCRIPTOR, rule_arg_attribute, LOAD,
  "a type rule names an attribute",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: rule 'T' names 'by', which is no "
  "tensor input or output of the schema",
  rule[0].args = "X,by")
ANIMAL(DESCRIPTOR, rule_arg_twice, LOAD,
  "a type rule names an argument twice",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: name argument 'X' more than once",
  rule[0].args = "X,Y,X")
ANIMAL(DESCRIPTOR, rule_arg_empty, LOAD,
  "a type rule names nothing between commas",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member types: rule 'T' names '', which is no tensor "
  "input or output of the schema",
  rule[0].args = "X,,Y")
ANIMAL(DESCRIPTOR, rule_no_dtype, LOAD,
  "a type rule allows no dtype",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member types: rule 'T' allows no dtype",
  rule[0].dtypes = 0)
ANIMAL(DESCRIPTOR, rule_dtype_unknown, LOAD,
  "a type rule allows dtypes that nobody knows",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member types: dtypes: has bits "
  "0x1000000000000000, which ABI * does not know",
  rule[0].dtypes |= UINT64_C(1) << 60)
ANIMAL(DESCRIPTOR, rule_dtype_none, LOAD,
  "a type rule allows \"no dtype\"",
  "plug-in 'zoo', op 'zoo::Twice' since 1, type rule 0, member types: dtypes: has bits 0x1, "
  "which ABI * does not know",
  rule[0].dtypes |= TN_MASK(TN_NONE))
ANIMAL(DESCRIPTOR, op_flags_unknown, LOAD,
  "an operator with a flag that nobody knows",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member flags: has bits 0x40000000, which ABI * does "
  "not know",
  op[0].flags |= 1u << 30)
ANIMAL(DESCRIPTOR, kernel_flags_unknown, LOAD,
  "a kernel with a flag that nobody knows",
  "plug-in 'zoo', kernel 'twice_f32_c', member flags: has bits 0x40000000, which ABI * does not "
  "know",
  kernel[0].flags = 1u << 30)
ANIMAL(DESCRIPTOR, op_since_zero, LOAD,
  "an operator since version 0",
  "plug-in 'zoo', op 'zoo::Twice' since 0, member since: is 0, versions begin at 1",
  op[0].since = 0)
ANIMAL(DESCRIPTOR, op_since_negative, LOAD,
  "an operator since version -5",
  "plug-in 'zoo', op 'zoo::Twice' since -5, member since: is -5, versions begin at 1",
  op[0].since = -5)
ANIMAL(DESCRIPTOR, op_until_before_since, LOAD,
  "an operator that ends before it begins",
  "plug-in 'zoo', op 'zoo::Twice' since 9, member until: is 3, which is before since = 9",
  op[0].since = 9; op[0].until = 3)
ANIMAL(DESCRIPTOR, op_until_negative, LOAD,
  "an operator until version -1",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member until: is -1, which is before since = 1",
  op[0].until = -1)
ANIMAL(DESCRIPTOR, ops_overlap, LOAD,
  "two versions of one operator overlap",
  "plug-in 'zoo', op 'zoo::Twice' since 9, member since: overlaps the versions of the same op "
  "since 1 in this plug-in (until 9; 0 is the newest)",
  plugin.n_ops = 2; op[0].until = 9; op[1].since = 9)
ANIMAL(DESCRIPTOR, ops_twice, LOAD,
  "one operator twice",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member since: overlaps the versions of the same op "
  "since 1 in this plug-in (until 0; 0 is the newest)",
  plugin.n_ops = 2)
ANIMAL(DESCRIPTOR, op_same_row_twice, LOAD,
  "one descriptor twice in the table",
  "plug-in 'zoo', op 'zoo::Twice' since 1, member since: overlaps the versions of the same op "
  "since 1 in this plug-in (until 0; 0 is the newest)",
  plugin.n_ops = 2; ops[1] = ops[0])
ANIMAL(DESCRIPTOR, kernel_since_negative, LOAD,
  "a kernel since version -1",
  "plug-in 'zoo', kernel 'twice_f32_c', member since: is -1, must not be negative",
  kernel[0].since = -1)
ANIMAL(DESCRIPTOR, kernel_until_before_since, LOAD,
  "a kernel that ends before it begins",
  "plug-in 'zoo', kernel 'twice_f32_c', member until: is 3, which is before since = 9",
  kernel[0].since = 9; kernel[0].until = 3)
ANIMAL(DESCRIPTOR, kernel_versions_none, LOAD,
  "a kernel for versions that the operator does not have",
  "plug-in 'zoo', kernel 'twice_f32_c', member since: serves versions 6..0 (0 is open) of "
  "'zoo::Twice', none of which is registered",
  op[0].until = 5; kernel[0].since = 6)
ANIMAL(DESCRIPTOR, kernels_twice, LOAD,
  "two kernels of one name",
  "plug-in 'zoo', kernel 'twice_f32_c', member name: is the name of another kernel of this "
  "plug-in",
  plugin.n_kernels = 2)
ANIMAL(DESCRIPTOR, kernel_op_unknown, LOAD,
  "a kernel for an operator that nobody offers",
  "plug-in 'zoo', kernel 'twice_f32_c', member op: is 'zoo::Thrice', which neither this plug-in "
  "nor any loaded before it offers",
  kernel[0].op = "zoo::Thrice")
ANIMAL(DESCRIPTOR, kernel_op_colons, LOAD,
  "a kernel for an operator with two domains",
  "plug-in 'zoo', kernel 'twice_f32_c', member op: is 'cage::Twice', but names are made of "
  "letters, digits and _ . -",
  kernel[0].op = "zoo::cage::Twice")
ANIMAL(DESCRIPTOR, kernel_op_no_domain, LOAD,
  "a kernel for an operator in the wrong domain",
  "plug-in 'zoo', kernel 'twice_f32_c', member op: is 'Twice', which neither this plug-in nor "
  "any loaded before it offers",
  kernel[0].op = "Twice")
ANIMAL(DESCRIPTOR, kernel_device_unknown, LOAD,
  "a kernel for a device that is not there",
  "plug-in 'zoo', kernel 'twice_f32_c', member device: is 'npu', this host knows 'cpu' only",
  kernel[0].device = "npu")
ANIMAL(DESCRIPTOR, kernel_rank_lowest, WORKS,
  "a kernel of the lowest rank there is",
  "",
  kernel[0].rank = INT32_MIN)
ANIMAL(DESCRIPTOR, kernel_isa_unknown, USE,
  "a kernel for an instruction set that nobody knows",
  "*twice_f32_c: needs instruction set 0x4000000000000000, which may not be used here",
  kernel[0].isa = UINT64_C(1) << 62)
ANIMAL(DESCRIPTOR, kernel_rank_highest, WORKS,
  "a kernel of the highest rank there is",
  "",
  kernel[0].rank = INT32_MAX)
ANIMAL(DESCRIPTOR, accept_arg_unknown, LOAD,
  "a row for an argument that the schema does not have",
  "plug-in 'zoo', kernel 'twice_f32_c', member accepts: row 'Z' names no tensor input or output "
  "of zoo::Twice, whose schema is (Tensor X, *, float by=2.0) -> Tensor Y",
  accept[0].arg = "Z")
ANIMAL(DESCRIPTOR, accept_arg_attribute, LOAD,
  "a row for an attribute",
  "plug-in 'zoo', kernel 'twice_f32_c', member accepts: row 'by' names no tensor input or "
  "output of zoo::Twice, whose schema is (Tensor X, *, float by=2.0) -> Tensor Y",
  accept[0].arg = "by")
ANIMAL(DESCRIPTOR, accept_rows_more, LOAD,
  "more rows than arguments: two for one",
  "plug-in 'zoo', kernel 'twice_f32_c', member accepts: has two rows for 'X'",
  kernel[0].n_accepts = 2)
ANIMAL(DESCRIPTOR, accept_row_null, LOAD,
  "a row that is NULL",
  "plug-in 'zoo', kernel 'twice_f32_c', row 1 of accepts, member head: is NULL",
  kernel[0].n_accepts = 2; accepts[1] = NULL)
ANIMAL(DESCRIPTOR, accept_dtype_unknown, LOAD,
  "a row with dtypes that nobody knows",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: dtypes: has bits *, "
  "which ABI * does not know",
  accept[0].dtypes = UINT64_MAX)
ANIMAL(DESCRIPTOR, accept_flags_unknown, LOAD,
  "a row with a flag that nobody knows",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: flags: has bits 0x40, "
  "which ABI * does not know",
  accept[0].flags = 64)
ANIMAL(DESCRIPTOR, accept_flags_contrary, LOAD,
  "a row that wants an argument both there and left out",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: row 'X' wants the "
  "argument to be left out and to be there",
  accept[0].flags = TN_ACCEPT_ABSENT | TN_ACCEPT_PRESENT)
ANIMAL(DESCRIPTOR, accept_output_const, LOAD,
  "a row that wants an output to be constant",
  "plug-in 'zoo', kernel 'twice_f32_c', member accepts: row 'Y' wants an output to be constant",
  accept[0].arg = "Y"; accept[0].flags = TN_ACCEPT_CONST)
ANIMAL(DESCRIPTOR, accept_layout_unknown, LOAD,
  "a row in blocks of 7",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: row 'X' has layout "
  "0x20000000007, which is none",
  accept[0].layout = TN_BLOCKED(7))
ANIMAL(DESCRIPTOR, accept_layout_bits, LOAD,
  "a row with two layouts",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: row 'X' has layout "
  "0x50000000000, which is none",
  accept[0].layout = TN_CHANNELS_LAST | TN_ANY_LAYOUT)
ANIMAL(DESCRIPTOR, accept_rank_negative, LOAD,
  "a row from rank -1",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: row 'X' has ranks -1 "
  "to 4, which is no range within 0 to 8",
  accept[0].rank_min = -1; accept[0].rank_max = 4)
ANIMAL(DESCRIPTOR, accept_rank_high, LOAD,
  "a row up to rank 1000",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: row 'X' has ranks 0 "
  "to 1000, which is no range within 0 to 8",
  accept[0].rank_max = 1000)
ANIMAL(DESCRIPTOR, accept_rank_crossed, LOAD,
  "a row from rank 5 to rank 3",
  "plug-in 'zoo', kernel 'twice_f32_c', row 0 of accepts, member accepts: row 'X' has ranks 5 "
  "to 3, which is no range within 0 to 8",
  accept[0].rank_min = 5; accept[0].rank_max = 3)
ANIMAL(DESCRIPTOR, rewrite_root_unknown, LOAD,
  "a rewrite for an operator that nobody offers",
  "plug-in 'zoo', rewrite 'twice_away', member root: is 'zoo::Thrice', which neither this "
  "plug-in nor any loaded before it offers",
  rewrite[0].root = "zoo::Thrice")
ANIMAL(DESCRIPTOR, formats_twice, LOAD,
  "two formats of one name",
  "plug-in 'zoo', format 'zoo', member name: is that of another format of this plug-in",
  plugin.n_formats = 2)
ANIMAL(DESCRIPTOR, format_builtin, LOAD,
  "a format that ships already",
  "plug-in 'zoo', format 'onnx', member name: is that of a registered format; formats cannot be "
  "replaced",
  format[0].name = "onnx")
ANIMAL(DESCRIPTOR, plugin_name_taken, LOAD,
  "the name of a plug-in that is in use",
  "plug-in 'tenon', member name: is that of a plug-in in use (built in)",
  plugin.name = "tenon")
ANIMAL(DESCRIPTOR, flavour_32bit, LOAD,
  "built for pointers of another size",
  "plug-in 'zoo', member flavour: is * (32 bit, *",
  plugin.flavour ^= TN_FLAVOUR_32BIT)
ANIMAL(DESCRIPTOR, flavour_endian, LOAD,
  "built for the other byte order",
  "plug-in 'zoo', member flavour: is * (64 bit, big endian, *",
  plugin.flavour ^= TN_FLAVOUR_BIG_ENDIAN)
ANIMAL(DESCRIPTOR, flavour_sanitizer, LOAD,
  "built with another sanitizer",
  "plug-in 'zoo', member flavour: is * (64 bit, little endian, *",
  plugin.flavour ^= TN_FLAVOUR_MSAN)
ANIMAL(DESCRIPTOR, flavour_unknown, LOAD,
  "built in a way that nobody knows",
  "plug-in 'zoo', member flavour: is * (64 bit, little endian, *",
  plugin.flavour |= UINT64_C(1) << 40)
ANIMAL(INIT, init_fails_text, LOAD,
  "init fails and says why",
  "plug-in 'zoo', init: the licence file is not there",
  return host->fail(ctx, TN_ERR_NOT_FOUND, "the licence file is not there"))
ANIMAL(INIT, init_fails_silent, LOAD,
  "init fails and says nothing",
  "plug-in 'zoo', init: failed: TN_ERR_MEMORY: memory could not be had",
  return TN_ERR_MEMORY)
ANIMAL(INIT, init_positive, LOAD,
  "init answers 7",
  "plug-in 'zoo', init: failed: it answered 7, which is no status it may answer",
  return 7)
ANIMAL(INIT, init_unknown, LOAD,
  "init answers a code that is none",
  "plug-in 'zoo', init: failed: it answered -77, which is no status it may answer",
  return -77)
ANIMAL(INIT, init_says_and_works, WORKS,
  "init says that something failed, and goes on",
  "plug-in 'zoo', init: oh",
  host->fail(ctx, TN_ERR_IO, "oh"); return TN_OK)
ANIMAL(INIT, init_fail_long, LOAD,
  "init fails with a text of 100000 letters",
  "plug-in 'zoo', init: aaaaaaaaaaaa*",
  return host->fail(ctx, TN_ERR_IO, "%s", endless))
ANIMAL(INIT, init_fail_null, LOAD,
  "init fails with a NULL format",
  "plug-in 'zoo', init: failed: TN_ERR_IO: the operating system failed to read or write",
  return host->fail(ctx, TN_ERR_IO, NULL))
ANIMAL(INIT, init_alloc_all, LOAD,
  "init wants all memory there is",
  "plug-in 'zoo', init: failed: TN_ERR_MEMORY: memory could not be had",
  return host->alloc(ctx, UINT64_MAX) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(INIT, init_needs_data, LOAD,
  "init answers a code of inference",
  "plug-in 'zoo', init: failed: it answered -20, which is no status it may answer",
  return TN_NEEDS_DATA)
ANIMAL(INFER, infer_negative, USE,
  "a dim of -7",
  "node 'first' (zoo::Twice): output 0 would have -7 elements in dim 0",
  return says_shape(call, 2, -7))
ANIMAL(INFER, infer_overflow, USE,
  "more elements than 64 bits count",
  "node 'first' (zoo::Twice): the size of output 0 overflows",
  return says_shape(call, 3, INT64_C(1) << 40))
ANIMAL(INFER, infer_int64_max, USE,
  "a dim of 2^63 - 1",
  "node 'first' (zoo::Twice): the size of output 0 overflows",
  return says_shape(call, 1, INT64_MAX))
ANIMAL(INFER, infer_petabytes, USE,
  "an output of 4 PB",
  "model: memory for a run cannot be had: * bytes",
  return says_shape(call, 1, INT64_C(1) << 50))
ANIMAL(INFER, infer_rank_1000, USE,
  "rank 1000",
  "node 'first' (zoo::Twice): output 0 would have rank 1000; the limit is 8",
  return says_shape(call, 1000, 1))
ANIMAL(INFER, infer_rank_minus_5, USE,
  "rank -5",
  "node 'first' (zoo::Twice): output 0 would have rank -5; the limit is 8",
  return says_shape(call, -5, 1))
ANIMAL(INFER, infer_dtype_unknown, USE,
  "a dtype that nobody knows",
  "node 'first' (zoo::Twice): inference gave output 0 dtype 999, which is none",
  says_shape(call, 1, 4); call->outputs[0]->dtype = 999; return TN_OK)
ANIMAL(INFER, infer_dtype_open, USE,
  "a shape, and no dtype",
  "node 'first' (zoo::Twice): inference left the type of output 0 open",
  says_shape(call, 1, 4); call->outputs[0]->dtype = TN_NONE; return TN_OK)
ANIMAL(INFER, infer_dtype_rule, USE,
  "a dtype that the operator's own rule excludes",
  "node 'first' (zoo::Twice): not supported: output 'Y' of type i64",
  says_shape(call, 1, 4); call->outputs[0]->dtype = TN_I64; return TN_OK)
ANIMAL(INFER, infer_dtype_differs, USE,
  "another dtype than the input, which the rule binds it to",
  "node 'first' (zoo::Twice): 'Y' is f64 but 'X' is f32; they must have the same type (T)",
  says_shape(call, 1, 4); call->outputs[0]->dtype = TN_F64; return TN_OK)
ANIMAL(INFER, infer_nothing, USE,
  "it never fills in its output",
  "node 'first' (zoo::Twice): not supported: operator zoo::Twice version 1 with types f32[4] -> "
  "f32[...]; twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered no "
  "TN_PLAN_DATA_DEPENDENT, but inference left a shape open",
  return TN_OK)
ANIMAL(INFER, infer_kind_unknown, USE,
  "a kind of value that nobody knows",
  "node 'first' (zoo::Twice): inference gave output 0 kind 77, which is none",
  says_shape(call, 1, 4); call->outputs[0]->kind = 77; return TN_OK)
ANIMAL(INFER, infer_positive, USE,
  "it answers 7",
  "node 'first' (zoo::Twice): inference failed: it answered 7, which is no status it may answer",
  says_shape(call, 1, 4); return 7)
ANIMAL(INFER, infer_unknown, USE,
  "it answers a code that is none",
  "node 'first' (zoo::Twice): inference failed: it answered -77, which is no status it may "
  "answer",
  says_shape(call, 1, 4); return -77)
ANIMAL(INFER, infer_fails_text, USE,
  "it fails and says why",
  "node 'first' (zoo::Twice): X is not to my liking",
  return fails(call, TN_ERR_SHAPE, "X is not to my liking"))
ANIMAL(INFER, infer_fails_silent, USE,
  "it fails and says nothing",
  "node 'first' (zoo::Twice): inference failed: TN_ERR_SHAPE: shapes or dtypes do not fit "
  "together",
  return TN_ERR_SHAPE)
ANIMAL(INFER, infer_says_and_works, WORKS,
  "it says that something failed, and goes on",
  "node 'first' (zoo::Twice): oh",
  fails(call, TN_ERR_SHAPE, "oh"); return says_shape(call, 1, 4))
ANIMAL(INFER, infer_fail_null, USE,
  "it fails with a NULL format",
  "node 'first' (zoo::Twice): inference failed: TN_ERR_SHAPE: shapes or dtypes do not fit "
  "together",
  return call->host->fail(call->ctx, TN_ERR_SHAPE, NULL))
ANIMAL(INFER, infer_needs_nothing, USE,
  "it needs data, and does not say of which input",
  "node 'first' (zoo::Twice): inference asks for data without saying of which input",
  return TN_NEEDS_DATA)
ANIMAL(INFER, infer_needs_input_9, USE,
  "it needs the data of an input that it does not have",
  "node 'first' (zoo::Twice): inference asks for data without saying of which input",
  call->host->needs_data(call->ctx, 9); return TN_NEEDS_DATA)
ANIMAL(INFER, infer_never_content, USE,
  "it needs data, and has them already",
  "model: an operator asks for the data of input 'x', which it was given",
  return call->host->needs_data(call->ctx, 0))
ANIMAL(INFER, infer_layout, WORKS,
  "a layout that nobody knows",
  "",
  says_shape(call, 1, 4); call->outputs[0]->layout = 777; return TN_OK)
ANIMAL(INFER, infer_data, WORKS,
  "an output with data at an address where nothing is",
  "",
  says_shape(call, 1, 4); call->outputs[0]->data = (void *)(uintptr_t)8; return TN_OK)
ANIMAL(INFER, infer_changes_inputs, WORKS,
  "it writes into the types of its inputs",
  "",
  tn_tensor *x = (tn_tensor *)(uintptr_t)call->inputs[0]; says_shape(call, 1, 4); x->rank = 1000;
  x->dtype = 999; return TN_OK)
ANIMAL(INFER, infer_resizes, USE,
  "it asks for a service that is there only while running",
  "node 'first' (zoo::Twice): calls the host's output_resize, which is there only while running",
  return call->host->output_resize(call->ctx, 0, 0, NULL))
ANIMAL(INFER, infer_subgraph, USE,
  "it asks for a subgraph that is not there",
  "node 'first' (zoo::Twice): asks for subgraph 5 of 0",
  return call->host->subgraph_infer(call->ctx, 5, 0, NULL, 0, NULL))
ANIMAL(INFER, infer_subgraph_shape, USE,
  "it asks for the inputs of a subgraph that is not there",
  "node 'first' (zoo::Twice): asks for subgraph -1 of 0",
  uint32_t n, m; return call->host->subgraph_shape(call->ctx, -1, &n, &m))
ANIMAL(INFER, infer_differs, VET,
  "it answers another shape each time",
  "zoo: op 'zoo::Twice', inference of *: inference is not pure: output Y is f32[1], then f32[2]",
  static int64_t n; return says_shape(call, 1, ++n))
ANIMAL(FLOPS, flops_nan, WORKS,
  "NaN operations",
  "",
  *out_flops = NAN; return TN_OK)
ANIMAL(FLOPS, flops_negative, WORKS,
  "less than none operations",
  "",
  *out_flops = -1e300; return TN_OK)
ANIMAL(FLOPS, flops_infinite, WORKS,
  "infinitely many operations",
  "",
  *out_flops = INFINITY; return TN_OK)
ANIMAL(FLOPS, flops_fails, WORKS,
  "it fails",
  "",
  return TN_ERR_INTERNAL)
ANIMAL(FLOPS, flops_unknown, WORKS,
  "it answers a code that is none",
  "",
  *out_flops = 1; return 77)
ANIMAL(EPILOGUE, epilogue_kind, WORKS,
  "a step that nobody knows",
  "",
  out->kind = 999; return TN_OK)
ANIMAL(EPILOGUE, epilogue_none, WORKS,
  "no step",
  "",
  out->kind = TN_EPILOGUE_NONE; return TN_OK)
ANIMAL(EPILOGUE, epilogue_operand, WORKS,
  "an operand that is not there",
  "",
  out->kind = TN_EPILOGUE_ADD; out->input = 55; return TN_OK)
ANIMAL(EPILOGUE, epilogue_fails, WORKS,
  "it fails",
  "",
  return TN_ERR_INTERNAL)
ANIMAL(EPILOGUE, epilogue_positive, WORKS,
  "it answers 7",
  "",
  out->kind = TN_EPILOGUE_RELU; return 7)
ANIMAL(LOWER, lower_nothing, WORKS,
  "it replaces nothing",
  "",
  return TN_OK)
ANIMAL(LOWER, lower_cycle, USE,
  "a node that reads what it writes",
  "node 'added' (zoo::Twice) depends on itself: the graph has a cycle",
  int32_t v = API->value(graph, NULL); add(API, graph, "Twice", 1, &v, 1, &v); return
  API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_cycle_two, USE,
  "two nodes that read each other",
  "node 'added' (zoo::Twice) depends on itself: the graph has a cycle",
  int32_t a = API->value(graph, NULL), b = API->value(graph, NULL); add(API, graph, "Twice", 1,
  &a, 1, &b); add(API, graph, "Twice", 1, &b, 1, &a); return API->replace_node(graph, node, &a, 1))
ANIMAL(LOWER, lower_to_itself, USE,
  "it becomes itself, for ever",
  "node 'added' (zoo::Twice): lowering comes to no end: the graph has grown to * nodes",
  int32_t v = API->value(graph, NULL); add(API, graph, "Twice", 1, API->node(graph, node)->inputs,
  1, &v); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_unknown_op, USE,
  "a node of an operator that nobody offers",
  "node 'added' (zoo::Thrice): not supported: operator zoo::Thrice; no plug-in offers it",
  int32_t v = API->value(graph, NULL); add(API, graph, "Thrice", 1, API->node(graph,
  node)->inputs, 1, &v); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_arity, USE,
  "a node with three inputs where the schema has one",
  "node 'added' (zoo::Twice) has 3 inputs; the operator takes at most 1",
  int32_t v = API->value(graph, NULL), x = API->node(graph, node)->inputs[0]; int32_t in[] = {x,
  x, x}; add(API, graph, "Twice", 3, in, 1, &v); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_no_source, USE,
  "its output comes from a value that nobody makes",
  "node 'first' (zoo::Twice): lowering replaces a value by one that nothing makes",
  int32_t v = API->value(graph, NULL); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_type, USE,
  "its output becomes a constant of another dtype",
  "node 'first' (zoo::Twice): lowering replaces a value of type f32[4] by one of type i64[4]",
  int64_t n[4] = {1, 2, 3, 4}; tn_tensor t = {.head = TN_HEAD(tn_tensor), .data = n, .dtype =
  TN_I64, .rank = 1, .shape = {4}}; int32_t v = API->value(graph, NULL);
  API->value_set_const(graph, v, &t, 1); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_shape, USE,
  "its output becomes a constant of another shape",
  "node 'first' (zoo::Twice): lowering replaces a value of type f32[4] by one of type f32[2]",
  float n[2] = {1, 2}; tn_tensor t = {.head = TN_HEAD(tn_tensor), .data = n, .dtype = TN_F32,
  .rank = 1, .shape = {2}}; int32_t v = API->value(graph, NULL); API->value_set_const(graph, v,
  &t, 1); return API->replace_node(graph, node, &v, 1))
ANIMAL(LOWER, lower_ids, USE,
  "values and nodes that are not there",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; what replaces a value is no "
  "value of the graph",
  int32_t v[] = {999}; API->remove_node(graph, 999); API->replace_value(graph, -3, 12345); return
  API->replace_node(graph, node, v, 1))
ANIMAL(LOWER, lower_null, USE,
  "NULL wherever a pointer is wanted",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; replace_node: no such node, "
  "or values is NULL",
  API->add_node(graph, NULL); API->value_set_type(graph, 0, NULL); API->value_set_const(graph, 0,
  NULL, 1); API->set_meta(graph, NULL, NULL); API->set_opset(graph, NULL, 1); API->value(graph,
  NULL); return API->replace_node(graph, node, NULL, 5))
ANIMAL(LOWER, lower_removes_foreign, USE,
  "it removes all nodes",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_STATE: *; a node whose outputs are in use "
  "cannot be removed",
  for (int32_t k = 0; k < 9; k++) if (k != node) API->remove_node(graph, k); return
  API->remove_node(graph, node))
ANIMAL(LOWER, lower_cuts_foreign, VET,
  "what reads its output reads its input, and it stays",
  "zoo: op 'zoo::Twice', session *: Y[0,0] is 1, expected 2 *",
  return API->replace_value(graph, API->node(graph, node)->outputs[0], API->node(graph,
  node)->inputs[0]))
ANIMAL(LOWER, lower_adds_output, USE,
  "the model gets another output",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_STATE: *; inputs and outputs of the graph "
  "cannot be changed here",
  return API->add_output(graph, API->node(graph, node)->inputs[0]))
ANIMAL(LOWER, lower_adds_input, USE,
  "the model gets another input",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_STATE: *; inputs and outputs of the graph "
  "cannot be changed here",
  int32_t v = API->value(graph, "more"); return API->add_input(graph, v))
ANIMAL(LOWER, lower_input_const, USE,
  "the model's input becomes a constant",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_STATE: *; inputs and outputs of the graph "
  "cannot be changed here",
  float n[4] = {1, 2, 3, 4}; tn_tensor t = {.head = TN_HEAD(tn_tensor), .data = n, .dtype =
  TN_F32, .rank = 1, .shape = {4}}; return API->value_set_const(graph, API->input(graph, 0), &t,
  1))
ANIMAL(LOWER, lower_input_type, USE,
  "the model's input gets another type",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_STATE: *; inputs and outputs of the graph "
  "cannot be changed here",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_I64, .rank = 1, .shape = {2}}; return
  API->value_set_type(graph, API->input(graph, 0), &t))
ANIMAL(LOWER, lower_positive, USE,
  "it answers 7",
  "node 'first' (zoo::Twice): lowering failed: it answered 7, which is no status it may answer",
  return 7)
ANIMAL(LOWER, lower_unknown, USE,
  "it answers a code that is none",
  "node 'first' (zoo::Twice): lowering failed: it answered -77, which is no status it may answer",
  return -77)
ANIMAL(LOWER, lower_fails_text, USE,
  "it fails and says why",
  "node 'first' (zoo::Twice): by must be 2",
  return fails(call, TN_ERR_UNSUPPORTED - 1, "by must be 2"))
ANIMAL(LOWER, lower_region_outside, USE,
  "a region that reads past its input",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: a region leaves "
  "its input or output",
  const tn_region r = {.head = TN_HEAD(tn_region), .rank = 1, .size = {400}, .src_stride = {1},
  .dst_stride = {1}}; const tn_region *rs[] = {&r}; return API->set_regions(graph, node,
  API->node(graph, node)->inputs, 1, rs, 1, -1))
ANIMAL(LOWER, lower_region_overlap, USE,
  "two regions that write one element",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: two regions "
  "write one element",
  const tn_region r = {.head = TN_HEAD(tn_region), .rank = 1, .size = {4}, .src_stride = {1},
  .dst_stride = {1}}; const tn_region *rs[] = {&r, &r}; return API->set_regions(graph, node,
  API->node(graph, node)->inputs, 1, rs, 2, -1))
ANIMAL(LOWER, lower_region_overflow, USE,
  "a region whose strides overflow",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: a region leaves "
  "its input or output",
  const tn_region r = {.head = TN_HEAD(tn_region), .rank = 2, .size = {4, 4}, .src_stride =
  {INT64_MAX, INT64_MAX}, .dst_stride = {1, INT64_MIN}}; const tn_region *rs[] = {&r}; return
  API->set_regions(graph, node, API->node(graph, node)->inputs, 1, rs, 1, -1))
ANIMAL(LOWER, lower_region_rank, USE,
  "a region of rank 1000",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: the rank or a "
  "size of a region is none",
  const tn_region r = {.head = TN_HEAD(tn_region), .rank = 1000, .size = {4}}; const tn_region
  *rs[] = {&r}; return API->set_regions(graph, node, API->node(graph, node)->inputs, 1, rs, 1, -1))
ANIMAL(LOWER, lower_region_input, USE,
  "a region of an input that is not there",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: a region is "
  "NULL, or its input none",
  const tn_region r = {.head = TN_HEAD(tn_region), .input = 7, .rank = 1, .size = {4}, .src_stride
  = {1}, .dst_stride = {1}}; const tn_region *rs[] = {&r}; return API->set_regions(graph, node,
  API->node(graph, node)->inputs, 1, rs, 1, -1))
ANIMAL(LOWER, lower_region_fill, USE,
  "what regions leave out is filled from an input that is not there",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: no such node, a "
  "table is NULL, or fill is no input",
  const tn_region r = {.head = TN_HEAD(tn_region), .rank = 1, .size = {2}, .src_stride = {1},
  .dst_stride = {1}}; const tn_region *rs[] = {&r}; return API->set_regions(graph, node,
  API->node(graph, node)->inputs, 1, rs, 1, 9))
ANIMAL(LOWER, lower_region_null, USE,
  "regions that are NULL",
  "node 'first' (zoo::Twice): lowering failed: TN_ERR_INVALID: *; set_regions: a region is "
  "NULL, or its input none",
  const tn_region *rs[] = {NULL}; return API->set_regions(graph, node, API->node(graph,
  node)->inputs, 1, rs, 1, -1))
ANIMAL(REWRITE, rewrite_endless, USE,
  "each node becomes another of its kind, for ever",
  "node 'added' (zoo::Twice): rewriting comes to no end: the graph has grown to * nodes",
  int32_t v = API->value(graph, NULL); add(API, graph, "Twice", 1, API->node(graph, node)->inputs,
  1, &v); return API->replace_node(graph, node, &v, 1))
ANIMAL(REWRITE, rewrite_cycle, USE,
  "the first node reads what the second writes",
  "node 'first' (zoo::Twice) depends on itself: the graph has a cycle",
  static int done; if (done++) return TN_OK; int32_t y = API->output(graph, 0), v =
  API->value(graph, NULL); add(API, graph, "Twice", 1, &y, 1, &v); return
  API->replace_value(graph, API->input(graph, 0), v))
ANIMAL(REWRITE, rewrite_removes_all, VET,
  "it removes all nodes, used or not",
  "zoo: op 'zoo::Twice', session *: Y[0,0] is 1, expected 2 *",
  int32_t x = API->input(graph, 0); for (int32_t k = 0; k < 9; k++) if (API->node(graph, k))
  API->replace_node(graph, k, &x, 1); return TN_OK)
ANIMAL(REWRITE, rewrite_positive, USE,
  "it answers 7",
  "node 'first' (zoo::Twice): rewrite 'twice_away' failed: it answered 7, which is no status it "
  "may answer",
  return 7)
ANIMAL(REWRITE, rewrite_unknown, USE,
  "it answers a code that is none",
  "node 'first' (zoo::Twice): rewrite 'twice_away' failed: it answered -77, which is no status "
  "it may answer",
  return -77)
ANIMAL(REWRITE, rewrite_fails_text, USE,
  "it fails and says why",
  "node 'first' (zoo::Twice): no rewriting on Sundays",
  return fails(call, TN_ERR_INTERNAL, "no rewriting on Sundays"))
ANIMAL(REWRITE, rewrite_type, USE,
  "the output becomes a constant of another dtype",
  "node 'first' (zoo::Twice): rewrite 'twice_away' replaces a value of type f32[4] by one of "
  "type i64[4]",
  int64_t n[4] = {1, 2, 3, 4}; tn_tensor t = {.head = TN_HEAD(tn_tensor), .data = n, .dtype =
  TN_I64, .rank = 1, .shape = {4}}; int32_t v = API->value(graph, NULL);
  API->value_set_const(graph, v, &t, 1); return API->replace_node(graph, node, &v, 1))
ANIMAL(REFUSE, refuse_empty, USE,
  "an empty reason",
  "*twice_f32_c: refuse() gives an empty reason",
  return "")
ANIMAL(REFUSE, refuse_text, USE,
  "a reason",
  "*twice_f32_c: only on Tuesdays",
  return "only on Tuesdays")
ANIMAL(REFUSE, refuse_endless, USE,
  "a reason of 100000 letters",
  "*twice_f32_c: aaaaaaaaaaaa*",
  return endless)
ANIMAL(PLAN, plan_scratch, USE,
  "scratch of 2^63 bytes",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered scratch or state of more "
  "than 64 TiB",
  plan->scratch_bytes = UINT64_C(1) << 63; return TN_OK)
ANIMAL(PLAN, plan_scratch_wraps, USE,
  "scratch that becomes nothing when it is rounded up",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered scratch or state of more "
  "than 64 TiB",
  plan->worker_scratch_bytes = UINT64_MAX; return TN_OK)
ANIMAL(PLAN, plan_scratch_32t, USE,
  "scratch of 32 TiB",
  "model: memory for a run cannot be had: * bytes",
  plan->scratch_bytes = UINT64_C(1) << 45; return TN_OK)
ANIMAL(PLAN, plan_state, USE,
  "a state of 2^63 bytes",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered scratch or state of more "
  "than 64 TiB",
  plan->state_bytes = UINT64_C(1) << 63; return TN_OK)
ANIMAL(PLAN, plan_state_32t, USE,
  "a state of 32 TiB",
  "kernel 'twice_f32_c': no memory for 35184372088832 bytes of prepared constants",
  plan->state_bytes = UINT64_C(1) << 45; return TN_OK)
ANIMAL(PLAN, plan_no_stage, USE,
  "no stages",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered a number of stages that is "
  "not 1 to 8",
  plan->n_stages = 0; return TN_OK)
ANIMAL(PLAN, plan_1000_stages, USE,
  "1000 stages",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered a number of stages that is "
  "not 1 to 8",
  plan->n_stages = 1000; return TN_OK)
ANIMAL(PLAN, plan_items_negative, USE,
  "-5 items",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered a negative number of items",
  plan->items[0] = -5; return TN_OK)
ANIMAL(PLAN, plan_items_elementwise, USE,
  "element-wise, with more items than the output has elements",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered items for an element-wise "
  "run that are not the elements of output 0",
  plan->items[0] = 400; plan->flags = TN_PLAN_ELEMENTWISE; return TN_OK)
ANIMAL(PLAN, plan_elements_per_item, USE,
  "items that write more elements than the output has",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered items and "
  "elements_per_item that do not add up to output 0",
  plan->items[0] = 4; plan->elements_per_item = INT64_MAX; return TN_OK)
ANIMAL(PLAN, plan_elements_negative, USE,
  "items of -4 elements",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered negative elements_per_item",
  plan->items[0] = 4; plan->elements_per_item = -4; return TN_OK)
ANIMAL(PLAN, plan_dynamic_items, USE,
  "several items for a run that says its shape",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered several items for a "
  "data-dependent run",
  plan->items[0] = 4; plan->flags = TN_PLAN_DATA_DEPENDENT; return TN_OK)
ANIMAL(PLAN, plan_flags, USE,
  "flags that nobody knows",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered flags that this host does "
  "not know",
  twice_plan(call, plan); plan->flags |= 1u << 30; return TN_OK)
ANIMAL(PLAN, plan_grain, WORKS,
  "a grain of less than one item",
  "",
  twice_plan(call, plan); plan->grain[0] = INT64_MIN; return TN_OK)
ANIMAL(PLAN, plan_in_place, WORKS,
  "output 0 may share memory with input 99, output 1 with input -7",
  "",
  twice_plan(call, plan); plan->in_place[0] = 99; plan->in_place[1] = -7; plan->in_place[7] = 0;
  return TN_OK)
ANIMAL(PLAN, plan_cost_nan, WORKS,
  "a cost of NaN",
  "",
  twice_plan(call, plan); plan->cost_ns = NAN; return TN_OK)
ANIMAL(PLAN, plan_cost_negative, WORKS,
  "it costs less than nothing",
  "",
  twice_plan(call, plan); plan->cost_ns = -1e300; return TN_OK)
ANIMAL(PLAN, plan_cost_infinite, WORKS,
  "it takes for ever",
  "",
  twice_plan(call, plan); plan->cost_ns = INFINITY; return TN_OK)
ANIMAL(PLAN, plan_positive, USE,
  "it answers 7",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered an unknown status",
  twice_plan(call, plan); return 7)
ANIMAL(PLAN, plan_unknown, USE,
  "it answers a code that is none",
  "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered an unknown status",
  return -77)
ANIMAL(PLAN, plan_fails_text, USE,
  "it fails and says why",
  "*twice_f32_c: plan() fails: node 'first' (zoo::Twice): not in this weather",
  return fails(call, TN_ERR_UNSUPPORTED, "not in this weather"))
ANIMAL(PLAN, plan_fails_silent, USE,
  "it fails and says nothing",
  "*twice_f32_c: plan() fails: TN_ERR_UNSUPPORTED: well-formed, but not supported",
  return TN_ERR_UNSUPPORTED)
ANIMAL(PLAN, plan_head, WORKS,
  "it overwrites the head of what it fills in",
  "",
  twice_plan(call, plan); memset(&plan->head, 0xff, sizeof plan->head); return TN_OK)
ANIMAL(PLAN, plan_changes_inputs, WORKS,
  "it writes into the types of its inputs",
  "",
  tn_tensor *x = (tn_tensor *)(uintptr_t)call->inputs[0]; twice_plan(call, plan); x->shape[0] =
  -1; x->dtype = 999; return TN_OK)
ANIMAL(PREPARE, prepare_fails_text, USE,
  "it fails and says why",
  "node 'first' (zoo::Twice): the weights are spoilt",
  return fails(call, TN_ERR_INTERNAL, "the weights are spoilt"))
ANIMAL(PREPARE, prepare_fails_silent, USE,
  "it fails and says nothing",
  "kernel 'twice_f32_c': prepare() fails: TN_ERR_INTERNAL: a bug in Tenon or in a plug-in",
  return TN_ERR_INTERNAL)
ANIMAL(PREPARE, prepare_positive, USE,
  "it answers 7",
  "kernel 'twice_f32_c': prepare() fails: it answered 7, which is no status it may answer",
  return 7)
ANIMAL(PREPARE, prepare_unknown, USE,
  "it answers a code that is none",
  "kernel 'twice_f32_c': prepare() fails: it answered -77, which is no status it may answer",
  return -77)
ANIMAL(PREPARE, prepare_alloc_all, USE,
  "it wants all memory there is",
  "kernel 'twice_f32_c': prepare() fails: TN_ERR_MEMORY: memory could not be had",
  return call->host->alloc(call->ctx, UINT64_MAX - 5) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(RUN, run_fails_text, USE,
  "it fails and says why",
  "node 'first' (Twice), kernel 'twice_f32_c': a wheel came off",
  return fails(call, TN_ERR_INTERNAL, "a wheel came off"))
ANIMAL(RUN, run_fails_silent, USE,
  "it fails and says nothing",
  "node 'first' (Twice), kernel 'twice_f32_c': TN_ERR_CANCELLED: the user asked to stop",
  return TN_ERR_CANCELLED)
ANIMAL(RUN, run_positive, USE,
  "it answers 7",
  "node 'first' (Twice), kernel 'twice_f32_c': it answered 7, which is no status it may answer",
  return 7)
ANIMAL(RUN, run_unknown, USE,
  "it answers a code that is none",
  "node 'first' (Twice), kernel 'twice_f32_c': it answered -77, which is no status it may answer",
  return -77)
ANIMAL(RUN, run_needs_data, USE,
  "it answers a code of inference",
  "node 'first' (Twice), kernel 'twice_f32_c': it answered -20, which is no status it may answer",
  return TN_NEEDS_DATA)
ANIMAL(RUN, run_fail_control, USE,
  "it says what moves the cursor of a terminal, and is no UTF-8",
  "node 'first' (Twice), kernel 'twice_f32_c': ?[2J? gone ??",
  return fails(call, TN_ERR_INTERNAL, "\x1b[2J\x9b gone \xc2\x9b"))
ANIMAL(RUN, run_fail_null, USE,
  "it fails with a NULL format",
  "node 'first' (Twice), kernel 'twice_f32_c': TN_ERR_INTERNAL: a bug in Tenon or in a plug-in",
  return call->host->fail(call->ctx, TN_ERR_INTERNAL, NULL))
ANIMAL(RUN, run_fail_endless, USE,
  "it fails with a text of 100000 letters",
  "node 'first' (Twice), kernel 'twice_f32_c': aaaaaaaaaaaa*",
  return fails(call, TN_ERR_INTERNAL, endless))
ANIMAL(RUN, run_says_and_works, WORKS,
  "it says that something failed, and goes on",
  "",
  fails(call, TN_ERR_INTERNAL, "oh"); return whole_run(call))
ANIMAL(RUN, run_resizes, USE,
  "it resizes an output that has a shape already",
  "node 'first' (Twice), kernel 'twice_f32_c': output 0 becomes f32[400], planned is f32[4]",
  static const int64_t shape[] = {400}; return call->host->output_resize(call->ctx, 0, 1, shape))
ANIMAL(RUN, run_string_set, USE,
  "it sets a string in an output of numbers",
  "node 'first' (Twice), kernel 'twice_f32_c': string_set of output 0, which holds no strings",
  return call->host->string_set(call->ctx, 0, 0, "x", 1))
ANIMAL(RUN, run_string_output, USE,
  "it sets a string in an output that it does not have",
  "node 'first' (Twice), kernel 'twice_f32_c': string_set of output 77, but there are 1",
  return call->host->string_set(call->ctx, 77, 0, "x", 1))
ANIMAL(RUN, run_subgraph, USE,
  "it runs a subgraph that is not there",
  "node 'first' (Twice), kernel 'twice_f32_c': there is no subgraph 7, the node has 0",
  return call->host->subgraph_run(call->ctx, 7, 0, NULL, 0, NULL))
ANIMAL(RUN, run_list, USE,
  "it opens a tensor as a list",
  "node 'first' (Twice), kernel 'twice_f32_c': TN_ERR_INVALID: an argument, file or descriptor "
  "breaks a rule",
  return call->host->list_item(call->ctx, call->inputs[0], 0) ? TN_OK : TN_ERR_INVALID)
ANIMAL(RUN, run_list_size, WORKS,
  "it asks for the size of a list that is NULL",
  "",
  call->host->list_size(call->ctx, NULL); return whole_run(call))
ANIMAL(RUN, run_list_append, USE,
  "it appends to a tensor",
  "node 'first' (Twice), kernel 'twice_f32_c': list_append to output 0: it is no list",
  return call->host->list_append(call->ctx, 0, call->inputs[0]))
ANIMAL(RUN, run_release, WORKS,
  "it releases a value that is not its own",
  "",
  call->host->value_release(call->ctx, NULL); call->host->value_release(call->ctx,
  call->inputs[0]); return whole_run(call))
ANIMAL(RUN, run_free_null, WORKS,
  "it frees NULL",
  "",
  call->host->free(call->ctx, NULL); return whole_run(call))
ANIMAL(RUN, run_extension, WORKS,
  "it asks for a service without a name",
  "",
  call->host->get_extension(call->ctx, NULL); return whole_run(call))
ANIMAL(RUN, run_output_set_null, USE,
  "its output becomes NULL",
  "node 'first' (Twice), kernel 'twice_f32_c': output_set of output 0 to nothing",
  return call->host->output_set(call->ctx, 0, NULL))
ANIMAL(INFER, infer_subgraphs_null, USE,
  "it asks for the types of a subgraph without room for them",
  "node 'first' (zoo::Twice): asks for subgraph 0 of 0",
  return call->host->subgraph_infer(call->ctx, 0, 1, NULL, 1, NULL))
ANIMAL(DYNAMIC, dynamic_nothing, USE,
  "it never says its shape",
  "node 'first' (Twice), kernel 'twice_f32_c': gave output 0 no shape",
  return TN_OK)
ANIMAL(DYNAMIC, dynamic_rank, USE,
  "rank 1000",
  "node 'first' (Twice), kernel 'twice_f32_c': output_resize of output 0 to rank 1000",
  static const int64_t shape[8]; return call->host->output_resize(call->ctx, 0, 1000, shape))
ANIMAL(DYNAMIC, dynamic_negative, USE,
  "a dim of -4",
  "node 'first' (Twice), kernel 'twice_f32_c': output_resize of output 0: dim 0 is -4",
  static const int64_t shape[] = {-4}; return call->host->output_resize(call->ctx, 0, 1, shape))
ANIMAL(DYNAMIC, dynamic_overflow, USE,
  "more bytes than 64 bits count",
  "node 'first' (Twice), kernel 'twice_f32_c': output_resize of output 0: TN_ERR_OVERFLOW: a "
  "size is too large or a limit is exceeded",
  static const int64_t shape[] = {INT64_MAX}; return call->host->output_resize(call->ctx, 0, 1,
  shape))
ANIMAL(DYNAMIC, dynamic_petabytes, USE,
  "an output of 4 PB",
  "node 'first' (Twice), kernel 'twice_f32_c': output_resize of output 0: TN_ERR_MEMORY: memory "
  "could not be had",
  static const int64_t shape[] = {INT64_C(1) << 50}; return call->host->output_resize(call->ctx,
  0, 1, shape))
ANIMAL(DYNAMIC, dynamic_output, USE,
  "an output that it does not have",
  "node 'first' (Twice), kernel 'twice_f32_c': output_resize of output 77, but there are 1",
  static const int64_t shape[] = {4}; return call->host->output_resize(call->ctx, 77, 1, shape))
ANIMAL(DYNAMIC, dynamic_null, USE,
  "a shape that is NULL",
  "node 'first' (Twice), kernel 'twice_f32_c': output_resize of output 0 to rank 1",
  return call->host->output_resize(call->ctx, 0, 1, NULL))
ANIMAL(PROBE, probe_million, WORKS,
  "it is a million times sure",
  "",
  return 1000000)
ANIMAL(PROBE, probe_negative, USE,
  "it is less than not sure",
  "model in memory: the file is in no format that is registered",
  return -5)
ANIMAL(READ, read_lies, USE,
  "its probe is sure, and it cannot read the file",
  "model in memory: this is no zoo",
  return source->host->fail(source->ctx, TN_ERR_INVALID, "this is no zoo"))
ANIMAL(READ, read_fails_silent, USE,
  "it fails and says nothing",
  "model in memory: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return TN_ERR_INVALID)
ANIMAL(READ, read_positive, USE,
  "it answers 7",
  "model in memory: format zoo: it answered 7, which is no status it may answer",
  return 7)
ANIMAL(READ, read_unknown, USE,
  "it answers a code that is none",
  "model in memory: format zoo: it answered -77, which is no status it may answer",
  return -77)
ANIMAL(READ, read_fail_null, USE,
  "it fails with a NULL format",
  "model in memory: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return source->host->fail(source->ctx, TN_ERR_INVALID, NULL))
ANIMAL(READ, read_empty, USE,
  "a graph with nothing in it",
  "there is no input 0, the model has 0",
  return TN_OK)
ANIMAL(READ, read_ids, USE,
  "a node that reads and writes values that are not there",
  "model in memory: format zoo: TN_ERR_INVALID: *; add_node: an input is no value of the graph",
  int32_t v = 999; zoo_build(api, graph); v = add(api, graph, "Twice", 1, &v, 1, &v); return v < 0
  ? v : TN_OK)
ANIMAL(READ, read_names_null, USE,
  "NULL wherever a name is wanted",
  "model in memory: format zoo: TN_ERR_INVALID: *; add_node: operator, inputs, outputs or attrs "
  "is NULL",
  const tn_node n = {.head = TN_HEAD(tn_node)}; api->value(graph, NULL); api->set_meta(graph,
  NULL, "x"); api->set_meta(graph, "x", NULL); api->set_opset(graph, NULL, 3);
  api->value_set_dim_name(graph, 0, 0, NULL); api->add_function(graph, NULL, NULL, NULL, NULL,
  NULL, 0, NULL, 0); return api->add_node(graph, &n))
ANIMAL(READ, read_no_source, USE,
  "an output that nobody makes",
  "value 'from nowhere', read by the graph's outputs, is not defined: no node, input or "
  "initializer gives it",
  zoo_build(api, graph); return api->add_output(graph, api->value(graph, "from nowhere")))
ANIMAL(READ, read_cycle, USE,
  "two nodes that read each other",
  "node 'added' (zoo::Twice) depends on itself: the graph has a cycle",
  int32_t a = api->value(graph, "a"), b = api->value(graph, "b"); zoo_build(api, graph); add(api,
  graph, "Twice", 1, &a, 1, &b); add(api, graph, "Twice", 1, &b, 1, &a); return
  api->add_output(graph, b))
ANIMAL(READ, read_unknown_op, USE,
  "a node of an operator that nobody offers",
  "node 'added' (zoo::Thrice): not supported: operator zoo::Thrice; no plug-in offers it",
  int32_t x, z = api->value(graph, "z"); zoo_build(api, graph); x = api->value(graph, "x");
  add(api, graph, "Thrice", 1, &x, 1, &z); return api->add_output(graph, z))
ANIMAL(READ, read_huge_const, USE,
  "a constant of 4 PB",
  "model in memory: format zoo: TN_ERR_MEMORY: memory could not be had",
  float f[4] = {0}; tn_tensor t = {.head = TN_HEAD(tn_tensor), .data = f, .dtype = TN_F32, .rank =
  1, .shape = {INT64_C(1) << 50}}; return api->value_set_const(graph, api->value(graph, "c"), &t,
  1))
ANIMAL(READ, read_const_null, USE,
  "a constant without data",
  "model in memory: format zoo: TN_ERR_INVALID: *; value_set_const: the tensor has no data, or "
  "its dtype or size is none",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1, .shape = {4}}; return
  api->value_set_const(graph, api->value(graph, "c"), &t, 0))
ANIMAL(READ, read_const_dtype, USE,
  "a constant of a dtype that nobody knows",
  "model in memory: format zoo: TN_ERR_INVALID: *; value_set_const: the tensor has no data, or "
  "its dtype or size is none",
  float f[4] = {0}; tn_tensor t = {.head = TN_HEAD(tn_tensor), .data = f, .dtype = 999, .rank = 1,
  .shape = {4}}; return api->value_set_const(graph, api->value(graph, "c"), &t, 1))
ANIMAL(READ, read_const_strings, USE,
  "a constant of strings without bytes",
  "model in memory: format zoo: TN_ERR_INVALID: *; value_set_const: the tensor has no data, or "
  "its dtype or size is none",
  tn_str s[4] = {{NULL, 5}, {NULL, -1}, {NULL, 0}, {"x", 1}}; tn_tensor t = {.head =
  TN_HEAD(tn_tensor), .data = s, .dtype = TN_STRING, .rank = 1, .shape = {4}}; return
  api->value_set_const(graph, api->value(graph, "c"), &t, 1))
ANIMAL(READ, read_type_rank, USE,
  "a value of rank 1000",
  "model in memory: format zoo: TN_ERR_INVALID: *; value_set_type: no value, or its dtype, "
  "rank, a dim or kind is none",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1000}; return
  api->value_set_type(graph, api->value(graph, "c"), &t))
ANIMAL(READ, read_type_dim, USE,
  "an input with a dim of -7",
  "model in memory: format zoo: TN_ERR_INVALID: *; value_set_type: no value, or its dtype, "
  "rank, a dim or kind is none",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1, .shape = {-7}};
  zoo_build(api, graph); return api->value_set_type(graph, api->value(graph, "x"), &t))
ANIMAL(READ, read_type_overflow, USE,
  "an input of more bytes than 64 bits count",
  "input 'x': got f32[4], the model takes f32[1099511627776,1099511627776,1099511627776]",
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 3, .shape = {INT64_C(1) <<
  40, INT64_C(1) << 40, INT64_C(1) << 40}}; zoo_build(api, graph); return
  api->value_set_type(graph, api->value(graph, "x"), &t))
ANIMAL(READ, read_input_twice, USE,
  "an input twice",
  "model in memory: format zoo: TN_ERR_STATE: *; add_input: the value is an input, or a node "
  "makes it",
  int32_t x; zoo_build(api, graph); x = api->value(graph, "x"); return api->add_input(graph, x))
ANIMAL(READ, read_outside, USE,
  "a file outside of the model's folder",
  "model in memory: external data '../../../etc/passwd': the path leaves the model's folder",
  const uint8_t *data; uint64_t size; return source->open_sibling(source->ctx,
  "../../../etc/passwd", &data, &size))
ANIMAL(READ, read_outside_absolute, USE,
  "a file by its absolute path",
  "model in memory: external data '/etc/passwd': the path leaves the model's folder",
  const uint8_t *data; uint64_t size; return source->open_sibling(source->ctx, "/etc/passwd",
  &data, &size))
ANIMAL(READ, read_sibling_null, USE,
  "a file without a name",
  "model in memory: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  const uint8_t *data; uint64_t size; return source->open_sibling(source->ctx, NULL, &data, &size))
ANIMAL(READ, read_graph_in_itself, USE,
  "a node whose subgraph is the graph that it stands in",
  "model in memory: format zoo: TN_ERR_INVALID: *; add_node: an attribute has no name or data, "
  "or holds the graph itself",
  tn_graph *gs[] = {graph}; tn_attr a = {.head = TN_HEAD(tn_attr), .name = "body", .kind =
  TN_ATTR_GRAPH, .graphs = gs, .n_graphs = 1}; const tn_attr *as[] = {&a}; int32_t x, z =
  api->value(graph, "z"); tn_node n = {.head = TN_HEAD(tn_node), .domain = "zoo", .op = "Twice",
  .name = "loop", .n_inputs = 1, .n_outputs = 1, .n_attrs = 1, .inputs = &x, .outputs = &z, .attrs
  = as, .offset = -1}; zoo_build(api, graph); x = api->value(graph, "x"); if (api->add_node(graph,
  &n) < 0) return TN_ERR_INVALID; return api->add_output(graph, z))
ANIMAL(READ, read_function_in_itself, USE,
  "a function whose body is the graph that it belongs to",
  "model in memory: format zoo: TN_ERR_INVALID: *; add_function: no name, or a body that "
  "subgraph_new() of this graph did not make",
  zoo_build(api, graph); return api->add_function(graph, "zoo", "F", "", graph, NULL, 0, NULL, 0))
ANIMAL(READ, read_attr_kind, USE,
  "an attribute of a kind that nobody knows",
  "node 'odd' (zoo::Twice): attribute 'by' is of the wrong kind",
  tn_attr a = {.head = TN_HEAD(tn_attr), .name = "by", .kind = 77}; const tn_attr *as[] = {&a};
  int32_t x, z = api->value(graph, "z"); tn_node n = {.head = TN_HEAD(tn_node), .domain = "zoo",
  .op = "Twice", .name = "odd", .n_inputs = 1, .n_outputs = 1, .n_attrs = 1, .inputs = &x,
  .outputs = &z, .attrs = as, .offset = -1}; zoo_build(api, graph); x = api->value(graph, "x");
  api->add_node(graph, &n); return api->add_output(graph, z))
ANIMAL(READ, read_subgraphs_deep, USE, "a graph in a graph in a graph, 100000 times",
  "model in memory: format zoo: TN_ERR_OVERFLOW: *; subgraph_new: graphs are nested more than *",
  int n = 0;
  while (n < 100000 && graph) graph = api->subgraph_new(graph), n++;
  return n < 100000 ? TN_ERR_OVERFLOW : zoo_build(api, graph))
ANIMAL(READ, read_node_short, USE, "a node that ends before its operator",
  "model in memory: format zoo: TN_ERR_INVALID: *; add_node: head.size is too small for a node",
  const tn_node node = {.head = {16, TN_ABI_MAJOR, TN_ABI_MINOR}, .op = "Twice"};
  return api->add_node(graph, &node))
ANIMAL(READ, read_list, USE, "a sequence, for an operator that takes tensors",
  "node 'added' (zoo::Twice): input 0 is sequence of f32*; the operator takes tensors",
  const tn_tensor type = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1, .shape = {4}};
  const int32_t x = api->value(graph, "x"), s = api->value(graph, "s"), y = api->value(graph, "y");
  const tn_node node = {.head = TN_HEAD(tn_node), .op = "SequenceConstruct", .version = 11,
                        .n_inputs = 1, .n_outputs = 1, .inputs = &x, .outputs = &s, .offset = -1};
  api->set_opset(graph, "zoo", 1);
  api->value_set_type(graph, x, &type);
  api->add_input(graph, x);
  api->add_node(graph, &node);
  add(api, graph, "Twice", 1, &s, 1, &y);
  return api->add_output(graph, y))
ANIMAL(READ, read_attr_null, USE,
  "attributes that are counted and NULL",
  "model in memory: format zoo: TN_ERR_INVALID: *; add_node: an attribute has no name or data, "
  "or holds the graph itself",
  const tn_attr *as[] = {NULL}; int32_t x, z = api->value(graph, "z"); tn_node n = {.head =
  TN_HEAD(tn_node), .domain = "zoo", .op = "Twice", .n_inputs = 1, .n_outputs = 1, .n_attrs = 1,
  .inputs = &x, .outputs = &z, .attrs = as, .offset = -1}; zoo_build(api, graph); x =
  api->value(graph, "x"); int32_t id = api->add_node(graph, &n); return id < 0 ? id : TN_OK)
ANIMAL(READ, read_subgraph_of_null, USE,
  "a subgraph of no graph",
  "model in memory: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return api->value(api->subgraph_new(NULL), "x") < 0 ? TN_ERR_INVALID : TN_OK)
ANIMAL(READ, read_version, USE,
  "operator-set version -5",
  "node 'first' (zoo::Twice): not supported: version -5 of operator zoo::Twice; versions from 1 "
  "on are",
  zoo_build(api, graph); return api->set_opset(graph, "zoo", -5))
ANIMAL(WRITE, write_fails_text, USE,
  "it fails and says why",
  "*: the ink has run out",
  return sink->host->fail(sink->ctx, TN_ERR_IO, "the ink has run out"))
ANIMAL(WRITE, write_fails_silent, USE,
  "it fails and says nothing",
  "*: format zoo: TN_ERR_IO: the operating system failed to read or write",
  return TN_ERR_IO)
ANIMAL(WRITE, write_positive, USE,
  "it answers 7",
  "*: format zoo: it answered 7, which is no status it may answer",
  return 7)
ANIMAL(WRITE, write_null, USE,
  "it writes bytes that are not there",
  "*: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return sink->write(sink->ctx, NULL, 5))
ANIMAL(WRITE, write_endless, USE,
  "it writes more than fits",
  "*: format zoo: TN_ERR_INVALID: an argument, file or descriptor breaks a rule",
  return sink->write(sink->ctx, endless, UINT64_MAX))
ANIMAL(RUN, run_output_no_data, USE,
  "it takes the data away from its output",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->data = NULL; return TN_OK)
ANIMAL(RUN, run_output_data, USE,
  "it says that the data of its output is elsewhere",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->data = endless; return TN_OK)
ANIMAL(RUN, run_output_rank, USE,
  "it says that its output has rank 1000",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->rank = 1000; return TN_OK)
ANIMAL(RUN, run_output_shape, USE,
  "it says that its output has 2^50 elements",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->shape[0] = INT64_C(1) << 50; return TN_OK)
ANIMAL(RUN, run_output_dtype, USE,
  "it says that its output is of a dtype that nobody knows",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->dtype = 999; return TN_OK)
ANIMAL(RUN, run_output_kind, USE,
  "it says that its output is a sequence, with an object of its own",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); call->outputs[0]->kind = TN_KIND_SEQUENCE;
  call->outputs[0]->object = (uintptr_t)endless; return TN_OK)
ANIMAL(RUN, run_output_head, USE,
  "it says that its output is a struct of no bytes",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  whole_run(call); memset(&call->outputs[0]->head, 0, sizeof(tn_head)); return TN_OK)
ANIMAL(DYNAMIC, dynamic_output_shape, USE,
  "it changes its output itself, and does not ask for that",
  "node 'first' (Twice), kernel 'twice_f32_c': changes output 0 itself, not only its data",
  call->outputs[0]->rank = 1; call->outputs[0]->shape[0] = 4; call->outputs[0]->data = endless;
  return TN_OK)
ANIMAL(PREPARE, prepare_state, WORKS,
  "it says that its state is elsewhere",
  "",
  ((tn_call *)(uintptr_t)call)->state = endless; ((tn_call *)(uintptr_t)call)->state_bytes = 1;
  return TN_OK)
ANIMAL(PLAN, plan_differs, WORKS,
  "each time it is asked, it plans more items and more memory",
  "",
  static int64_t n; plan->items[0] = 4; plan->grain[0] = 1 + n;
  plan->scratch_bytes = (uint64_t)++n * 64; plan->flags = TN_PLAN_ELEMENTWISE; return TN_OK)
ANIMAL(PLAN, plan_items_huge, USE,
  "2^62 items",
  "node 'first' (zoo::Twice): not supported: *: plan() answered items and elements_per_item that "
  "do not add up to output 0",
  plan->items[0] = INT64_MAX / 2; plan->elements_per_item = 4; return TN_OK)
ANIMAL(REFUSE, refuse_control, USE,
  "a reason that moves the cursor of a terminal",
  "node 'first' (zoo::Twice): not supported: *; twice_f32_c: refuse() gives a reason that is no "
  "text",
  return "\x1b[2Jgone\xff")
ANIMAL(DESCRIPTOR, op_cases_nested, WORKS,
  "a test case that is nested without end",
  "",
  memcpy(endless, "X=f32[2] body=", 14); memset(endless + 14, '{', 60000); endless[60014] = 0;
  cases[0] = endless)
ANIMAL(BIRTH, birth_crashes, VET,
  "it crashes when it is mapped",
  "zoo.so: descriptor, loading: crashed with SIGSEGV in dlopen() (its constructors)*",
  raise(SIGSEGV))
ANIMAL(BIRTH, birth_aborts, VET,
  "it aborts when it is mapped",
  "zoo.so: descriptor, loading: crashed with SIGABRT*in dlopen() (its constructors)*",
  abort())
ANIMAL(BIRTH, birth_exits, VET,
  "it ends the process when it is mapped",
  "zoo.so: descriptor, loading: ended the process in dlopen() (its constructors)*",
  _exit(0))
ANIMAL(BIRTH, birth_loops, VET,
  "mapping it takes for ever",
  "zoo.so: descriptor, loading: hangs in dlopen() (its constructors): ended after *",
  loop_for_ever())
ANIMAL(DESCRIPTOR, query_crashes, VET,
  "tn_plugin_query crashes",
  "zoo.so: descriptor, loading: crashed with SIGSEGV in tn_plugin_query()*",
  raise(SIGSEGV))
ANIMAL(DESCRIPTOR, query_exits, VET,
  "tn_plugin_query ends the process",
  "zoo.so: descriptor, loading: ended the process in tn_plugin_query()*",
  exit(0))
ANIMAL(DESCRIPTOR, query_loops, VET,
  "tn_plugin_query takes for ever",
  "zoo.so: descriptor, loading: hangs in tn_plugin_query(): ended after *",
  loop_for_ever())
ANIMAL(DESCRIPTOR, query_differs, VET,
  "tn_plugin_query answers another table each time",
  "zoo: tn_plugin_query, loading: does not answer the same each time it is asked",
  static tn_plugin other; static int calls; other = plugin; if (calls++ & 1) answer = &other)
ANIMAL(INIT, init_crashes, VET,
  "init crashes",
  "zoo: init and shutdown, once: crashed with SIGSEGV in init()*",
  return raise(SIGSEGV))
ANIMAL(INIT, init_exits, VET,
  "init ends the process",
  "zoo: init and shutdown, once: ended the process in init()*",
  exit(0))
ANIMAL(INIT, init_loops, VET,
  "init takes for ever",
  "zoo: init and shutdown, once: hangs in init(): ended after *",
  return loop_for_ever())
ANIMAL(INIT, init_leaks, VET,
  "nobody gives back what init takes",
  "zoo: init and shutdown, once: *1 blocks of the host's memory are not given back by shutdown()",
  return host->alloc(ctx, 1 << 16) ? TN_OK : TN_ERR_MEMORY)
ANIMAL(INFER, infer_crashes, VET,
  "inference crashes",
  "zoo: op 'zoo::Twice', *: crashed with SIGSEGV in infer()*",
  return raise(SIGSEGV))
ANIMAL(INFER, infer_loops, VET,
  "inference takes for ever",
  "zoo: op 'zoo::Twice', *: hangs in infer(): ended after *",
  return loop_for_ever())
ANIMAL(RUN, run_wrong, VET,
  "the result is a little wrong",
  "zoo: kernel 'twice_f32_c'*: Y[0,0] is 2.002*, expected 2 *",
  whole_run(call); Y_OF(call)[0] *= 1.001f; return TN_OK)
ANIMAL(RUN, run_writes_after, VET,
  "it writes behind its output",
  "zoo: kernel 'twice_f32_c'*crashed with SIGSEGV in run()*, at 0 bytes behind the end of Y",
  whole_run(call); Y_OF(call)[part_elements(call->outputs[0])] = 1; return TN_OK)
ANIMAL(RUN, run_writes_before, VET,
  "it writes before its output",
  "zoo: kernel 'twice_f32_c'*writes outside of output Y",
  whole_run(call); Y_OF(call)[-1] = 1; return TN_OK)
ANIMAL(RUN, run_writes_input, VET,
  "it writes to its input",
  "zoo: kernel 'twice_f32_c'*changes its input X",
  whole_run(call); X_OF(call)[0] = 7; return TN_OK)
ANIMAL(RUN, run_reads_after, VET,
  "it reads behind its input",
  "zoo: kernel 'twice_f32_c'*crashed with SIGSEGV in run()*, at 0 bytes behind the end of X",
  whole_run(call); volatile float f = X_OF(call)[part_elements(call->inputs[0])]; (void)f;
  return TN_OK)
ANIMAL(RUN, run_writes_nothing, VET,
  "it never writes its output",
  "zoo: kernel 'twice_f32_c'*Y[0,0] is *, expected 2 *",
  return TN_OK)
ANIMAL(RUN, run_crashes, VET,
  "it crashes",
  "zoo: kernel 'twice_f32_c'*crashed with SIGFPE in run()*",
  return raise(SIGFPE))
ANIMAL(RUN, run_aborts, VET,
  "it aborts",
  "zoo: kernel 'twice_f32_c'*crashed with SIGABRT*in run()*",
  abort())
ANIMAL(RUN, run_exits, VET,
  "it ends the process",
  "zoo: kernel 'twice_f32_c'*ended the process in run()*",
  exit(0))
ANIMAL(RUN, run_loops, VET,
  "it takes for ever",
  "zoo: kernel 'twice_f32_c'*hangs in run()*",
  return loop_for_ever())
ANIMAL(RUN, run_leaks, VET,
  "nobody gives back what it takes from the host",
  "zoo: kernel 'twice_f32_c'*1 blocks of the host's memory are not given back*",
  call->host->alloc(call->ctx, 4096); return whole_run(call))
ANIMAL(RUN, run_starts_thread, VET,
  "it starts a thread that stays",
  "zoo: kernel 'twice_f32_c'*starts threads: *",
  pthread_t t; pthread_create(&t, NULL, wait_for_ever, NULL); return whole_run(call))
ANIMAL(RUN, run_rounds, VET,
  "it changes how numbers are rounded",
  "zoo: kernel 'twice_f32_c'*rounding*",
  fesetround(FE_UPWARD); return whole_run(call))
ANIMAL(RUN, run_locale, VET,
  "it changes the locale",
  "zoo: kernel 'twice_f32_c'*locale*",
  setlocale(LC_ALL, "C.UTF-8"); return whole_run(call))
ANIMAL(RUN, run_chdir, VET,
  "it changes the working folder",
  "zoo: kernel 'twice_f32_c'*working folder*",
  if (chdir("/")) return TN_ERR_IO; return whole_run(call))
ANIMAL(RUN, run_signal, VET,
  "it changes what a signal does",
  "zoo: kernel 'twice_f32_c'*changes the handler of SIGUSR1*",
  signal(SIGUSR1, SIG_IGN); return whole_run(call))
ANIMAL(DESCRIPTOR, run_ranges, VET,
  "it does not care which range it is given",
  "zoo: kernel 'twice_f32_c'*Y[0,*",
  kernel[0].run = runs_from_zero)
ANIMAL(RUN, run_counts, VET,
  "it is right every other time",
  "zoo: kernel 'twice_f32_c'*Y[0,0] is *",
  static int n; whole_run(call); if (n++ & 1) Y_OF(call)[0] += 1; return TN_OK)
ANIMAL(PROBE, probe_crashes, VET,
  "the probe reads behind the file",
  "zoo: format 'zoo'*crashed with SIGSEGV in probe()*",
  return (int32_t)((volatile const uint8_t *)data)[size + (1 << 20)])
ANIMAL(READ, read_crashes, VET,
  "reading a file crashes",
  "zoo: format 'zoo'*crashed with SIGSEGV in read()*",
  return raise(SIGSEGV))
ANIMAL(READ, read_loops, VET,
  "reading a file takes for ever",
  "zoo: format 'zoo'*hangs in read()*",
  return loop_for_ever())
ANIMAL(DESCRIPTOR, op_case_huge, VET,
  "a test case of four terabytes",
  "zoo: op 'zoo::Twice', *'X' has 4000000000000 bytes, a test has no more than *",
  cases[0] = "X=f32[1000000,1000000]")
ANIMAL(BIRTH, birth_stops, VET,
  "it stops the process, and does not end it",
  "zoo.so: descriptor, loading: hangs in dlopen() (its constructors): ended after *",
  raise(SIGSTOP))
ANIMAL(INIT, init_killed, VET,
  "init raises what cannot be caught",
  "zoo: init and shutdown, once: crashed with SIGKILL (9) in init()*",
  return raise(SIGKILL))
ANIMAL(INIT, init_jumps, VET,
  "init jumps to where nothing is",
  "zoo: init and shutdown, once: crashed with SIG* in init()*",
  static jmp_buf nowhere; longjmp(nowhere, 1))
ANIMAL(DESCRIPTOR, init_keeps_host, VET,
  "it uses the host of the first runtime for all runtimes",
  "zoo: init and shutdown, *: crashed with SIGSEGV in *",
  plugin.init = first_init; plugin.shutdown = first_shutdown)
ANIMAL(INFER, infer_exits, VET,
  "inference ends the process",
  "zoo: op 'zoo::Twice', *: ended the process in infer()*",
  exit(0))
ANIMAL(INFER, infer_jumps, VET,
  "inference jumps to where nothing is",
  "zoo: op 'zoo::Twice', *: crashed with SIG* in infer()*",
  static jmp_buf nowhere; longjmp(nowhere, 1))
ANIMAL(REFUSE, refuse_exits, VET,
  "asked whether it takes a call, it ends the process",
  "zoo: kernel 'twice_f32_c'*ended the process in refuse()*",
  exit(0))
ANIMAL(PLAN, plan_aborts, VET,
  "it aborts when it plans",
  "zoo: kernel 'twice_f32_c'*crashed with SIGABRT*in plan()*",
  abort())
ANIMAL(PREPARE, prepare_exits, VET,
  "it ends the process, without the functions of atexit, when it prepares",
  "zoo: kernel 'twice_f32_c'*ended the process in prepare()*with exit code 3",
  _exit(3))
ANIMAL(DESCRIPTOR, finish_exits, VET,
  "it ends the process when it finishes",
  "zoo: kernel 'twice_f32_c'*ended the process in finish()*",
  kernel[0].plan = stateful_plan; kernel[0].finish = exit_finish)
ANIMAL(RUN, run_terminates, VET,
  "it raises SIGTERM",
  "zoo: kernel 'twice_f32_c'*crashed with SIGTERM (15) in run()*",
  return raise(SIGTERM))
ANIMAL(RUN, run_stops, VET,
  "it stops the process, and does not end it",
  "zoo: kernel 'twice_f32_c'*hangs in run()*",
  return raise(SIGSTOP))
ANIMAL(RUN, run_jumps, VET,
  "it jumps to where nothing is",
  "zoo: kernel 'twice_f32_c'*crashed with SIG* in run()*",
  static jmp_buf nowhere; longjmp(nowhere, 1))
ANIMAL(DESCRIPTOR, run_jumps_back, VET,
  "it jumps out of the call, to where its plan was asked for",
  "zoo: kernel 'twice_f32_c'*",
  kernel[0].plan = placing_plan; kernel[0].run = jumping_run)
ANIMAL(DESCRIPTOR, run_keeps_call, VET,
  "it takes its input from the call that prepare had",
  "zoo: kernel 'twice_f32_c'*crashed with SIGSEGV in run()*of the call of prepare(), which is "
  "not there any more",
  kernel[0].plan = stateful_plan; kernel[0].prepare = keeping_prepare;
  kernel[0].run = kept_input_run)
ANIMAL(DESCRIPTOR, run_keeps_context, VET,
  "it asks for memory through the context that prepare had",
  "zoo: kernel 'twice_f32_c'*crashed with SIGSEGV in run()*of the call of prepare(), which is "
  "not there any more",
  kernel[0].plan = stateful_plan; kernel[0].prepare = keeping_prepare;
  kernel[0].run = kept_ctx_run)
ANIMAL(DESCRIPTOR, finish_inputs, VET,
  "it looks at an input when it finishes",
  "zoo: kernel 'twice_f32_c'*crashed with SIGSEGV in finish()*",
  kernel[0].plan = stateful_plan; kernel[0].finish = input_finish)
ANIMAL(READ, read_aborts, VET,
  "reading a file aborts",
  "zoo: format 'zoo'*crashed with SIGABRT*in read()*",
  abort())
ANIMAL(READ, read_cut, VET,
  "it does not look where the file ends",
  "zoo: format 'zoo', its own file, cut short: crashed with SIGSEGV in read() of the first * of "
  "its 4 bytes, at 0 bytes behind the end of the file",
  if (source->size && ((const volatile uint8_t *)source->data)[source->size - 1] == 'O' &&
  ((const volatile uint8_t *)source->data)[source->size] == 'O') return TN_ERR_INVALID; return
  zoo_build(api, graph))
ANIMAL(WRITE, write_crashes, VET,
  "writing a file crashes",
  "zoo: format 'zoo', write(): crashed with SIGSEGV in write()",
  return raise(SIGSEGV))
