// SPDX-License-Identifier: Apache-2.0
#include "share.h"

#include <errno.h>
#include <math.h>

#define LEVELS WEIR_SHARE_PRIORITIES

/* Below this a rate is nothing: rounding must not make a satisfied node look hungry. */
static const double EPSILON_BPS = 1e-3;

static double limit_of(const struct weir_share_node *node)
{
	return node->max_bps > 0 ? node->max_bps : INFINITY;
}

static int is_leaf(const struct weir_share_node *node)
{
	return node->first_child == WEIR_SHARE_NONE;
}

static double extra_sum(const struct weir_share_node *node)
{
	double sum = 0;

	for (int level = 0; level < LEVELS; level++)
		sum += node->extra_bps[level];
	return sum;
}

static int link_children(struct weir_share_node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		nodes[i].first_child = WEIR_SHARE_NONE;
		nodes[i].next_sibling = WEIR_SHARE_NONE;
	}
	for (size_t i = count; i-- > 0;) {
		struct weir_share_node *node = &nodes[i];

		if (node->priority < 1 || node->priority > LEVELS)
			return -EINVAL;
		if (node->parent == WEIR_SHARE_NONE)
			continue;
		if (node->parent >= i)
			return -EINVAL;
		node->next_sibling = nodes[node->parent].first_child;
		nodes[node->parent].first_child = (uint32_t)i;
	}
	return 0;
}

/* Take `amount` out of the wishes, the most urgent first; what is reserved is served to them. */
static void take_best(struct weir_share_node *node, double amount)
{
	for (int level = 0; level < LEVELS && amount > 0; level++) {
		double taken = fmin(amount, node->extra_bps[level]);

		node->extra_bps[level] -= taken;
		amount -= taken;
	}
}

/* Cut the wishes to `room`, the least urgent first. */
static void cut_worst(struct weir_share_node *node, double room)
{
	for (int level = 0; level < LEVELS; level++) {
		node->extra_bps[level] = fmin(node->extra_bps[level], room);
		room -= node->extra_bps[level];
	}
}

static void want_leaf(struct weir_share_node *node)
{
	double wanted = fmin(node->demand_bps, limit_of(node));

	for (int level = 0; level < LEVELS; level++)
		node->extra_bps[level] = 0;
	node->assured_bps = fmin(node->guarantee_bps, wanted);
	node->promised_bps = node->assured_bps;
	node->extra_bps[node->priority - 1] = wanted - node->assured_bps;
}

/* An inner node's guarantee reserves for its children even where they have none of their own. */
static void want_inner(struct weir_share_node *nodes, struct weir_share_node *node)
{
	double below = 0, promised = 0, wanted, reserved;

	for (int level = 0; level < LEVELS; level++)
		node->extra_bps[level] = 0;
	for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling) {
		below += nodes[c].assured_bps;
		promised += nodes[c].promised_bps;
		for (int level = 0; level < LEVELS; level++)
			node->extra_bps[level] += nodes[c].extra_bps[level];
	}
	wanted = fmin(below + extra_sum(node), limit_of(node));
	reserved = fmin(fmax(node->guarantee_bps, below), wanted);
	take_best(node, fmax(0, reserved - below));
	node->assured_bps = reserved;
	/* Promises count in full, even those that the node's own limit cannot hold. */
	node->promised_bps = fmax(reserved, promised);
	cut_worst(node, wanted - reserved);
}

static void reset_shares(struct weir_share_node *nodes, const struct weir_share_node *node)
{
	for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling)
		nodes[c].share_bps = 0;
}

/*
 * Stage 1. Where more was promised than there is, in proportion to the promises; a child that needs
 * less than its part leaves the rest to the others, so this goes round until nobody is capped.
 */
static double assure(struct weir_share_node *nodes, struct weir_share_node *node)
{
	double left = node->share_bps;
	int capped = 1;

	reset_shares(nodes, node);
	while (capped && left > EPSILON_BPS) {
		double promised = 0, given = 0, scale;

		for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling)
			if (nodes[c].share_bps + EPSILON_BPS < nodes[c].assured_bps)
				promised += nodes[c].promised_bps;
		if (promised <= 0)
			break;
		scale = left / promised;
		capped = 0;
		for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling) {
			struct weir_share_node *child = &nodes[c];
			double missing = child->assured_bps - child->share_bps, part;

			if (missing <= EPSILON_BPS)
				continue;
			part = fmin(missing, child->promised_bps * scale);
			capped |= part >= missing;
			child->share_bps += part;
			given += part;
		}
		left -= given;
	}
	return fmax(0, left);
}

/* Raise a common level until `left` is used up or everyone has enough; returns that level. */
static double fill_equally(struct weir_share_node *nodes, const struct weir_share_node *node, int level,
			   double *left)
{
	double water = 0;

	for (;;) {
		double lowest = INFINITY, step;
		uint32_t hungry = 0;

		for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling) {
			double missing = nodes[c].extra_bps[level] - water;

			if (missing > EPSILON_BPS) {
				hungry++;
				lowest = fmin(lowest, missing);
			}
		}
		if (!hungry || *left <= EPSILON_BPS)
			break;
		step = fmin(lowest, *left / hungry);
		water += step;
		*left -= step * hungry;
	}
	for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling)
		nodes[c].share_bps += fmin(nodes[c].extra_bps[level], water);
	return water;
}

static void give_children(struct weir_share_node *nodes, struct weir_share_node *node)
{
	double left = assure(nodes, node);
	double water[LEVELS], spare = node->room_bps;

	for (int level = 0; level < LEVELS; level++)
		water[level] = fill_equally(nodes, node, level, &left);
	for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling)
		spare -= nodes[c].share_bps;
	for (uint32_t c = node->first_child; c != WEIR_SHARE_NONE; c = nodes[c].next_sibling) {
		struct weir_share_node *child = &nodes[c];
		double room = child->share_bps + fmax(0, spare);

		/* Who has enough may come back for its guarantee, or for what its equals got, at once. */
		if (child->share_bps + EPSILON_BPS >= child->assured_bps + extra_sum(child))
			room = fmax(room, child->guarantee_bps + water[child->priority - 1]);
		child->room_bps = fmax(child->share_bps, fmin(room, limit_of(child)));
	}
}

int weir_share_solve(struct weir_share_node *nodes, size_t count)
{
	int err = link_children(nodes, count);

	if (err)
		return err;
	for (size_t i = count; i-- > 0;) {
		if (is_leaf(&nodes[i]))
			want_leaf(&nodes[i]);
		else
			want_inner(nodes, &nodes[i]);
	}
	for (size_t i = 0; i < count; i++) {
		struct weir_share_node *node = &nodes[i];

		if (node->parent == WEIR_SHARE_NONE) {
			node->share_bps = node->assured_bps + extra_sum(node);
			node->room_bps = limit_of(node);
		}
		if (!is_leaf(node))
			give_children(nodes, node);
	}
	return 0;
}
