/* Files that are no sound shared libraries: like animals.h. The code changes the bytes of the
 * sound plug-in (f->bytes, f->size), which then go to f->path; or it makes f->path itself and
 * answers with `return`. */
/* clang-format off */

ANIMAL(FILE, file_missing, LOAD, "there is no file", "*zoo.so: there is no such file",
  return)
ANIMAL(FILE, file_empty, LOAD, "an empty file", "*zoo.so: is not a shared library",
  f->size = 0)
ANIMAL(FILE, file_one_byte, LOAD, "a file of one byte", "*zoo.so: is not a shared library",
  f->size = 1)
ANIMAL(FILE, file_text, LOAD, "a text", "*zoo.so: is not a shared library",
  f->size = (uint64_t)sprintf((char *)f->bytes, "INPUT(libc.so.6)\n"))
ANIMAL(FILE, file_magic_only, LOAD, "the first four bytes of a library, then zeros",
  "*zoo.so: was made for a machine of another word size or byte order",
  memset(f->bytes + 4, 0, f->size - 4))
ANIMAL(FILE, file_directory, LOAD, "a folder", "*zoo.so: it is not a regular file",
  mkdir(f->path, 0755); return)
ANIMAL(FILE, file_fifo, LOAD, "a pipe that nobody writes to",
  "*zoo.so: it is not a regular file",
  mkfifo(f->path, 0644); return)
ANIMAL(FILE, file_device, LOAD, "a device, by a symbolic link",
  "/dev/zero: is not loaded: everybody can write it",
  if (symlink("/dev/zero", f->path)) abort(); return)
ANIMAL(FILE, file_link_broken, LOAD, "a symbolic link to nothing", "*zoo.so: there is no such file",
  if (symlink("/nowhere/at/all", f->path)) abort(); return)
ANIMAL(FILE, file_link_loop, LOAD, "a symbolic link to itself", "*zoo.so: there is no such file",
  if (symlink(f->path, f->path)) abort(); return)
ANIMAL(FILE, file_public, LOAD, "a file that everybody can write",
  "*zoo.so: is not loaded: everybody can write it",
  write_file(f); chmod(f->path, 0666); return)
ANIMAL(FILE, file_sparse, LOAD, "10 GB of nothing",
  "*zoo.so: is not loaded: it has 10000000000 bytes*",
  write_file(f); if (truncate(f->path, 10000000000)) abort(); return)
ANIMAL(FILE, file_sparse_text, LOAD, "half a GB that begin with a text",
  "*zoo.so: is not a shared library",
  f->bytes[0] = 'T'; write_file(f); if (truncate(f->path, 1 << 29)) abort(); return)
ANIMAL(FILE, file_program, LOAD, "a program", "*zoo.so: is not a shared library, but a program",
  read_file(f, "/proc/self/exe"))
ANIMAL(FILE, file_uncut, WORKS, "it is cut off after all that is mapped", "",
  f->size = end_of_segments(f))
ANIMAL(FILE, file_cut_header, LOAD, "it is cut off in its header",
  "*zoo.so: is not a shared library", f->size = 40)
ANIMAL(FILE, file_cut_segments, LOAD, "it is cut off in its table of segments",
  "*zoo.so: is damaged: its segment table is not in the file", f->size = 130)
ANIMAL(FILE, file_cut_10, LOAD, "a tenth of it is there", "*zoo.so: is cut off: it has *",
  f->size = end_of_segments(f) / 10)
ANIMAL(FILE, file_cut_50, LOAD, "half of it is there", "*zoo.so: is cut off: it has *",
  f->size = end_of_segments(f) / 2)
ANIMAL(FILE, file_cut_last_byte, LOAD, "the last byte that is mapped is missing",
  "*zoo.so: is cut off: it has *", f->size = end_of_segments(f) - 1)
ANIMAL(FILE, file_section_headers, WORKS,
  "its section headers, which nobody needs, lead nowhere", "",
  header(f)->e_shoff = UINT64_MAX - 7; header(f)->e_shnum = 65535)
ANIMAL(FILE, elf_32_bit, LOAD, "a library for another word size",
  "*zoo.so: was made for a machine of another word size or byte order",
  f->bytes[EI_CLASS] ^= 3)
