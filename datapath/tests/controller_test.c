// SPDX-License-Identifier: Apache-2.0
/*
 * The controller over plain arrays and a policer written from its definition (GCRA, ITU-T I.371):
 * saturated leaves of the manual's example trees get what the manual says, whatever they offer.
 */
#include "../share/burst.h"
#include "../share/controller.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/abi.h>

#define LINES 32
#define STEP_NS 1000000ULL
#define TICK_NS 100000000ULL
#define PACKET_BYTES 1250
#define M 1000000ULL

static struct weir_line lines[LINES];
static struct weir_detail details[LINES];
static double owed_bytes[LINES];
static double offered_bps[LINES];
static uint64_t now_ns;

static void check_rate(int holds, const char *what, double value, double wanted)
{
	if (!check(holds, what))
		printf("     %.2f Mbit/s, wanted %.2f\n", value / M, wanted / M);
}

static void reset(void)
{
	memset(lines, 0, sizeof(lines));
	memset(details, 0, sizeof(details));
	memset(owed_bytes, 0, sizeof(owed_bytes));
	memset(offered_bps, 0, sizeof(offered_bps));
	now_ns = 1000000000000ULL;
}

static void queue(uint32_t line, uint32_t parent, uint64_t rate_bps, uint64_t guarantee_bps,
		  uint32_t priority)
{
	details[line].key = line;
	lines[line].parent = parent;
	details[line].rate_bps = rate_bps;
	details[line].guarantee_bps = guarantee_bps;
	lines[line].flags = priority;
	lines[line].cost = rate_bps ? (uint64_t)(8e9 * 16 / (double)rate_bps * (1 << WEIR_COST_SHIFT)) : 0;
	lines[line].clock_tk = now_ns << WEIR_TICK_SHIFT;
}

static int over(uint32_t line)
{
	return lines[line].cost && lines[line].clock_tk > now_ns << WEIR_TICK_SHIFT;
}

static void charge(uint32_t line)
{
	uint64_t burst = 50000000ULL << WEIR_TICK_SHIFT, now = now_ns << WEIR_TICK_SHIFT;

	if (lines[line].clock_tk + burst < now)
		lines[line].clock_tk = now - burst;
	lines[line].clock_tk += PACKET_BYTES * lines[line].cost >> WEIR_COST_SHIFT;
}

static void send_packet(uint32_t line)
{
	for (uint32_t at = line; at; at = lines[at].parent)
		if (over(at) || over(lines[at].shared)) {
			details[line].drop_packets++;
			details[line].drop_bytes += PACKET_BYTES;
			return;
		}
	for (uint32_t at = line; at; at = lines[at].parent) {
		charge(at);
		if (lines[at].shared)
			charge(lines[at].shared);
	}
	lines[line].packets++;
	lines[line].bytes += PACKET_BYTES;
}

/* Leaves take turns packet by packet, and who is first changes with every step. */
static void step(uint32_t round)
{
	int more = 1;

	for (uint32_t line = 2; line < LINES; line++)
		owed_bytes[line] += offered_bps[line] / 8 * STEP_NS / 1e9;
	while (more) {
		more = 0;
		for (uint32_t i = 0; i < LINES; i++) {
			uint32_t line = (i + round) % LINES;

			if (owed_bytes[line] < PACKET_BYTES)
				continue;
			owed_bytes[line] -= PACKET_BYTES;
			send_packet(line);
			more = 1;
		}
	}
}

static void run(struct weir_controller *controller, double seconds)
{
	uint64_t end_ns = now_ns + (uint64_t)(seconds * 1e9);
	uint32_t round = 0;

	for (; now_ns < end_ns; now_ns += STEP_NS) {
		step(round++);
		if (now_ns % TICK_NS == 0)
			weir_controller_tick(controller, now_ns);
	}
}

