/* What a plug-in's file says of itself without being loaded.
 *
 * A host that finds a plug-in in a folder need not load it before something is looked up that it
 * may have. TN_OFFERS writes words into the file, as a note of ELF; there may be several, in any
 * file of the plug-in:
 *
 *   TN_OFFERS("com.acme::Twice Conv +formats");
 *
 * with a blank between
 *
 *   Conv, com.acme::Twice   each operator that the plug-in brings, or has kernels or rewrites for;
 *   Conv@1-10               the same of some of its versions alone (@11-0: and later);
 *   +formats, +drivers, +compilers, +dispatchers, +extensions
 *                           where it has any of these;
 *   $NAME                   where what it offers depends on a variable of the environment: while
 *                           that is set, the plug-in is loaded at once and may offer anything.
 *
 * tenon-gen writes them for plug-ins whose tables it writes. A plug-in that has none is loaded at
 * once, and so are all that were found with it. One that has, and offers what no word of it names,
 * is refused. More than 64 KiB of words count as none. */
#ifndef TENON_KIT_OFFERS_H
#define TENON_KIT_OFFERS_H

#define TN_OFFERS_OWNER "Tenon"
#define TN_OFFERS_TYPE 1 /* of the note: words, ended by a zero */

#if defined(__ELF__)
#define TN_OFFERS(words)                         \
  __asm__(                                       \
      ".pushsection .note.tenon, \"a\", %note\n" \
      ".balign 4\n"                              \
      ".4byte 2f - 1f, 4f - 3f, 1\n"             \
      "1: .asciz \"Tenon\"\n"                    \
      "2: .balign 4\n"                           \
      "3: .asciz \"" words                       \
      "\"\n"                                     \
      "4: .balign 4\n"                           \
      ".popsection\n")
#else
#define TN_OFFERS(words) struct tn_plugin
#endif

#endif