ANIMAL(FILE, elf_endian, LOAD, "a library for the other byte order",
  "*zoo.so: was made for a machine of another word size or byte order",
  f->bytes[EI_DATA] ^= 3)
ANIMAL(FILE, elf_machine, LOAD, "a library for another processor",
  "*zoo.so: was made for another processor (machine 8)",
  header(f)->e_machine = EM_MIPS)
ANIMAL(FILE, elf_machine_unknown, LOAD, "a library for a processor that is not there",
  "*zoo.so: was made for another processor (machine 65535)",
  header(f)->e_machine = 65535)
ANIMAL(FILE, elf_executable, LOAD, "a program by its header",
  "*zoo.so: is not a shared library, but a program",
  header(f)->e_type = ET_EXEC)
ANIMAL(FILE, elf_object, LOAD, "an object file by its header",
  "*zoo.so: is not a shared library, but an object file",
  header(f)->e_type = ET_REL)
ANIMAL(FILE, elf_core, LOAD, "a core dump by its header",
  "*zoo.so: is not a shared library, but a core dump",
  header(f)->e_type = ET_CORE)
ANIMAL(FILE, elf_version, LOAD, "ELF version 77", "*zoo.so: cannot be loaded: *",
  header(f)->e_version = 77; f->bytes[EI_VERSION] = 77)
ANIMAL(FILE, elf_os, LOAD, "a library for another operating system", "*zoo.so: cannot be loaded: *",
  f->bytes[EI_OSABI] = ELFOSABI_FREEBSD)
ANIMAL(FILE, elf_segments_far, LOAD, "its table of segments is not in the file",
  "*zoo.so: is damaged: its segment table is not in the file",
  header(f)->e_phoff = UINT64_MAX - 7)
ANIMAL(FILE, elf_segments_many, LOAD, "65535 segments",
  "*zoo.so: is damaged: its segment table is not in the file",
  header(f)->e_phnum = 65535)
ANIMAL(FILE, elf_segments_none, LOAD, "no segments", "*zoo.so: is not a shared library",
  header(f)->e_phnum = 0)
ANIMAL(FILE, elf_segments_size, LOAD, "segments of another size",
  "*zoo.so: is damaged: its segment table is not in the file",
  header(f)->e_phentsize = 3)
ANIMAL(FILE, elf_no_dynamic, LOAD, "no dynamic section", "*zoo.so: is not a shared library",
  segment(f, PT_DYNAMIC)->p_type = PT_NULL)
ANIMAL(FILE, elf_no_load, LOAD, "nothing is mapped", "*zoo.so: is not a shared library",
  while (segment(f, PT_LOAD)) segment(f, PT_LOAD)->p_type = PT_NULL)
ANIMAL(FILE, elf_load_past_end, LOAD, "a segment goes on after the end of the file",
  "*zoo.so: is cut off: it has *", last_load(f)->p_filesz = last_load(f)->p_memsz = 1 << 30)
ANIMAL(FILE, elf_load_shrinks, LOAD, "a segment is longer in the file than in memory",
  "*zoo.so: is damaged: the size or address of a segment cannot be right",
  segment(f, PT_LOAD)->p_memsz = 8)
ANIMAL(FILE, elf_load_huge, LOAD, "a segment of 2^62 bytes",
  "*zoo.so: is damaged: the size or address of a segment cannot be right",
  last_load(f)->p_memsz = UINT64_C(1) << 62)
ANIMAL(FILE, elf_load_wraps, LOAD, "a segment that ends after the end of memory",
  "*zoo.so: is damaged: the size or address of a segment cannot be right",
  last_load(f)->p_memsz = UINT64_MAX - 4096)
ANIMAL(FILE, elf_load_overlaps, LOAD, "two segments at one address",
  "*zoo.so: is damaged: two segments overlap", last_load(f)->p_vaddr %= 4096)
ANIMAL(FILE, elf_load_shares, LOAD, "two segments of the same bytes",
  "*zoo.so: is damaged: two segments overlap", segment(f, PT_LOAD)[1].p_offset = 0)
ANIMAL(FILE, elf_load_code, LOAD, "the end of its code is zeros",
  "*zoo.so: is damaged: some of its code is not in the file", segment(f, PT_LOAD)[1].p_filesz = 64)