static void expect(struct weir_controller *controller, const char *what, const uint32_t *leaves,
		   const double *wanted_m, uint32_t count)
{
	uint64_t before[LINES];

	for (uint32_t i = 0; i < LINES; i++)
		before[i] = lines[i].bytes;
	run(controller, 3);
	for (uint32_t i = 0; i < count; i++) {
		double got = (double)(lines[leaves[i]].bytes - before[leaves[i]]) * 8 / 3;

		check_rate(fabs(got - wanted_m[i] * M) <= 0.1 * wanted_m[i] * M, what, got, wanted_m[i] * M);
	}
}

static void vector(const char *what, const uint64_t at[4], const uint32_t priority[4], uint64_t q05_max,
		   const double wanted_m[3])
{
	struct weir_controller *controller = NULL;

	reset();
	queue(2, 0, 10 * M, 0, 8);
	queue(4, 2, 10 * M, at[0] * M, priority[0]);
	queue(6, 2, 10 * M, at[1] * M, priority[1]);
	queue(8, 4, 10 * M, at[2] * M, priority[2]);
	queue(10, 4, q05_max * M, at[3] * M, priority[3]);
	/* Very unequal offers: by arrival alone, line 10 would get nearly all. */
	offered_bps[6] = 12e6;
	offered_bps[8] = 15e6;
	offered_bps[10] = 60e6;
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	run(controller, 1);
	expect(controller, what, (uint32_t[]){ 6, 8, 10 }, wanted_m, 3);
	weir_controller_free(controller);
}

static void demand_comes_and_goes(void)
{
	struct weir_controller *controller = NULL;
	struct weir_share_stats stats;

	reset();
	queue(2, 0, 9 * M, 0, 8);
	queue(4, 2, 9 * M, 3 * M, 8);
	queue(6, 2, 9 * M, 0, 8);
	queue(8, 2, 9 * M, 0, 8);
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	offered_bps[6] = 40e6;
	offered_bps[8] = 20e6;
	run(controller, 1);
	expect(controller, "two equals", (uint32_t[]){ 6, 8 }, (double[]){ 4.5, 4.5 }, 2);
	offered_bps[4] = 20e6;
	run(controller, 1);
	expect(controller, "a guaranteed third", (uint32_t[]){ 4, 6, 8 }, (double[]){ 5, 2, 2 }, 3);
	offered_bps[8] = 0;
	run(controller, 1);
	expect(controller, "one leaves", (uint32_t[]){ 4, 6 }, (double[]){ 6, 3 }, 2);
	offered_bps[4] = 1e6;
	offered_bps[6] = 2e6;
	run(controller, 2);
	weir_controller_stats(controller, &stats);
	check_rate(stats.lent == 0, "a tree with room lends nothing", stats.lent, 0);
	check_rate(lines[6].cost == (uint64_t)(8e9 * 16 / 9e6 * (1 << WEIR_COST_SHIFT) + 0.5),
		   "what was lent is given back", 0, 0);
	weir_controller_free(controller);
}

/* A controller that is killed leaves what it lent in the lines: the next one knows nothing of it. */
static void a_controller_is_killed(void)
{
	struct weir_controller *controller = NULL;
	struct weir_share_stats stats;

	reset();
	queue(2, 0, 9 * M, 0, 8);
	queue(4, 2, 9 * M, 0, 1);
	queue(6, 2, 9 * M, 0, 8);
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	offered_bps[4] = offered_bps[6] = 20e6;
	run(controller, 2);
	check_rate(lines[6].cost > 100 * lines[2].cost, "the last priority is starved", 0, 0);
	weir_controller_free(controller);
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	run(controller, 1);
	expect(controller, "a tree that is still short", (uint32_t[]){ 4 }, (double[]){ 9 }, 1);
	weir_controller_free(controller);
	offered_bps[4] = 0;
	offered_bps[6] = 6e6;
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	run(controller, 1);
	expect(controller, "what the dead lent is given back", (uint32_t[]){ 6 }, (double[]){ 6 }, 1);
	weir_controller_stats(controller, &stats);
	check_rate(stats.lent == 0, "nothing is lent", stats.lent, 0);
	weir_controller_free(controller);
}

