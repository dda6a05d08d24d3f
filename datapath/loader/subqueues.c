// SPDX-License-Identifier: Apache-2.0
/* Sub-queues (PCQ): the parameters of a line's, in a row of their own that the line's flags name. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

static uint32_t row_of(struct weir *weir, uint32_t line)
{
	return weir_lines(weir)[line].flags >> WEIR_LINE_ROW_SHIFT;
}

static void flags_store(struct weir *weir, uint32_t line, uint32_t row)
{
	const uint32_t others = WEIR_LINE_PRIORITY | WEIR_LINE_LIVE | WEIR_LINE_AGE;
	uint32_t *flags = &weir_lines(weir)[line].flags;

	weir_publish(flags, (*flags & others) | (row ? WEIR_LINE_SUBQUEUES | row << WEIR_LINE_ROW_SHIFT : 0));
}

int weir_subqueues_open(struct weir *weir)
{
	const struct weir_subqueues *rows = weir_subqueue_rows(weir);
	uint32_t count = weir_meta(weir)->subqueues;

	weir->meant_rows = calloc(count, sizeof(*weir->meant_rows));
	if (!weir->meant_rows)
		return weir_fail(ENOMEM, "no memory for a copy of %u rows of sub-queues", count);
	memcpy(weir->meant_rows, rows, count * sizeof(*rows));
	for (uint32_t row = 1; row < count; row++)
		weir->subqueues_used += rows[row].line != 0;
	weir->subqueues_next = 1;
	return 0;
}

/* What is configured of a row lies between its cost, which is shared out, and what packets change. */
#define CONFIGURED_AT offsetof(struct weir_subqueues, rate_bps)
#define CONFIGURED_BYTES (offsetof(struct weir_subqueues, shared_tk) - CONFIGURED_AT)

static void row_keep(struct weir *weir, uint32_t row)
{
	memcpy((char *)&weir->meant_rows[row] + CONFIGURED_AT,
	       (const char *)&weir_subqueue_rows(weir)[row] + CONFIGURED_AT, CONFIGURED_BYTES);
}

static bool row_mend(struct weir *weir, uint32_t row)
{
	uint64_t *held = (uint64_t *)((char *)&weir_subqueue_rows(weir)[row] + CONFIGURED_AT);
	const uint64_t *meant = (const uint64_t *)((const char *)&weir->meant_rows[row] + CONFIGURED_AT);
	uint32_t line = weir->meant_rows[row].line;
	bool is_wrong = false;

	for (size_t i = 0; i < CONFIGURED_BYTES / sizeof(*held); i++) {
		if (held[i] == meant[i])
			continue;
		weir_publish(&held[i], meant[i]);
		is_wrong = true;
	}
	if (line && row_of(weir, line) != row) {
		flags_store(weir, line, row);
		is_wrong = true;
	}
	return is_wrong;
}

uint32_t weir_subqueues_mend(struct weir *weir)
{
	uint32_t wrong = 0;

	/* Nothing points to a row while no class has sub-queues. */
	for (uint32_t row = 1; weir->subqueues_used && row < weir_meta(weir)->subqueues; row++)
		wrong += row_mend(weir, row);
	return wrong;
}

/* What a line's hosts owe is not for the class that gets its slot next. */
static void forget_hosts(struct weir *weir, uint32_t line)
{
	struct weir_host *hosts = weir->map[WEIR_MAP_HOSTS];

	for (uint32_t i = 0; i < weir_meta(weir)->flows; i++)
		if (hosts[i].key >> 32 == line) {
			weir_publish(&hosts[i].full_tk, 0);
			weir_publish(&hosts[i].key, 0);
		}
}

void weir_subqueues_clear(struct weir *weir, uint32_t line)
{
	uint32_t row = row_of(weir, line);

	if (!row)
		return;
	flags_store(weir, line, 0);
	weir_publish(&weir_subqueue_rows(weir)[row].line, 0);
	row_keep(weir, row);
	weir->subqueues_used--;
	forget_hosts(weir, line);
}

