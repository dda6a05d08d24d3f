// SPDX-License-Identifier: Apache-2.0
#include "controller_state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* Something that is satisfied may grow by this much within a tick before it counts as short. */
#define GROWTH 1.1
/* A tree is short while, and shortly after, a node with children is offered more than this part of its limit. */
#define FULL 0.95
#define SHORT_NS 500000000ULL
/* What a starved leaf can always have, so that a connection can begin: two full packets a second. */
#define FLOOR_BPS 24000.0
#define BOUNDLESS_BPS 1e12

static uint64_t cost_of(double rate_bps)
{
	double ticks_per_byte = 8e9 * (1 << WEIR_TICK_SHIFT) / rate_bps;
	double cost = ticks_per_byte * (1 << WEIR_COST_SHIFT);

	return cost < 1 ? 1 : (uint64_t)(cost + 0.5);
}

static uint64_t configured_cost(const struct weir_controller *c, uint32_t line)
{
	uint64_t rate_bps = load(&c->details[line].rate_bps);

	return rate_bps ? cost_of((double)rate_bps) : 0;
}

/* What a controller before this one had lent when it was killed is this one's to give back. */
static void take_over(struct weir_controller *c, uint32_t line)
{
	if (load(&c->details[line].key) && load(&c->lines[line].cost) != configured_cost(c, line)) {
		c->lent[c->lent_count++] = line;
		c->is_lent[line] = LENT_BEFORE;
		weir_heat(c, line);
	}
}

/* Counters of before. Where nothing was counted nothing is written: most pages stay unused. */
static void see(struct weir_controller *c, uint32_t line)
{
	uint64_t sent_bytes = c->lines[line].bytes + c->lines[line].fast_bytes;
	const struct weir_detail *detail = &c->details[line];

	if (sent_bytes || detail->drop_bytes || detail->drop_packets)
		c->seen[line] = (struct observed){
			.sent_bytes = sent_bytes,
			.lost_bytes = detail->drop_bytes,
			.drops = detail->drop_packets,
		};
}

int weir_controller_new(struct weir_line *lines, const struct weir_detail *details, uint32_t count,
			struct weir_controller **out)
{
	struct weir_controller *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return err;
	c->lines = lines;
	c->details = details;
	c->count = count;
	c->seen = calloc(count, sizeof(*c->seen));
	c->member_of = calloc(count, sizeof(*c->member_of));
	c->is_lent = calloc(count, sizeof(*c->is_lent));
	c->short_until_ns = calloc(count, sizeof(*c->short_until_ns));
	c->members = calloc(count, sizeof(*c->members));
	c->ordered = calloc(count, sizeof(*c->ordered));
	/* A class with children and traffic of its own is two nodes. */
	c->nodes = calloc(count, 2 * sizeof(*c->nodes));
	c->node_line = calloc(count, 2 * sizeof(*c->node_line));
	c->node_of = calloc(count, sizeof(*c->node_of));
	c->lent = calloc(count, sizeof(*c->lent));
	c->burst_of = calloc(count, sizeof(*c->burst_of));
	c->live = calloc(count, sizeof(*c->live));
	c->hot = calloc(count, sizeof(*c->hot));
	c->is_hot = calloc(count, sizeof(*c->is_hot));
	c->awake = calloc(count, sizeof(*c->awake));
	c->is_awake = calloc(count, sizeof(*c->is_awake));
	if (!c->seen || !c->member_of || !c->is_lent || !c->short_until_ns || !c->members || !c->ordered ||
	    !c->nodes || !c->node_line || !c->node_of || !c->lent || !c->burst_of || !c->live || !c->hot ||
	    !c->is_hot || !c->awake || !c->is_awake)
		goto cleanup;
	for (uint32_t line = 0; line < count; line++) {
		see(c, line);
		take_over(c, line);
	}
	*out = c;
	return 0;

cleanup:
	weir_controller_free(c);
	return err;
}

void weir_controller_free(struct weir_controller *c)
{
	if (!c)
		return;
	free(c->seen);
	free(c->member_of);
	free(c->is_lent);
	free(c->short_until_ns);
	free(c->members);
	free(c->ordered);
	free(c->nodes);
	free(c->node_line);
	free(c->node_of);
	free(c->lent);
	free(c->burst_of);
	free(c->live);
	free(c->hot);
	free(c->is_hot);
	free(c->awake);
	free(c->is_awake);
	free(c->bursts);
	free(c);
}

void weir_controller_follow(struct weir_controller *c, const uint32_t *generation)
{
	c->generation = generation;
}

void weir_wake(struct weir_controller *c, uint32_t line)
{
	struct weir_burst *burst = &c->bursts[c->burst_of[line] - 1];

	if (burst->resting) {
		burst->resting = 0;
		c->resting--;
		weir_burst_advance(burst, 0, c->now_ns); /* the slots of the rest are empty */
		c->is_lent[line] = LENT_BEFORE;
		c->lent[c->lent_count++] = line;
	}
	if (c->is_awake[line])
		return;
	c->is_awake[line] = 1;
	c->awake[c->awake_count++] = line;
}