/* Lines 4 and 5, 6 and 7 are two customers' directions; 20 and 22 their totals below a total of both. */
static void totals_share(void)
{
	struct weir_controller *controller = NULL;
	double got[2] = {};
	uint64_t before[LINES];

	reset();
	queue(20, 24, 10 * M, 0, 8);
	queue(22, 24, 10 * M, 6 * M, 8);
	queue(24, 0, 10 * M, 0, 8);
	queue(2, 0, 0, 0, 8);
	queue(3, 0, 0, 0, 8);
	lines[2].shared = lines[3].shared = 24;
	for (uint32_t line = 4; line < 8; line++) {
		queue(line, 2 + line % 2, 0, 0, 8);
		lines[line].shared = line < 6 ? 20 : 22;
	}
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	offered_bps[4] = 60e6;
	offered_bps[5] = 20e6;
	offered_bps[6] = offered_bps[7] = 8e6;
	run(controller, 1);
	for (uint32_t line = 4; line < 8; line++)
		before[line] = lines[line].bytes;
	run(controller, 3);
	for (uint32_t line = 4; line < 8; line++)
		got[line / 6] += (double)(lines[line].bytes - before[line]) * 8 / 3;
	check_rate(fabs(got[0] - 2e6) <= 0.2e6, "a total without guarantee", got[0], 2e6);
	check_rate(fabs(got[1] - 8e6) <= 0.8e6, "a total with a guarantee", got[1], 8e6);
	weir_controller_free(controller);
}

/* max 2M, threshold 1500k, burst 4M: the manual's first bursts, to within a slot. */
static void burst_lasts(double time_s, double wanted_s)
{
	struct weir_burst_spec spec = { 4 * M, 1500000, (uint64_t)(time_s * 1e9) };
	struct weir_controller *controller = NULL;
	double slot_s = time_s / WEIR_BURST_SLOTS, lasted_s = 0;

	reset();
	queue(4, 0, 2 * M, 0, 8);
	if (weir_controller_new(lines, details, LINES, &controller))
		return (void)check(0, "out of memory");
	check_rate(weir_controller_burst(controller, 4, &spec) == 0, "a burst is taken", 0, 0);
	run(controller, 0.3);
	offered_bps[4] = 20e6;
	for (int tenth = 0; tenth < 200; tenth++) {
		uint64_t before = lines[4].bytes;

		run(controller, 0.1);
		/* The bucket that an idle queue has saved up is not the burst. */
		if (tenth > 1 && (double)(lines[4].bytes - before) * 80 < 3e6)
			break;
		lasted_s += 0.1;
	}
	check_rate(fabs(lasted_s - wanted_s) <= slot_s + 0.21, "length of the first burst (s)", lasted_s * M,
		   wanted_s * M);
	run(controller, 20);
	expect(controller, "a steady sender stays at max-limit", (uint32_t[]){ 4 }, (double[]){ 2 }, 1);
	check_rate(weir_controller_burst(controller, 4, NULL) == 0, "a burst is taken away", 0, 0);
	run(controller, 0.3);
	check_rate(lines[4].cost == (uint64_t)(8e9 * 16 / 2e6 * (1 << WEIR_COST_SHIFT) + 0.5),
		   "max-limit is back", 0, 0);
	weir_controller_free(controller);
}

/* A crowd at rest takes turns, also with a burst each; who moves is seen within ten ticks, and his burst ends. */
#define CROWD 20000U

static uint32_t ticks_until(struct weir_controller *controller, int (*is_so)(const struct weir_share_stats *),
			    uint32_t most)
{
	struct weir_share_stats stats;
	uint32_t ticks = 0;

	do {
		now_ns += TICK_NS;
		weir_controller_tick(controller, now_ns);
		weir_controller_stats(controller, &stats);
	} while (++ticks < most && !is_so(&stats));
	return ticks;
}

