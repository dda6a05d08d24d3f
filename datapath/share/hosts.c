// SPDX-License-Identifier: Apache-2.0
#include "hosts.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <weir/abi.h>

#define HUNGRY_NS 300000000ULL
#define ACTIVE_NS 1000000000ULL
#define BACKLOG_TK (2000000ULL << WEIR_TICK_SHIFT)
/* Packets of it waited this lately: the law's interval, and a tick that came late (`weir_backlog.updated`). */
#define WAITED_NS 150000000ULL
#define PACKET_BYTES 1514
/* Who has less than this part of an equal share over a second is not short, whatever he lost in between. */
#define USED 0.7
/* A class this far ahead has a backlog that shares adding up to its whole rate would never drain. */
#define CLASS_BACKLOG_TK (5000000ULL << WEIR_TICK_SHIFT)
#define DRAIN 0.99
#define GROWTH 1.1
#define FLOOR_BPS 24000.0
#define ROUNDS 8
#define SECOND_COST (8e9 * (1 << WEIR_TICK_SHIFT) * (1 << WEIR_COST_SHIFT))

struct seen {
	uint64_t key;
	uint64_t hungry_until_ns;
	uint64_t active_until_ns;
	uint32_t bytes;
	uint32_t drops;
	double rate_bps; /* mean, older ticks count less: e-fold in a second */
};

/* A sub-queue that moved lately. */
struct wish {
	uint32_t row;
	double offered_bps; /* what it sent and, as full packets, what it lost */
	double mean_bps;
	int hungry;
};

/* What is found for one class. */
struct level {
	double all_bps; /* the class's rate */
	double level_bps;
	double satisfied_bps;
	uint32_t hungry;
	uint32_t satisfied;
	uint32_t active;
	int in_use;
};

struct weir_host_shares {
	struct weir_host_tables tables;
	struct seen *seen;
	struct wish *wishes;
	uint32_t wish_count;
	struct level *levels; /* by row */
};

