// SPDX-License-Identifier: Apache-2.0
/* The acceptance vectors of RouterOS's HTB manual, and what must hold for any tree. */
#include "../share/share.h"
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define M 1e6
#define SATURATED 1e12

static int near(double value, double wanted)
{
	return fabs(value - wanted) <= 0.001 * wanted + 1;
}

static struct weir_share_node queue(uint32_t parent, double max, double guarantee, uint32_t priority,
				    double demand)
{
	return (struct weir_share_node){ .parent = parent,
					 .max_bps = max,
					 .guarantee_bps = guarantee,
					 .priority = priority,
					 .demand_bps = demand };
}

/* Q01 (10M) holds Q02 and Q03; Q02 holds Q04 and Q05. */
static void vector(const char *name, const double at[4], const uint32_t priority[4], double q05_max,
		   const double want[3])
{
	struct weir_share_node q[5] = {
		queue(WEIR_SHARE_NONE, 10 * M, 0, 8, 0),
		queue(0, 10 * M, at[0] * M, priority[0], 0),
		queue(0, 10 * M, at[1] * M, priority[1], SATURATED),
		queue(1, 10 * M, at[2] * M, priority[2], SATURATED),
		queue(1, q05_max * M, at[3] * M, priority[3], SATURATED),
	};

	check(!weir_share_solve(q, 5), name);
	check(near(q[2].share_bps, want[0] * M), name);
	check(near(q[3].share_bps, want[1] * M), name);
	check(near(q[4].share_bps, want[2] * M), name);
}

static void manual_vectors(void)
{
	vector("guarantees first", (double[]){ 4, 6, 2, 2 }, (uint32_t[]){ 8, 1, 3, 5 }, 10,
	       (double[]){ 6, 2, 2 });
	vector("priority takes the rest", (double[]){ 4, 2, 2, 2 }, (uint32_t[]){ 8, 3, 1, 5 }, 10,
	       (double[]){ 2, 6, 2 });
	vector("an inner guarantee reserves", (double[]){ 8, 2, 2, 2 }, (uint32_t[]){ 8, 1, 3, 5 }, 10,
	       (double[]){ 2, 6, 2 });
	vector("promised more than there is", (double[]){ 0, 6, 2, 12 }, (uint32_t[]){ 8, 8, 8, 8 }, 15,
	       (double[]){ 3, 1, 6 });
}

static void idle_share_is_used(void)
{
	struct weir_share_node q[4] = {
		queue(WEIR_SHARE_NONE, 9 * M, 0, 8, 0),
		queue(0, 9 * M, 0, 8, SATURATED),
		queue(0, 9 * M, 3 * M, 8, 0),
		queue(0, 9 * M, 0, 8, 1 * M),
	};

	check(!weir_share_solve(q, 4), "idle sibling: solves");
	check(near(q[1].share_bps, 8 * M), "idle sibling: the busy one takes what is left");
	check(near(q[3].share_bps, 1 * M), "idle sibling: the modest one is served");
	check(q[2].room_bps >= 3 * M, "idle sibling: its guarantee is there at once");
}

static void uncontended_has_all_room(void)
{
	struct weir_share_node q[3] = {
		queue(WEIR_SHARE_NONE, 100 * M, 0, 8, 0),
		queue(0, 50 * M, 0, 8, 1 * M),
		queue(0, 0, 0, 8, 1 * M),
	};

	check(!weir_share_solve(q, 3), "uncontended: solves");
	check(near(q[1].room_bps, 50 * M), "uncontended: room up to its own limit");
	check(q[2].room_bps >= 98 * M, "uncontended: room up to the parent's");
}

static void bad_trees_are_refused(void)
{
	struct weir_share_node forward[2] = { queue(1, 0, 0, 8, 0), queue(WEIR_SHARE_NONE, 0, 0, 8, 0) };
	struct weir_share_node priority = queue(WEIR_SHARE_NONE, 0, 0, 9, 0);

	check(weir_share_solve(forward, 2) == -EINVAL, "a parent after its child is refused");
	check(weir_share_solve(&priority, 1) == -EINVAL, "priority 9 is refused");
}

static void any_tree_keeps_its_limits(void)
{
	srand(7);
	for (int round = 0; round < 2000; round++) {
		struct weir_share_node q[40];
		double used[40] = { 0 };
		int fits = 1, conserves = 1;

		for (int i = 0; i < 40; i++) {
			uint32_t parent = i ? (uint32_t)(rand() % i) : WEIR_SHARE_NONE;

			q[i] = queue(parent, (rand() % 4) * 10 * M, (rand() % 3) * M,
				     1 + (uint32_t)(rand() % 8), (rand() % 50) * M);
		}
		check(!weir_share_solve(q, 40), "random tree solves");
		for (int i = 39; i > 0; i--)
			used[q[i].parent] += q[i].share_bps;
		for (int i = 0; i < 40; i++) {
			if (q[i].max_bps > 0 && q[i].share_bps > q[i].max_bps + 1)
				fits = 0;
			if (q[i].first_child != WEIR_SHARE_NONE && !near(used[i], q[i].share_bps))
				conserves = 0;
		}
		check(fits, "no share is above its limit");
		check(conserves, "children use exactly what their parent was given");
	}
}

int main(void)
{
	manual_vectors();
	idle_share_is_used();
	uncontended_has_all_room();
	bad_trees_are_refused();
	any_tree_keeps_its_limits();
	return checked();
}
