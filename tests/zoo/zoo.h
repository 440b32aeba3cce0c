/* What the files of the zoo's test share. */
#ifndef TENON_ZOO_H
#define TENON_ZOO_H

/* Makes the animal of files.h at path. */
void zoo_make_file(const char *name, const char *path);

#endif
