/* What an animal breaks, where it is caught, and how messages about it begin. */
#ifndef TENON_ZOO_KINDS_H
#define TENON_ZOO_KINDS_H

enum {
  ZOO_BIRTH,      /* runs when the library is mapped */
  ZOO_DEATH,      /* runs when it is unmapped */
  ZOO_DESCRIPTOR, /* runs in tn_plugin_query, and changes the tables */
  /* the body of one callback */
  ZOO_INIT,
  ZOO_SHUTDOWN,
  ZOO_NOTIFY,
  ZOO_INFER,
  ZOO_FLOPS,
  ZOO_EPILOGUE,
  ZOO_LOWER, /* of an operator that is always lowered */
  ZOO_REWRITE,
  ZOO_REFUSE,
  ZOO_PLAN,
  ZOO_PREPARE, /* of a kernel that has a state */
  ZOO_RUN,     /* of a kernel with one work item */
  ZOO_DYNAMIC, /* run, of a kernel that says its output's shape when it runs */
  ZOO_PROBE,
  ZOO_READ,
  ZOO_WRITE,
  ZOO_FILE /* the file itself; see files.h */
};

enum {
  LOAD,      /* tn_runtime_load_plugin refuses it */
  USE,       /* it loads; the call that would have done harm fails */
  WORKS,     /* what it says is of no consequence: the model runs, and its result is right */
  VET,       /* the host cannot tell; `tenon plugin vet` runs it in a child process */
  VET_PLAIN, /* the same; a sanitizer would see it first, or hide it */
  FIT        /* `tenon plugin vet` tells, and finds no rule broken */
};

#define IN_OP "plug-in 'zoo', op 'zoo::Twice' since 1, "
#define IN_RULE IN_OP "type rule 0, "
#define IN_KERNEL "plug-in 'zoo', kernel 'twice_f32_c', "
#define IN_ROW IN_KERNEL "row 0 of accepts, "
#define IN_REWRITE "plug-in 'zoo', rewrite 'twice_away', "
#define IN_FORMAT "plug-in 'zoo', format 'zoo', "
#define NODE "node 'first' (zoo::Twice): "
#define NOT_LOWERED NODE "lowering failed: TN_ERR_INVALID: *; "
#define NOT_NOW NODE "lowering failed: TN_ERR_STATE: *; "
#define PLANNED "*twice_f32_c: plan() fails: kernel 'twice_f32_c': plan() answered "
#define RAN "node 'first' (Twice), kernel 'twice_f32_c': "
#define READING "model in memory: format zoo: "
#define NOT_READ READING "TN_ERR_INVALID: *; "
/* of `tenon plugin vet` */
#define MAPPING "zoo.so: descriptor, loading: "
#define BEGINNING "zoo: init and shutdown, once: "
#define VETTED_OP "zoo: op 'zoo::Twice', *: "
#define VETTED "zoo: kernel 'twice_f32_c'*"
#define VETTED_FORMAT "zoo: format 'zoo'*"

#endif
