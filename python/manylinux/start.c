/* The start of a program for C libraries from 2.28 on. One built for 2.34 leaves running its constructors to
   the C library; before, that was the program's, by a function that it handed over. */
typedef int main_function(int argc, char **argv, char **envp);
typedef void init_function(int argc, char **argv, char **envp);

int old_start(main_function *main, int argc, char **argv, init_function *init, void (*fini)(void),
              void (*rtld_fini)(void), void *stack_end);
__asm__(".symver old_start,__libc_start_main@GLIBC_2.2.5");

void _init(void);
extern init_function *__preinit_array_start[], *__preinit_array_end[];
extern init_function *__init_array_start[], *__init_array_end[];

static void run_constructors(int argc, char **argv, char **envp) {
  for (init_function **f = __preinit_array_start; f < __preinit_array_end; f++)
    (*f)(argc, argv, envp);
  _init();
  for (init_function **f = __init_array_start; f < __init_array_end; f++) (*f)(argc, argv, envp);
}

int __libc_start_main(main_function *main, int argc, char **argv, init_function *init,
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, init_function *init,
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  return old_start(main, argc, argv, init ? init : run_constructors, fini, rtld_fini, stack_end);
}