int weir_controller_burst(struct weir_controller *c, uint32_t line, const struct weir_burst_spec *spec)
{
	struct weir_burst *bursts = c->bursts;
	uint32_t at;

	if (line < 2 || line >= c->count || (spec && spec->limit_bps && spec->time_ns < WEIR_BURST_SLOTS))
		return -EINVAL;
	at = c->burst_of[line];
	if (!spec || !spec->limit_bps) {
		if (!at)
			return 0;
		weir_wake(c, line); /* what it was lent is given back by the next tick */
		c->bursts[at - 1] = c->bursts[--c->burst_count];
		c->burst_of[c->bursts[at - 1].line] = at;
		c->burst_of[line] = 0;
		return 0;
	}
	if (!at && c->burst_count == c->burst_room) {
		uint32_t room = c->burst_room ? c->burst_room * 2 : 64;

		bursts = realloc(bursts, room * sizeof(*bursts));
		if (!bursts)
			return -ENOMEM;
		c->bursts = bursts;
		c->burst_room = room;
	}
	if (!at) {
		at = c->burst_of[line] = ++c->burst_count;
		bursts[at - 1] = (struct weir_burst){ .line = line };
	}
	bursts[at - 1].spec = *spec;
	weir_wake(c, line);
	return 0;
}

static double limit_now_bps(const struct weir_controller *c, uint32_t line)
{
	const struct weir_burst *burst = c->burst_of[line] ? &c->bursts[c->burst_of[line] - 1] : NULL;

	return (double)(burst && burst->allowed ? burst->spec.limit_bps : c->details[line].rate_bps);
}

/* Nothing moves, and the cost is the burst's: nothing changes until something is sent. */
static bool may_rest(const struct weir_controller *c, const struct weir_burst *burst)
{
	return weir_burst_is_idle(burst) && !c->member_of[burst->line] &&
	       c->is_lent[burst->line] == LENT_BEFORE &&
	       load(&c->lines[burst->line].cost) == cost_of((double)burst->spec.limit_bps);
}

static void advance_bursts(struct weir_controller *c, uint64_t now_ns)
{
	uint32_t kept = 0;

	c->stats.bursting = 0;
	for (uint32_t i = 0; i < c->awake_count; i++) {
		uint32_t line = c->awake[i], at = c->member_of[line];
		struct weir_burst *burst = c->burst_of[line] ? &c->bursts[c->burst_of[line] - 1] : NULL;

		if (burst)
			weir_burst_advance(burst, at ? c->members[at - 1].sent_bytes : 0, now_ns);
		if (burst && may_rest(c, burst)) {
			burst->resting = 1;
			c->resting++;
			c->is_lent[line] = LENT_RESTING;
		}
		if (burst && !burst->resting) {
			c->awake[kept++] = line;
			c->stats.bursting += burst->allowed != 0;
		} else {
			c->is_awake[line] = 0;
		}
	}
	c->awake_count = kept;
	c->stats.bursting += c->resting;
}

static void find_short_trees(struct weir_controller *c, uint64_t now_ns)
{
	for (uint32_t i = 0; i < c->member_count; i++) {
		const struct member *member = &c->members[i];
		double rate_bps = limit_now_bps(c, member->line);

		if (rate_bps <= 0 || !member->has_children || member->offered_bps < FULL * rate_bps)
			continue;
		c->stats.trees += c->short_until_ns[member->root] < now_ns;
		c->short_until_ns[member->root] = now_ns + SHORT_NS;
	}
}

/* Parents before children: a counting sort by depth, of the short trees only. */
static uint32_t order_members(struct weir_controller *c, uint64_t now_ns)
{
	uint32_t start[WEIR_LEVELS + 2] = { 0 }, kept = 0;

	for (uint32_t i = 0; i < c->member_count; i++)
		if (c->short_until_ns[c->members[i].root] > now_ns) {
			start[c->members[i].depth + 1]++;
			kept++;
		}
	for (uint32_t d = 1; d <= WEIR_LEVELS + 1; d++)
		start[d] += start[d - 1];
	for (uint32_t i = 0; i < c->member_count; i++)
		if (c->short_until_ns[c->members[i].root] > now_ns)
			c->ordered[start[c->members[i].depth]++] = c->members[i];
	return kept;
}

static uint32_t add_node(struct weir_controller *c, uint32_t *count, uint32_t line, uint32_t parent)
{
	const struct weir_line *from = &c->lines[line];
	uint32_t priority = from->flags & WEIR_LINE_PRIORITY;

	c->nodes[*count] = (struct weir_share_node){
		.parent = parent,
		.priority =
			priority >= 1 && priority <= WEIR_SHARE_PRIORITIES ? priority : WEIR_SHARE_PRIORITIES,
		.max_bps = limit_now_bps(c, line),
		.guarantee_bps = (double)c->details[line].guarantee_bps,
	};
	c->node_line[*count] = line;
	return (*count)++;
}

/*
 * A class with children and traffic that matched none of them gets a second node, a child of the
 * first. That node's share cannot be enforced by itself (both have one clock), but it is not given away.
 */