ANIMAL(FILE, elf_load_align, LOAD, "a segment aligned to 3 bytes",
  "*zoo.so: is damaged: a segment is not aligned as it says", segment(f, PT_LOAD)->p_align = 3)
ANIMAL(FILE, elf_relro_wild, LOAD, "it makes foreign memory read-only",
  "*zoo.so: is damaged: what is to be read-only is not in a segment",
  segment(f, PT_GNU_RELRO)->p_vaddr = UINT64_C(1) << 40)
ANIMAL(FILE, elf_stack, LOAD, "it makes the stacks of all threads executable",
  "*zoo.so: wants an executable stack, so that of every thread of the program would be executable; "
  "link it with -z noexecstack",
  segment(f, PT_GNU_STACK)->p_flags |= PF_X)
ANIMAL(FILE, elf_no_stack, LOAD, "it does not say what stack it needs, which does the same",
  "*zoo.so: says nothing of its stack, so that of every thread of the program would be executable; "
  "link it with -z noexecstack",
  segment(f, PT_GNU_STACK)->p_type = PT_NULL)
ANIMAL(FILE, elf_dynamic_wild, LOAD, "its dynamic section is not in the library",
  "*zoo.so: is damaged: its dynamic section is not in a segment",
  segment(f, PT_DYNAMIC)->p_vaddr = UINT64_C(1) << 40)
ANIMAL(FILE, elf_dynamic_endless, LOAD, "its dynamic section has no end",
  "*zoo.so: is damaged: its dynamic section has no end",
  segment(f, PT_DYNAMIC)->p_memsz = segment(f, PT_DYNAMIC)->p_filesz = 64)
ANIMAL(FILE, elf_strings_wild, LOAD, "its table of strings is not in the library",
  "*zoo.so: is damaged: names outside of the file", entry(f, DT_STRTAB)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_strings_long, LOAD, "its table of strings goes on after the end",
  "*zoo.so: is damaged: names outside of the file", entry(f, DT_STRSZ)->d_un.d_val = 1 << 30)
ANIMAL(FILE, elf_needed_wild, LOAD, "the name of a library that it needs is not in the file",
  "*zoo.so: is damaged: names outside of the file", entry(f, DT_NEEDED)->d_un.d_val = 1 << 30)
ANIMAL(FILE, elf_needed_missing, LOAD, "it needs a library that is not there",
  "*zoo.so: cannot be loaded: libx.so.6: cannot open shared object file*",
  replace(f, "libc.so.6", "libx.so.6"))
ANIMAL(FILE, elf_symbol_undefined, LOAD, "it needs a function that is not there",
  "*zoo.so: cannot be loaded: *undefined symbol: getenw*", replace(f, "getenv", "getenw"))
ANIMAL(FILE, elf_no_query, LOAD, "it does not export tn_plugin_query",
  "*zoo.so: is not a plug-in of Tenon: it does not export tn_plugin_query",
  replace(f, "tn_plugin_query", "tn_plugin_quiet"))
ANIMAL(FILE, elf_query_data, LOAD, "its tn_plugin_query is a variable",
  "*zoo.so: is not a plug-in of Tenon: its tn_plugin_query is no function",
  query_symbol(f)->st_value = last_load(f)->p_vaddr)
ANIMAL(FILE, elf_symbols_wild, LOAD, "its table of symbols is not in the library",
  "*zoo.so: is damaged: a symbol is not in the file", entry(f, DT_SYMTAB)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_symbol_name, LOAD, "the name of a symbol is not in the file",
  "*zoo.so: is damaged: a symbol has no name in the file", query_symbol(f)->st_name = 1 << 30)
ANIMAL(FILE, elf_hash_wild, LOAD, "its hash table is not in the library",
  "*zoo.so: is damaged: its hash table is not in the file",
  entry(f, DT_GNU_HASH)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_hash_none, LOAD, "it has no hash table",
  "*zoo.so: is damaged: it has no table of symbols", entry(f, DT_GNU_HASH)->d_tag = 0x6ffffff0 - 77)
ANIMAL(FILE, elf_hash_empty, LOAD, "its hash table has no buckets",
  "*zoo.so: is damaged: its hash table is not in the file", hash(f)[0] = 0)
