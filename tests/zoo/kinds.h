/* What an animal breaks, and where it is caught. */
#ifndef TENON_ZOO_KINDS_H
#define TENON_ZOO_KINDS_H

enum {
  ZOO_BIRTH,      /* runs when the library is mapped */
  ZOO_DESCRIPTOR, /* runs in tn_plugin_query, and changes the tables */
  /* the body of one callback */
  ZOO_INIT,
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
  LOAD,  /* tn_runtime_load_plugin refuses it */
  USE,   /* it loads; the call that would have done harm fails */
  WORKS, /* what it says is of no consequence: the model runs, and its result is right */
  VET /* the host cannot tell; `tenon plugin vet` runs it in a child process */
};

#endif