int weir_host_shares_new(const struct weir_host_tables *tables, struct weir_host_shares **out)
{
	struct weir_host_shares *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->tables = *tables;
	s->seen = calloc(tables->host_count, sizeof(*s->seen));
	s->wishes = calloc(tables->host_count, sizeof(*s->wishes));
	s->levels = calloc(tables->row_count, sizeof(*s->levels));
	if (!s->seen || !s->wishes || !s->levels) {
		weir_host_shares_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void weir_host_shares_free(struct weir_host_shares *s)
{
	if (!s)
		return;
	free(s->seen);
	free(s->wishes);
	free(s->levels);
	free(s);
}

static uint64_t load64(const __u64 *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static uint32_t load32(const __u32 *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* 0: unlimited. */
static double rate_of(uint64_t cost)
{
	return cost ? SECOND_COST / (double)cost : 0;
}

/* Begin with every class's whole rate; returns whether any class has sub-queues. */
static int reset_levels(struct weir_host_shares *s)
{
	int any = 0;

	for (uint32_t row = 1; row < s->tables.row_count; row++) {
		uint32_t line = load32(&s->tables.rows[row].line);
		struct level *level = &s->levels[row];

		level->in_use = line != 0;
		if (!line)
			continue;
		any = 1;
		level->all_bps = rate_of(load64(&s->tables.lines[line].cost));
		level->level_bps = level->all_bps;
		level->active = 0;
	}
	return any;
}

static uint32_t row_of(const struct weir_host_shares *s, uint64_t key)
{
	uint32_t line = (uint32_t)(key >> 32),
		 row = load32(&s->tables.lines[line].flags) >> WEIR_LINE_ROW_SHIFT;

	return row < s->tables.row_count && s->tables.rows[row].line == line ? row : 0;
}

/*
 * Whether more than one packet of it waits by its own clock. Where nothing waits (policing) the clock is ahead by what
 * was used of the bucket, which says nothing: only packets that waited have a date in the backlog.
 */
static bool has_backlog(const struct weir_host_shares *s, const struct weir_host *host, uint32_t row_index,
			uint64_t now_ns)
{
	const struct weir_subqueues *row = &s->tables.rows[row_index];
	uint64_t start_tk = load64(&host->full_tk) - ((uint64_t)row->burst << WEIR_TIME_SHIFT);
	uint64_t packet_tk = (load64(&row->cost) * PACKET_BYTES) >> WEIR_COST_SHIFT;
	uint32_t since = (uint32_t)(now_ns >> WEIR_UPDATED_SHIFT) - load32(&host->backlog.updated);

	return since <= WAITED_NS >> WEIR_UPDATED_SHIFT &&
	       (int64_t)(start_tk - (now_ns << WEIR_TICK_SHIFT)) > (int64_t)(BACKLOG_TK + packet_tk);
}

static void observe_host(struct weir_host_shares *s, uint32_t index, uint64_t now_ns, double elapsed_s)
{
	const struct weir_host *host = &s->tables.hosts[index];
	struct seen *seen = &s->seen[index];
	uint64_t key = load64(&host->key);
	uint32_t bytes = load32(&host->bytes), drops = load32(&host->drops), moved, lost, row;

	if (!key)
		return;
	row = row_of(s, key);
	if (!row)
		return;
	if (seen->key != key)
		*seen = (struct seen){ .key = key, .bytes = seen->bytes, .drops = seen->drops };
	/* What is refunded after it was looked at does not count as 4 GB. */
	moved = (int32_t)(bytes - seen->bytes) > 0 ? bytes - seen->bytes : 0;
	if (moved || seen->rate_bps > 0)
		seen->rate_bps += (moved * 8.0 / elapsed_s - seen->rate_bps) * -expm1(-elapsed_s);
	if (seen->rate_bps < 1)
		seen->rate_bps = 0;
	lost = drops - seen->drops;
	if (lost || (moved && has_backlog(s, host, row, now_ns)))
		seen->hungry_until_ns = now_ns + HUNGRY_NS;
	if (moved || lost)
		seen->active_until_ns = now_ns + ACTIVE_NS;
	seen->bytes = bytes;
	seen->drops = drops;
	s->levels[row].active += now_ns < seen->active_until_ns;
	if (moved || now_ns < seen->hungry_until_ns)
		s->wishes[s->wish_count++] = (struct wish){
			.row = row,
			.offered_bps = (moved + (double)lost * PACKET_BYTES) * 8.0 / elapsed_s,
			.mean_bps = seen->rate_bps,
			.hungry = now_ns < seen->hungry_until_ns,
		};
}

static double used_bps(const struct wish *wish)
{
	return wish->hungry ? fmax(wish->offered_bps, wish->mean_bps) : wish->offered_bps;
}

/* One that lost or waited is short if it has most of an equal share. With less, its bursts are what was cut. */
static bool is_short(const struct wish *wish, const struct level *level)
{
	double used = used_bps(wish);

	return used * GROWTH > level->level_bps ||
	       (wish->hungry && used * level->active >= USED * level->all_bps);
}

/* One round: who would send more than the level is hungry too. Returns whether a level changed. */
static int settle(struct weir_host_shares *s)
{
	int changed = 0;

	for (uint32_t row = 1; row < s->tables.row_count; row++) {
		s->levels[row].satisfied_bps = 0;
		s->levels[row].hungry = 0;
		s->levels[row].satisfied = 0;
	}
	for (uint32_t i = 0; i < s->wish_count; i++) {
		const struct wish *wish = &s->wishes[i];
		struct level *level = &s->levels[wish->row];

		if (is_short(wish, level)) {
			level->hungry++;
		} else {
			level->satisfied++;
			level->satisfied_bps += used_bps(wish) * GROWTH;
		}
	}
	for (uint32_t row = 1; row < s->tables.row_count; row++) {
		struct level *level = &s->levels[row];
		double found_bps;

		if (!level->in_use || !level->hungry)
			continue;
		found_bps = fmax((level->all_bps - level->satisfied_bps) / level->hungry,
				 level->all_bps / (level->hungry + level->satisfied));
		changed |= found_bps != level->level_bps;
		level->level_bps = found_bps;
	}
	return changed;
}

static void store_cost(struct weir_host_shares *s, uint32_t row_index, uint64_t now_ns)
{
	struct weir_subqueues *row = &s->tables.rows[row_index];
	const struct level *level = &s->levels[row_index];
	uint64_t clock_tk = load64(&s->tables.lines[row->line].clock_tk);
	double share_bps = level->level_bps, own_bps = (double)load64(&row->rate_bps);

	if (level->hungry && (int64_t)(clock_tk - (now_ns << WEIR_TICK_SHIFT)) > (int64_t)CLASS_BACKLOG_TK)
		share_bps *= DRAIN;
	if (share_bps > 0 && share_bps < FLOOR_BPS)
		share_bps = FLOOR_BPS;
	if (own_bps > 0 && (share_bps <= 0 || share_bps > own_bps))
		share_bps = own_bps;
	__atomic_store_n(&row->cost, share_bps > 0 ? (uint64_t)(SECOND_COST / share_bps + 0.5) : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&row->active, level->active, __ATOMIC_RELAXED);
}

void weir_host_shares_tick(struct weir_host_shares *s, uint64_t now_ns, double elapsed_s)
{
	if (!reset_levels(s))
		return;
	s->wish_count = 0;
	for (uint32_t i = 1; i < s->tables.host_count; i++)
		observe_host(s, i, now_ns, elapsed_s);
	for (int round = 0; round < ROUNDS && settle(s); round++)
		;
	for (uint32_t row = 1; row < s->tables.row_count; row++)
		if (s->levels[row].in_use)
			store_cost(s, row, now_ns);
}

uint32_t weir_host_shares_top(const struct weir_host_shares *s, uint32_t line, struct weir_host_sends *out,
			      uint32_t capacity)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < s->tables.host_count; i++) {
		const struct seen *seen = &s->seen[i];
		uint32_t place;

		if (seen->key >> 32 != line || seen->rate_bps <= 0 ||
		    load64(&s->tables.hosts[i].key) != seen->key)
			continue;
		if (count == capacity && (!count || out[count - 1].rate_bps >= seen->rate_bps))
			continue;
		place = count < capacity ? count++ : count - 1;
		for (; place && out[place - 1].rate_bps < seen->rate_bps; place--)
			out[place] = out[place - 1];
		out[place] = (struct weir_host_sends){ seen->key, i, seen->rate_bps };
	}
	return count;
}
