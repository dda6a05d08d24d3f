/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share controller: looks at what every class sent and lost since the last tick, lends each leaf
 * of a contended tree the rate that weir_share_solve() finds for it, and opens and ends bursts.
 *
 * A lent rate is one aligned store into weir_line.cost, the one field of a line that is not
 * configuration; rate_bps keeps what the operator asked for. A tree in which nothing is short is left
 * alone, and classes at rest are looked at in turn (observe.c), so the cost of a tick is that of the classes in use. If the controller is killed, limits hold and
 * what was lent last stays until the next one starts, which takes it over.
 */
#ifndef WEIR_CONTROLLER_H
#define WEIR_CONTROLLER_H

#include <stdint.h>

struct weir_line;
struct weir_detail;
struct weir_controller;

struct weir_burst_spec;

struct weir_share_stats {
	uint64_t ticks;
	uint32_t looked; /* lines that the last tick looked at */
	uint32_t active; /* lines that sent or lost something in the last tick */
	uint32_t trees; /* of them: trees that were short */
	uint32_t lent; /* lines that hold a lent rate */
	uint32_t bursting; /* lines whose burst limit is in force */
	uint32_t tick_us; /* time the last tick took */
	uint64_t slowest_bps; /* the lowest limit of any class; 0 = none has one */
};

/* Both arrays are the mapped maps, `lines` entries each. -ENOMEM, or 0. */
int weir_controller_new(struct weir_line *lines, const struct weir_detail *details, uint32_t count,
			struct weir_controller **out);
void weir_controller_free(struct weir_controller *controller);

/**
 * weir_controller_burst() - give a line a burst, change it, or take it away
 * @spec: NULL or a limit of 0 takes it away; an unchanged burst keeps its history
 *
 * Return: 0, -EINVAL for a line that is not there or a time under 16 ns, -ENOMEM.
 */
int weir_controller_burst(struct weir_controller *controller, uint32_t line,
			  const struct weir_burst_spec *spec);

/* From now on classes are looked for only when *generation is another value; before, twice a second. */
void weir_controller_follow(struct weir_controller *controller, const uint32_t *generation);

/**
 * weir_controller_tick() - measure, solve, lend
 * @now_ns: CLOCK_MONOTONIC, as the programs read it
 *
 * Return: 0, or -ENOMEM (nothing was changed).
 */
int weir_controller_tick(struct weir_controller *controller, uint64_t now_ns);

/* Give every line its configured rate back. */
void weir_controller_release(struct weir_controller *controller);

/* Whether a line holds a lent rate. */
int weir_controller_lent(const struct weir_controller *controller, uint32_t line);

void weir_controller_stats(const struct weir_controller *controller, struct weir_share_stats *out);

#endif