ANIMAL(FILE, elf_hash_bloom, LOAD, "the filter of its hash table has 2^31 words",
  "*zoo.so: is damaged: its hash table is not in the file", hash(f)[2] = UINT32_C(1) << 31)
ANIMAL(FILE, elf_hash_bucket, LOAD, "its hash table names a symbol that is not there",
  "*zoo.so: is damaged: *symbol*", hash(f)[4 + 2 * hash(f)[2]] = 1000000)
ANIMAL(FILE, elf_relocations_wild, LOAD, "its relocations are not in the library",
  "*zoo.so: is damaged: a table of relocations is not in the file",
  entry(f, DT_RELA)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_relocations_many, LOAD, "its relocations go on after the end",
  "*zoo.so: is damaged: a table of relocations is not in the file",
  entry(f, DT_RELASZ)->d_un.d_val = 24 << 24)
ANIMAL(FILE, elf_relocation_place, LOAD, "a relocation writes outside of the library",
  "*zoo.so: is damaged: a relocation writes outside of its segments",
  relocation(f)->r_offset = UINT64_C(1) << 40)
ANIMAL(FILE, elf_relocation_symbol, LOAD, "a relocation is of symbol 1000000",
  "*zoo.so: is damaged: a symbol is not in the file",
  relocation(f)->r_info = ELF64_R_INFO(UINT64_C(1000000), ELF64_R_TYPE(relocation(f)->r_info)))
ANIMAL(FILE, elf_init_wild, LOAD, "the function that begins it is not there",
  "*zoo.so: is damaged: a function that begins or ends it is no code",
  entry(f, DT_INIT)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_init_zero, LOAD, "the function that begins it is its header",
  "*zoo.so: is damaged: a function that begins or ends it is no code",
  entry(f, DT_INIT)->d_un.d_ptr = 0)
ANIMAL(FILE, elf_fini_zero, LOAD, "the function that ends it is its header",
  "*zoo.so: is damaged: a function that begins or ends it is no code",
  entry(f, DT_FINI)->d_un.d_ptr = 0)
ANIMAL(FILE, elf_init_array_zero, LOAD, "the functions that begin it are its header",
  "*zoo.so: is damaged: the functions that begin or end it are not in a segment",
  entry(f, DT_INIT_ARRAY)->d_un.d_ptr = 0)
ANIMAL(FILE, elf_hash_zero, LOAD, "its hash table is its header",
  "*zoo.so: is damaged: *", entry(f, DT_GNU_HASH)->d_un.d_ptr = 0)
ANIMAL(FILE, elf_versym_zero, LOAD, "the versions of its symbols are its header",
  "*zoo.so: is damaged: a symbol is of a version that it does not have",
  entry(f, DT_VERSYM)->d_un.d_ptr = 0)
ANIMAL(FILE, elf_versions_zero, LOAD, "the versions that it needs are its header",
  "*zoo.so: is damaged: its table of versions is not in the file",
  entry(f, DT_VERNEED)->d_un.d_ptr = 0)
ANIMAL(FILE, elf_calls_wild, LOAD, "it says of which kind its relocations of calls are, not where",
  "*zoo.so: is damaged: it does not say what size a table has",
  entry(f, DT_JMPREL)->d_tag = 0x6ffffff0 - 77)
ANIMAL(FILE, elf_calls_many, LOAD, "it does not say how many relocations of calls it has",
  "*zoo.so: is damaged: it does not say what size a table has",
  entry(f, DT_PLTRELSZ)->d_tag = 0x6ffffff0 - 77)
ANIMAL(FILE, elf_calls_nowhere, LOAD, "its relocations of calls have a kind, and nothing else",
  "*zoo.so: is damaged: it does not say what size a table has",
  entry(f, DT_JMPREL)->d_tag = 0x6ffffff0 - 77; entry(f, DT_PLTRELSZ)->d_tag = 0x6ffffff0 - 78)
ANIMAL(FILE, elf_calls_none, LOAD, "it has relocations of calls, none of them",
  "*zoo.so: is damaged: it does not say what size a table has",
  entry(f, DT_PLTRELSZ)->d_un.d_val = 0)
