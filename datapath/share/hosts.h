/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal shares among the sub-queues of a class (PCQ). All of one class have one cost, so one number is found
 * per class and tick: the rate at which what the hungry ones may have at most and what the others send
 * add up to the class's rate. A host that sends little leaves the rest to the others; a sweep of
 * addresses that send a packet each takes no more than those packets.
 */
#ifndef WEIR_SHARE_HOSTS_H
#define WEIR_SHARE_HOSTS_H

#include <stdint.h>

struct weir_host;
struct weir_line;
struct weir_subqueues;
struct weir_host_shares;

struct weir_host_tables {
	const struct weir_line *lines;
	struct weir_subqueues *rows;
	const struct weir_host *hosts;
	uint32_t host_count;
	uint32_t row_count;
};

/* -ENOMEM, or 0. The tables are the mapped maps. */
int weir_host_shares_new(const struct weir_host_tables *tables, struct weir_host_shares **out);
void weir_host_shares_free(struct weir_host_shares *shares);

/* What one sends, as charged, over about the last second. */
struct weir_host_sends {
	uint64_t key; /* as struct weir_host */
	uint32_t index;
	double rate_bps;
};

/* Those of one line that send most, the most first; returns how many. */
uint32_t weir_host_shares_top(const struct weir_host_shares *shares, uint32_t line,
			      struct weir_host_sends *out, uint32_t capacity);

/* Look at every sub-queue and store the cost of each class that has some; `elapsed_s` since the last time. */
void weir_host_shares_tick(struct weir_host_shares *shares, uint64_t now_ns, double elapsed_s);

#endif