bool weir_subqueues_by_source(struct weir *weir)
{
	const struct weir_subqueues *rows = weir_subqueue_rows(weir);

	for (uint32_t row = 1; weir->subqueues_used && row < weir_meta(weir)->subqueues; row++)
		if (rows[row].line && rows[row].line % 2 == WEIR_UPLOAD && rows[row].key & WEIR_BY_SOURCE)
			return true;
	return false;
}

uint32_t weir_hosts_busy(struct weir *weir)
{
	const struct weir_host *hosts = weir->map[WEIR_MAP_HOSTS];
	uint32_t busy = 0;
	struct timespec now;
	uint64_t now_tk;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_tk = (uint64_t)(now.tv_sec * 1000000000LL + now.tv_nsec) << WEIR_TICK_SHIFT;
	for (uint32_t i = 0; weir->subqueues_used && i < weir_meta(weir)->flows; i++)
		busy += hosts[i].key && (int64_t)(hosts[i].full_tk - now_tk) > 0;
	return busy;
}

static uint32_t find_free_row(struct weir *weir)
{
	uint32_t count = weir_meta(weir)->subqueues;

	for (uint32_t tried = 1; tried < count; tried++) {
		uint32_t row = weir->subqueues_next;

		weir->subqueues_next = row + 1 < count ? row + 1 : 1;
		if (!weir_subqueue_rows(weir)[row].line)
			return row;
	}
	return 0;
}

static int check_spec(struct weir *weir, const struct weir_subqueues_spec *spec)
{
	if (!spec->slot || spec->slot >= weir_meta(weir)->slots || spec->direction > WEIR_DOWNLOAD)
		return weir_fail(EINVAL, "there is no class slot %u", spec->slot);
	if (!weir_details(weir)[spec->slot * 2].key)
		return weir_fail(ENOENT, "slot %u holds no class that could have sub-queues", spec->slot);
	if (spec->key > (WEIR_BY_SOURCE | WEIR_BY_DESTINATION) || spec->length4 > 32 || spec->length6 > 128)
		return weir_fail(EINVAL, "class %u: sub-queues by key %u, /%u and /%u", spec->slot, spec->key,
				 spec->length4, spec->length6);
	if ((spec->rate_bps && spec->rate_bps < WEIR_MIN_RATE_BPS) ||
	    (spec->peak_bps && (!spec->rate_bps || spec->peak_bps <= spec->rate_bps)))
		return weir_fail(EINVAL, "class %u: sub-queues of %llu bit/s with bursts of %llu", spec->slot,
				 (unsigned long long)spec->rate_bps, (unsigned long long)spec->peak_bps);
	if (spec->burst_ns > WEIR_TIME_MAX_NS)
		return weir_fail(EINVAL, "class %u: a sub-queue's burst is above %llu ns", spec->slot,
				 (unsigned long long)WEIR_TIME_MAX_NS);
	return 0;
}

/* An equal share begins at the line's own rate, until the share controller has seen who is active. */
static void row_store(struct weir_subqueues *row, const struct weir_line *line,
		      const struct weir_subqueues_spec *spec)
{
	uint64_t cost = weir_cost_of(spec->rate_bps);

	if (!row->line || row->rate_bps != spec->rate_bps)
		weir_publish(&row->cost, spec->rate_bps ? cost : line->cost);
	weir_publish(&row->rate_bps, spec->rate_bps);
	weir_publish(&row->peak_bps, spec->peak_bps);
	weir_publish(&row->peak_cost, weir_cost_of(spec->peak_bps));
	weir_publish(&row->burst, (uint32_t)WEIR_NS_TO_TIME(spec->burst_ns));
	weir_publish(&row->limit_bytes, spec->limit_bytes);
	weir_publish(&row->length4, spec->length4);
	weir_publish(&row->length6, spec->length6);
	weir_publish(&row->key, spec->key);
}

