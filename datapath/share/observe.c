// SPDX-License-Identifier: Apache-2.0
#include "controller_state.h"

#include <stdbool.h>

/* A leaf that lost a packet or had to wait wants more, for this long after. */
#define HUNGRY_NS 300000000ULL
/* Waiting less than this is the spacing of packets, not a backlog. */
#define BACKLOG_NS 2000000ULL
/* Classes come and go seldom; looking through all slots costs more than a tick. */
#define LOOK_FOR_CLASSES_NS 500000000ULL
/*
 * Lines that moved lately are looked at in every tick. The others, which are nearly all of 100,000 queues, take turns,
 * so that each is seen to move within COLD_TICKS (half a second at 50 ms); few are all looked at each time.
 */
#define HOT_TICKS 40
#define COLD_TICKS 10
#define COLD_LEAST 4096

static double backlog_ns(const struct weir_line *line, uint64_t now_ns)
{
	uint64_t clock_ns = load(&line->clock_tk) >> WEIR_TICK_SHIFT;

	return clock_ns > now_ns ? (double)(clock_ns - now_ns) : 0;
}

static struct member *join(struct weir_controller *c, uint32_t line)
{
	struct member *member;

	if (!c->member_of[line]) {
		member = &c->members[c->member_count++];
		*member = (struct member){ .line = line };
		c->member_of[line] = c->member_count;
		if (c->burst_of[line])
			weir_wake(c, line);
	}
	return &c->members[c->member_of[line] - 1];
}

/* Enter the ancestors too, add to what they carry, and note depth and root. */
static void join_path(struct weir_controller *c, uint32_t line, double offered_bps, uint64_t sent_bytes)
{
	uint32_t path[WEIR_LEVELS + 1], depth = 0, at = line;

	while (at && at < c->count && depth <= WEIR_LEVELS) {
		path[depth++] = at;
		at = c->lines[at].parent;
	}
	for (uint32_t i = 0; i < depth; i++) {
		struct member *member = join(c, path[i]);

		member->depth = depth - 1 - i;
		member->root = path[depth - 1];
		member->offered_bps += offered_bps;
		member->sent_bytes += sent_bytes;
		member->has_children |= i > 0;
	}
}

/* What came on top since the last tick; a row that was zeroed for a new owner starts again. */
static uint64_t advance(uint64_t *seen, uint64_t now)
{
	uint64_t moved = now >= *seen ? now - *seen : now;

	*seen = now;
	return moved;
}

/* The nearest total (RouterOS `total-*`) that this line's traffic is charged to; 0 = none. */
static uint32_t total_of(const struct weir_controller *c, uint32_t line)
{
	for (uint32_t level = 0; line && line < c->count && level < WEIR_LEVELS; level++) {
		if (c->lines[line].shared)
			return c->lines[line].shared;
		line = c->lines[line].parent;
	}
	return 0;
}

/* What moved, and whether the line wants more. Totals hear it from both directions. */
static void join_leaf(struct weir_controller *c, uint32_t line, double moved_bps, uint64_t sent_bytes,
		      bool hungry)
{
	struct member *member;

	join_path(c, line, moved_bps, sent_bytes);
	member = join(c, line);
	member->has_own = 1;
	member->own_bps += moved_bps;
	member->hungry |= hungry;
}

/* Whether it moved, or wanted to. */
static bool observe_line(struct weir_controller *c, uint32_t line, uint64_t now_ns, double elapsed_s)
{
	const struct weir_detail *detail = &c->details[line];
	const struct weir_line *from = &c->lines[line];
	struct observed *seen = &c->seen[line];
	uint64_t sent = advance(&seen->sent_bytes, load(&from->bytes) + load(&from->fast_bytes));
	uint64_t moved = sent + advance(&seen->lost_bytes, load(&detail->drop_bytes));
	uint64_t dropped = advance(&seen->drops, load(&detail->drop_packets));
	double moved_bps = (double)moved * 8 / elapsed_s;
	bool lent = c->is_lent[line] == LENT_BEFORE || c->is_lent[line] == LENT_NOW;
	uint32_t total = total_of(c, line);
	bool hungry;

	if (dropped || (moved && backlog_ns(from, now_ns) > BACKLOG_NS))
		seen->hungry_until_ns = now_ns + HUNGRY_NS;
	if (!moved && !lent)
		return dropped;
	hungry = now_ns < seen->hungry_until_ns;
	join_leaf(c, line, moved_bps, sent, hungry);
	if (total && total < c->count)
		join_leaf(c, total, moved_bps, sent, hungry);
	c->stats.active += moved > 0;
	return moved || lent;
}

void weir_heat(struct weir_controller *c, uint32_t line)
{
	if (c->is_hot[line])
		return;
	c->is_hot[line] = 1;
	c->hot[c->hot_count++] = (struct hot){ .line = line };
}

static void observe_hot(struct weir_controller *c, uint64_t now_ns, double elapsed_s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->hot_count; i++) {
		struct hot hot = c->hot[i];

		hot.idle = observe_line(c, hot.line, now_ns, elapsed_s) ? 0 : hot.idle + 1;
		if (hot.idle < HOT_TICKS && load(&c->details[hot.line].key))
			c->hot[kept++] = hot;
		else
			c->is_hot[hot.line] = 0;
	}
	c->hot_count = kept;
}

static bool has_moved(const struct weir_controller *c, uint32_t line)
{
	const struct observed *seen = &c->seen[line];

	return load(&c->lines[line].bytes) + load(&c->lines[line].fast_bytes) != seen->sent_bytes ||
	       load(&c->details[line].drop_packets) != seen->drops;
}

static void observe_cold(struct weir_controller *c, uint64_t now_ns, double elapsed_s)
{
	uint32_t turns = c->live_count > COLD_LEAST ? COLD_TICKS : 1;
	uint32_t count = (c->live_count + turns - 1) / turns;

	c->stats.looked += count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t line;

		if (c->next_cold >= c->live_count)
			c->next_cold = 0;
		line = c->live[c->next_cold++];
		if (c->is_hot[line] || !has_moved(c, line))
			continue;
		observe_line(c, line, now_ns, elapsed_s * turns);
		weir_heat(c, line);
	}
}

static void look_for_classes(struct weir_controller *c, uint64_t now_ns)
{
	uint32_t generation = c->generation ? __atomic_load_n(c->generation, __ATOMIC_ACQUIRE) : 0;

	if (c->looked_ns && (now_ns - c->looked_ns < LOOK_FOR_CLASSES_NS ||
			     (c->generation && generation == c->looked_generation)))
		return;
	c->looked_ns = now_ns;
	c->looked_generation = generation;
	c->live_count = 0;
	c->stats.slowest_bps = 0;
	for (uint32_t line = 2; line < c->count; line++) {
		uint64_t rate_bps = load(&c->details[line].rate_bps);

		if (!load(&c->details[line].key))
			continue;
		c->live[c->live_count++] = line;
		if (rate_bps && (!c->stats.slowest_bps || rate_bps < c->stats.slowest_bps))
			c->stats.slowest_bps = rate_bps;
	}
}

void weir_observe(struct weir_controller *c, uint64_t now_ns, double elapsed_s)
{
	c->stats.active = 0;
	c->stats.looked = c->hot_count;
	look_for_classes(c, now_ns);
	observe_hot(c, now_ns, elapsed_s);
	observe_cold(c, now_ns, elapsed_s);
}