ANIMAL(FILE, elf_init_last, LOAD, "the function that begins it is at the end of memory",
  "*zoo.so: is damaged: a value in its dynamic section cannot be right",
  entry(f, DT_INIT)->d_un.d_ptr = UINT64_MAX)
ANIMAL(FILE, elf_calls_kind, LOAD, "its relocations of calls are of another machine's kind",
  "*zoo.so: is damaged: its relocations are not of this machine's kind",
  entry(f, DT_PLTREL)->d_un.d_val = DT_REL)
ANIMAL(FILE, elf_init_data, LOAD, "the function that begins it is data",
  "*zoo.so: is damaged: a function that begins or ends it is no code",
  entry(f, DT_INIT)->d_un.d_ptr = last_load(f)->p_vaddr)
ANIMAL(FILE, elf_init_array, LOAD, "the functions that begin it are not there",
  "*zoo.so: is damaged: the functions that begin or end it are not in a segment",
  entry(f, DT_INIT_ARRAY)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_init_value, LOAD, "one of the functions that begin it is nowhere",
  "*zoo.so: is damaged: a function that begins or ends it is no code",
  relocation_of(f, entry(f, DT_INIT_ARRAY)->d_un.d_ptr)->r_addend = INT64_C(1) << 40)
ANIMAL(FILE, elf_init_unmade, LOAD, "no relocation makes the functions that begin it",
  "*zoo.so: is damaged: a function that begins or ends it is no code",
  relocation_of(f, entry(f, DT_INIT_ARRAY)->d_un.d_ptr)->r_offset = last_load(f)->p_vaddr +
    last_load(f)->p_memsz - 8)
ANIMAL(FILE, elf_relocation_text, LOAD, "a relocation writes to its code",
  "*zoo.so: is damaged: a relocation writes outside of its segments",
  relocation(f)->r_offset = 64)
ANIMAL(FILE, elf_relocation_copy, LOAD, "a relocation that only a program can have",
  "*zoo.so: is damaged: a relocation is one of programs",
  relocation(f)[entry(f, DT_RELACOUNT)->d_un.d_val].r_info =
    ELF64_R_INFO(UINT64_C(1), COPY))
ANIMAL(FILE, elf_relocation_count, LOAD, "it says that all relocations, and more, are relative",
  "*zoo.so: is damaged: fewer relocations are relative than it says",
  entry(f, DT_RELACOUNT)->d_un.d_val = UINT64_C(1) << 40)
ANIMAL(FILE, elf_packed_wild, LOAD, "it has packed relocations, and does not say how many",
  "*zoo.so: is damaged: it does not say what size a table has",
  entry(f, DT_RELACOUNT)->d_tag = 36)
ANIMAL(FILE, elf_size_missing, LOAD, "its relocations are there, and their size is not",
  "*zoo.so: is damaged: it does not say what size a table has",
  entry(f, DT_RELASZ)->d_tag = 0x6ffffff0 - 77)
ANIMAL(FILE, elf_resolver_wild, LOAD, "a function that is not there says where its symbol is",
  "*zoo.so: is damaged: the function that finds a symbol is no code",
  query_symbol(f)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
  query_symbol(f)->st_value = UINT64_C(1) << 40)
ANIMAL(FILE, elf_versions_wild, LOAD, "the versions that it needs are not in the library",
  "*zoo.so: is damaged: its table of versions is not in the file",
  entry(f, DT_VERNEED)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_versions_next, LOAD, "the next version that it needs is not in the library",
  "*zoo.so: is damaged: its table of versions is not in the file", versions(f)->vn_next = 1 << 30)
ANIMAL(FILE, elf_versions_name, LOAD, "the library of a version has no name in the file",
  "*zoo.so: is damaged: its table of versions is not in the file", versions(f)->vn_file = 1 << 30)
ANIMAL(FILE, elf_versions_foreign, LOAD, "it needs a version of a library that it does not need",
  "*zoo.so: is damaged: it needs versions of a library that it does not need",
  versions(f)->vn_file = query_symbol(f)->st_name)
ANIMAL(FILE, elf_strings_none, LOAD, "it does not say where its table of strings is",
  "*zoo.so: is damaged: names outside of the file", entry(f, DT_STRTAB)->d_tag = 0x6ffffff0 - 77)