static uint32_t build_nodes(struct weir_controller *c, uint32_t kept)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < kept; i++) {
		const struct member *member = &c->ordered[i];
		uint32_t parent = WEIR_SHARE_NONE, node;

		if (member->depth)
			parent = c->node_of[c->member_of[c->lines[member->line].parent] - 1];
		node = add_node(c, &count, member->line, parent);
		c->node_of[c->member_of[member->line] - 1] = node;
		if (!member->has_own)
			continue;
		if (member->has_children) {
			node = add_node(c, &count, 0, node);
			c->nodes[node].max_bps = 0;
			c->nodes[node].guarantee_bps = 0;
		}
		c->nodes[node].demand_bps = member->hungry ? BOUNDLESS_BPS : member->own_bps * GROWTH;
	}
	return count;
}

static void lend(struct weir_controller *c, uint32_t line, double rate_bps)
{
	if (c->is_lent[line] == NOT_LENT)
		c->lent[c->lent_count++] = line;
	__atomic_store_n(&c->is_lent[line], LENT_NOW, __ATOMIC_RELEASE); /* first: the guard looks at both */
	__atomic_store_n(&c->lines[line].cost, cost_of(rate_bps), __ATOMIC_RELEASE);
}

/* A change of the rate stores it before the cost: if that came in between, the new one is looked at again. */
static void give_back(struct weir_controller *c, uint32_t line)
{
	uint64_t cost;

	do {
		cost = configured_cost(c, line);
		__atomic_store_n(&c->lines[line].cost, cost, __ATOMIC_SEQ_CST);
	} while (configured_cost(c, line) != cost);
	__atomic_store_n(&c->is_lent[line], NOT_LENT, __ATOMIC_RELEASE);
}

static void lend_shares(struct weir_controller *c, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++) {
		const struct weir_share_node *node = &c->nodes[i];
		double room_bps = node->room_bps > FLOOR_BPS ? node->room_bps : FLOOR_BPS;
		double limit_bps = node->max_bps > 0 ? node->max_bps : BOUNDLESS_BPS;

		if (c->node_line[i] && node->first_child == WEIR_SHARE_NONE && room_bps < limit_bps)
			lend(c, c->node_line[i], room_bps);
	}
}

static void lend_bursts(struct weir_controller *c)
{
	for (uint32_t i = 0; i < c->awake_count; i++) {
		const struct weir_burst *burst = &c->bursts[c->burst_of[c->awake[i]] - 1];

		if (burst->allowed && c->is_lent[burst->line] != LENT_NOW)
			lend(c, burst->line, (double)burst->spec.limit_bps);
	}
}

static void take_back_the_rest(struct weir_controller *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->lent_count; i++) {
		uint32_t line = c->lent[i];

		if (c->is_lent[line] == LENT_NOW) {
			c->is_lent[line] = LENT_BEFORE;
			c->lent[kept++] = line;
		} else if (c->is_lent[line] == LENT_BEFORE) {
			give_back(c, line);
		}
	}
	c->lent_count = kept;
	c->stats.lent = kept + c->resting;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void forget_members(struct weir_controller *c)
{
	for (uint32_t i = 0; i < c->member_count; i++)
		c->member_of[c->members[i].line] = 0;
	c->member_count = 0;
}

int weir_controller_tick(struct weir_controller *c, uint64_t now_ns)
{
	uint64_t begun_ns = monotonic_ns();
	double elapsed_s = (double)(now_ns - c->last_ns) / 1e9;
	uint32_t nodes;
	int err;

	c->stats.trees = 0;
	c->now_ns = now_ns;
	weir_observe(c, now_ns, elapsed_s);
	c->stats.ticks++;
	c->last_ns = now_ns;
	/* The first interval began with the process, not with a tick. */
	if (c->stats.ticks == 1)
		goto done;
	advance_bursts(c, now_ns);
	find_short_trees(c, now_ns);
	nodes = build_nodes(c, order_members(c, now_ns));
	err = weir_share_solve(c->nodes, nodes);
	if (err) {
		forget_members(c);
		return err;
	}
	lend_shares(c, nodes);
	lend_bursts(c);
	take_back_the_rest(c);
done:
	forget_members(c);
	c->stats.tick_us = (uint32_t)((monotonic_ns() - begun_ns) / 1000);
	return 0;
}

void weir_controller_release(struct weir_controller *c)
{
	for (uint32_t i = 0; i < c->lent_count; i++)
		give_back(c, c->lent[i]);
	for (uint32_t i = 0; i < c->burst_count; i++)
		if (c->bursts[i].resting)
			give_back(c, c->bursts[i].line);
	c->lent_count = 0;
	c->stats.lent = 0;
}

int weir_controller_lent(const struct weir_controller *c, uint32_t line)
{
	return __atomic_load_n(&c->is_lent[line], __ATOMIC_ACQUIRE) != NOT_LENT;
}

void weir_controller_stats(const struct weir_controller *c, struct weir_share_stats *out)
{
	*out = c->stats;
}
