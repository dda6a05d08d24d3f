/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of one tree of queues: limit-at, priority and equal sharing among siblings.
 *
 * The two stages are those of RouterOS (manual: HTB, "dual limitation" and "priority"): first every
 * guarantee is served, then what is left goes to the best priority that still wants it, equally among
 * the siblings. The clocks of the datapath enforce limits by themselves; they share what a saturated
 * parent has by arrival, and this is what turns that into guarantees and fairness: each contended leaf
 * gets a rate of its own, and the rates of a tree never add up to more than its root has.
 *
 * Pure: no kernel, no allocation. Rates are in bit/s; `double` because the sums of many rates must
 * neither overflow nor round a small queue away.
 */
#ifndef WEIR_SHARE_H
#define WEIR_SHARE_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_SHARE_PRIORITIES 8
#define WEIR_SHARE_NONE UINT32_MAX

struct weir_share_node {
	/* given */
	uint32_t parent; /* index of a node before this one, or WEIR_SHARE_NONE */
	uint32_t priority; /* 1 (best) to 8; of leaves */
	double max_bps; /* 0: unlimited */
	double guarantee_bps; /* limit-at; 0: none */
	double demand_bps; /* what a leaf would send if nobody else did */

	/* found */
	double share_bps; /* what the node may send now */
	double room_bps; /* what a leaf that wants more may take at once: at least `share_bps` */

	/* inside */
	uint32_t first_child;
	uint32_t next_sibling;
	double assured_bps; /* stage 1: what is served */
	double promised_bps; /* stage 1: what counts when promises exceed the link */
	double extra_bps[WEIR_SHARE_PRIORITIES]; /* stage 2, by priority */
};

/**
 * weir_share_solve() - set share_bps and room_bps of every node
 * @nodes: parents before their children
 * @count: number of nodes
 *
 * Return: 0, or -EINVAL when a parent does not stand before its child or a priority is not 1 to 8.
 */
int weir_share_solve(struct weir_share_node *nodes, size_t count);

#endif