static int takes_turns(const struct weir_share_stats *stats)
{
	return stats->looked <= CROWD / 10 && stats->bursting == CROWD;
}

static int somebody_moves(const struct weir_share_stats *stats)
{
	return stats->active != 0;
}

static int never(const struct weir_share_stats *stats)
{
	(void)stats;
	return 0;
}

static void a_crowd_rests(void)
{
	static struct weir_line many[CROWD + 4];
	static struct weir_detail their[CROWD + 4];
	struct weir_burst_spec spec = { 4 * M, 1500000, 8000000000ULL };
	struct weir_controller *controller = NULL;
	struct weir_share_stats stats;
	uint32_t generation = 1, mover = CROWD / 2;
	uint64_t own = (uint64_t)(8e9 * 16 / 2e6 * (1 << WEIR_COST_SHIFT) + 0.5);

	now_ns = 1000000000000ULL;
	for (uint32_t line = 2; line < CROWD + 2; line++) {
		their[line].key = line;
		their[line].rate_bps = 2 * M;
		many[line].cost = own;
	}
	if (weir_controller_new(many, their, CROWD + 4, &controller))
		return (void)check(0, "out of memory");
	weir_controller_follow(controller, &generation);
	for (uint32_t line = 2; line < CROWD + 2; line++)
		weir_controller_burst(controller, line, &spec);
	check(ticks_until(controller, takes_turns, 200) < 200, "a crowd at rest takes turns");
	weir_controller_stats(controller, &stats);
	check(stats.bursting == CROWD && many[mover].cost == own / 2, "at rest every burst is allowed");
	many[mover].bytes += 1000000;
	check(ticks_until(controller, somebody_moves, 20) <= 10, "who moves is seen within ten ticks");
	for (int tick = 0; tick < 60; tick++) {
		many[mover].bytes += 50000; /* 4 Mbit/s */
		ticks_until(controller, never, 1);
	}
	check(many[mover].cost == own, "his burst ends");
	check(many[mover + 1].cost == own / 2, "his neighbour's does not");
	check(ticks_until(controller, takes_turns, 300) < 300, "after a while he rests again");
	check(many[mover].cost == own / 2, "and may burst again");
	their[CROWD + 2].key = 1;
	many[CROWD + 2].bytes = 0;
	ticks_until(controller, never, 20);
	many[CROWD + 2].bytes = 1000000;
	check(ticks_until(controller, somebody_moves, 20) == 20, "nobody looks for classes that nobody made");
	generation++;
	ticks_until(controller, never, 1);
	many[CROWD + 2].bytes += 1000000;
	check(ticks_until(controller, somebody_moves, 20) <= 10, "a class that was made is found");
	weir_controller_release(controller);
	check(many[2].cost == own && many[CROWD].cost == own, "all is given back");
	weir_controller_free(controller);
}

int main(void)
{
	burst_lasts(16, 6);
	burst_lasts(8, 3);
	vector("guarantees first", (uint64_t[]){ 4, 6, 2, 2 }, (uint32_t[]){ 8, 1, 3, 5 }, 10,
	       (double[]){ 6, 2, 2 });
	vector("priority takes the rest", (uint64_t[]){ 4, 2, 2, 2 }, (uint32_t[]){ 8, 3, 1, 5 }, 10,
	       (double[]){ 2, 6, 2 });
	vector("an inner guarantee reserves", (uint64_t[]){ 8, 2, 2, 2 }, (uint32_t[]){ 8, 1, 3, 5 }, 10,
	       (double[]){ 2, 6, 2 });
	vector("promised more than there is", (uint64_t[]){ 0, 6, 2, 12 }, (uint32_t[]){ 8, 8, 8, 8 }, 15,
	       (double[]){ 3, 1, 6 });
	demand_comes_and_goes();
	a_controller_is_killed();
	totals_share();
	a_crowd_rests();
	return checked();
}