ANIMAL(FILE, elf_versions_none, LOAD, "its symbols have versions, and it has none",
  "*zoo.so: is damaged: its symbols are of versions that it does not have",
  entry(f, DT_VERNEED)->d_tag = 0x6ffffff0 - 77)
ANIMAL(FILE, elf_versym_wild, LOAD, "the versions of its symbols are not in the library",
  "*zoo.so: is damaged: a symbol has no version in the file",
  entry(f, DT_VERSYM)->d_un.d_ptr = 1 << 30)
ANIMAL(FILE, elf_versym_high, LOAD, "a symbol is of version 30000",
  "*zoo.so: is damaged: a symbol is of a version that it does not have",
  memset(at_address(f, entry(f, DT_VERSYM)->d_un.d_ptr), 0x75, 16))
ANIMAL(FILE, elf_filter_wild, LOAD, "the library that it stands in for has no name in the file",
  "*zoo.so: is damaged: names outside of the file",
  entry(f, DT_RELACOUNT)->d_un.d_val = 1 << 30; entry(f, DT_RELACOUNT)->d_tag = DT_FILTER)
ANIMAL(FILE, elf_filter_empty, LOAD, "the library that it stands in for is the program",
  "*zoo.so: is damaged: the name of a library is empty",
  entry(f, DT_RELACOUNT)->d_un.d_val = 0; entry(f, DT_RELACOUNT)->d_tag = DT_FILTER)
ANIMAL(FILE, elf_segments_elsewhere, LOAD, "its table of segments is somewhere else in memory",
  "*zoo.so: is damaged: its segment table is not where it says",
  segment(f, PT_GNU_EH_FRAME)->p_vaddr = UINT64_C(1) << 40;
  segment(f, PT_GNU_EH_FRAME)->p_type = PT_PHDR)
ANIMAL(FILE, elf_note_wild, LOAD, "its notes are not in the library",
  "*zoo.so: is damaged: a note is not in a segment",
  segment(f, PT_NOTE)->p_vaddr = UINT64_C(1) << 40; segment(f, PT_NOTE)->p_align = 8)
ANIMAL(FILE, elf_note_long, LOAD, "its notes go on after the end",
  "*zoo.so: is damaged: a note is not in a segment",
  segment(f, PT_NOTE)->p_align = 8;
  segment(f, PT_NOTE)->p_memsz = segment(f, PT_NOTE)->p_filesz = UINT64_C(1) << 40)
ANIMAL(FILE, elf_note_record, LOAD, "a note is longer than its segment",
  "*zoo.so: is damaged: a note is not in a segment",
  ((uint32_t *)at_address(f, segment(f, PT_NOTE)->p_vaddr))[1] = 0xfffffff8)
ANIMAL(FILE, elf_property_wild, LOAD, "its properties are not in the library",
  "*zoo.so: is damaged: a note is not in a segment",
  segment(f, PT_NOTE)->p_align = 8; segment(f, PT_NOTE)->p_vaddr = UINT64_C(1) << 40;
  segment(f, PT_NOTE)->p_type = PT_GNU_PROPERTY)
ANIMAL(FILE, elf_frames_wild, WORKS, "what it has for exceptions leads nowhere", "",
  segment(f, PT_GNU_EH_FRAME)->p_vaddr = UINT64_C(1) << 40)
ANIMAL(FILE, elf_unreadable, LOAD, "a segment that nobody may read",
  "*zoo.so: is damaged: *", segment(f, PT_LOAD)->p_flags = 0)
ANIMAL(FILE, elf_unwritable, LOAD, "its data may not be written",
  "*zoo.so: is damaged: its dynamic section is to be written, and its segment is not",
  last_load(f)->p_flags = PF_R)
ANIMAL(FILE, elf_tls_align, LOAD, "its thread-local data are aligned to 2^63 bytes",
  "*zoo.so: is damaged: its thread-local data are not aligned as they say",
  memset(segment(f, PT_GNU_EH_FRAME), 0, sizeof(Elf64_Phdr));
  segment(f, PT_NULL)->p_align = UINT64_C(1) << 63; segment(f, PT_NULL)->p_type = PT_TLS)
