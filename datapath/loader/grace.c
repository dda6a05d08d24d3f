// SPDX-License-Identifier: Apache-2.0
/* Grace periods: what packets may still use is not made free. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/*
 * The programs run under RCU, and MEMBARRIER_CMD_GLOBAL is synchronize_rcu(). Kernels with nohz_full
 * CPUs refuse it; a program runs for microseconds, so a tenth of a second serves there.
 */
void weir_synchronize(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return;
	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

/* For a holder of `lookups`, while the tables are mapped (weir_lookup_maps_take): what was retired is made free in them. */
void weir_grace(struct weir *weir)
{
	weir_synchronize();
	weir_table_after_grace(&weir->table[0]);
	weir_table_after_grace(&weir->table[1]);
	weir_tree_after_grace(&weir->tree);
	weir->lengths_retired = false;
}
