/* A shared library that is no plug-in. */
int twice(int x);
int twice(int x) { return 2 * x; }
