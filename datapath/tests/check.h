/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what holds and what does not; for the tests of the controllers, which are programs of one file. */
#ifndef WEIR_TESTS_CHECK_H
#define WEIR_TESTS_CHECK_H

#include <stdio.h>

static int passed, failed;

/* Returns whether it holds, so that a caller can print the figures of what does not. */
static int check(int holds, const char *what)
{
	if (holds) {
		passed++;
		return 1;
	}
	failed++;
	printf("FAIL %s\n", what);
	return 0;
}

/* The status of the program. */
static int checked(void)
{
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}

#endif
