/* Included before all else in the tests that share a program (cmake/TenonTests.cmake): each one's
 * main is a function of its own, which program.c calls. */
int UNIT_MAIN(void);
#define main UNIT_MAIN