static int write_one(struct weir *weir, const struct weir_subqueues_spec *spec)
{
	uint32_t index = spec->slot * 2 + spec->direction, row = row_of(weir, index);
	struct weir_line *line = &weir_lines(weir)[index];

	if (!spec->key) {
		weir_subqueues_clear(weir, index);
		return 0;
	}
	if (!row) {
		row = find_free_row(weir);
		if (!row)
			return weir_fail(ENOSPC, "all %u places for classes with sub-queues are taken",
					 weir_meta(weir)->subqueues - 1);
		memset(&weir_subqueue_rows(weir)[row], 0, sizeof(struct weir_subqueues));
		weir->subqueues_used++;
	}
	row_store(&weir_subqueue_rows(weir)[row], line, spec);
	weir_publish(&weir_subqueue_rows(weir)[row].line, index);
	flags_store(weir, index, row);
	row_keep(weir, row);
	return 0;
}

/* The records are kept as they are meant: the guard would take the role away again. */
static void find_hosts_before_nat(struct weir *weir)
{
	pthread_mutex_lock(&weir->hooks);
	weir_records_mend(weir);
	for (uint32_t i = 0; i < WEIR_PORTS; i++) {
		struct weir_port *port = &weir_port_table(weir)[i];

		if (port->ifindex)
			weir_publish(&port->roles, (uint8_t)(port->roles | WEIR_ROLE_HOSTS));
	}
	weir_records_keep(weir);
	pthread_mutex_unlock(&weir->hooks);
}

int weir_subqueues_write(struct weir *weir, const struct weir_subqueues_spec *specs, uint32_t count)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = check_spec(weir, &specs[i]);
	pthread_mutex_lock(&weir->classes);
	for (uint32_t i = 0; i < count && !error; i++)
		error = write_one(weir, &specs[i]);
	pthread_mutex_unlock(&weir->classes);
	if (weir_subqueues_by_source(weir))
		find_hosts_before_nat(weir);
	return error;
}

int weir_subqueues_read(struct weir *weir, struct weir_subqueues_spec *out, uint32_t capacity)
{
	uint32_t count = 0;

	if (!capacity)
		return weir->subqueues_used;
	for (uint32_t i = 1; i < weir_meta(weir)->subqueues && count < capacity; i++) {
		const struct weir_subqueues *row = &weir_subqueue_rows(weir)[i];

		if (!row->line)
			continue;
		out[count++] = (struct weir_subqueues_spec){
			.slot = row->line / 2,
			.direction = row->line % 2,
			.rate_bps = row->rate_bps,
			.peak_bps = row->peak_bps,
			.burst_ns = WEIR_TIME_TO_NS(row->burst),
			.limit_bytes = row->limit_bytes,
			.key = row->key,
			.length4 = row->length4,
			.length6 = row->length6,
		};
	}
	return count;
}

int weir_subqueues_state(struct weir *weir, uint32_t slot, uint32_t direction,
			 struct weir_subqueues_state *out)
{
	const uint64_t second = 8000000000ULL << WEIR_TICK_SHIFT << WEIR_COST_SHIFT;
	const struct weir_subqueues *row;
	uint32_t index;

	if (slot >= weir_meta(weir)->slots || direction > WEIR_DOWNLOAD)
		return weir_fail(EINVAL, "there is no class slot %u", slot);
	index = row_of(weir, slot * 2 + direction);
	if (!index)
		return weir_fail(ENOENT, "this direction of class %u has no sub-queues", slot);
	row = &weir_subqueue_rows(weir)[index];
	*out = (struct weir_subqueues_state){
		.rate_bps = row->cost ? second / row->cost : 0,
		.evicted = row->evicted,
		.shared_packets = row->shared_packets,
		.active = row->active,
	};
	return 0;
}
