// SPDX-License-Identifier: Apache-2.0
/*
 * Equal shares over plain arrays: a class of 10 Mbit/s, hosts that offer what a test says, each policed at the
 * cost that was found. A host that offers more than it may loses packets, which is how hunger shows.
 */
#include "../share/hosts.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <weir/abi.h>

#define HOSTS 64
#define LINE 3
#define ROW 1
#define TICK_NS 50000000ULL
#define CLASS_BPS 10e6
#define SECOND_COST (8e9 * 16 * 65536)

static struct weir_line lines[8];
static struct weir_subqueues rows[2];
static struct weir_host hosts[HOSTS];
static double offered_bps[HOSTS], got_bps[HOSTS];
static uint64_t now_ns;

static void check_rate(int holds, const char *what, double value, double wanted)
{
	if (!check(holds, what))
		printf("     %.3f Mbit/s, wanted %.3f\n", value / 1e6, wanted / 1e6);
}

static void reset(double class_bps)
{
	memset(lines, 0, sizeof(lines));
	memset(rows, 0, sizeof(rows));
	memset(hosts, 0, sizeof(hosts));
	memset(offered_bps, 0, sizeof(offered_bps));
	now_ns = 1000000000000ULL;
	lines[LINE].flags = WEIR_LINE_LIVE | WEIR_LINE_SUBQUEUES | ROW << WEIR_LINE_ROW_SHIFT;
	lines[LINE].cost = class_bps > 0 ? (uint64_t)(SECOND_COST / class_bps) : 0;
	rows[ROW].line = LINE;
	rows[ROW].cost = lines[LINE].cost;
}

static void host(uint32_t index, double bps)
{
	hosts[index].key = (uint64_t)LINE << 32 | index;
	offered_bps[index] = bps;
}

static void run(struct weir_host_shares *shares, int ticks)
{
	for (int tick = 0; tick < ticks; tick++) {
		for (uint32_t i = 1; i < HOSTS; i++) {
			double may_bps = rows[ROW].cost ? SECOND_COST / (double)rows[ROW].cost : 1e12;

			got_bps[i] = fmin(offered_bps[i], may_bps);
			hosts[i].bytes += (uint32_t)(got_bps[i] * TICK_NS / 8e9);
			hosts[i].drops += offered_bps[i] > may_bps;
		}
		now_ns += TICK_NS;
		weir_host_shares_tick(shares, now_ns, TICK_NS / 1e9);
	}
}

static void test_equal_shares(struct weir_host_shares *shares)
{
	for (uint32_t count = 2; count <= 10; count++) {
		reset(CLASS_BPS);
		for (uint32_t i = 1; i <= count; i++)
			host(i, i % 2 ? 20e6 : 60e6);
		run(shares, 20);
		for (uint32_t i = 1; i <= count; i++)
			check_rate(fabs(got_bps[i] - CLASS_BPS / count) < 0.02 * CLASS_BPS / count,
				   "equal share", got_bps[i], CLASS_BPS / count);
		check_rate(rows[ROW].active == count, "active hosts", rows[ROW].active, count);
	}
}

static void test_the_modest_leave_the_rest(struct weir_host_shares *shares)
{
	reset(CLASS_BPS);
	host(1, 1e6);
	host(2, 50e6);
	host(3, 50e6);
	run(shares, 20);
	check_rate(fabs(got_bps[1] - 1e6) < 1, "a modest host", got_bps[1], 1e6);
	check_rate(got_bps[2] > 4.4e6 && got_bps[2] <= 4.5e6, "the rest is shared", got_bps[2], 4.45e6);
	offered_bps[3] = 0;
	run(shares, 20);
	check_rate(got_bps[2] > 8.8e6 && got_bps[2] <= 9e6, "within a second an idle host's share is used",
		   got_bps[2], 8.9e6);
	offered_bps[1] = 50e6;
	run(shares, 20);
	check_rate(fabs(got_bps[1] - 5e6) < 1e5, "who comes back gets its share", got_bps[1], 5e6);
}

/* One that sends in bursts loses some of each: over a second it has less than its share all the same. */
static void test_bursts_of_the_modest_take_nothing(struct weir_host_shares *shares)
{
	double sum_bps = 0;

	reset(CLASS_BPS);
	host(2, 50e6);
	host(3, 50e6);
	for (int tick = 0; tick < 200; tick++) {
		host(1, tick % 10 ? 0 : 6e6);
		run(shares, 1);
		if (tick >= 100)
			sum_bps += (got_bps[1] + got_bps[2] + got_bps[3]) / 100;
	}
	check_rate(sum_bps > 0.95 * CLASS_BPS && sum_bps < 1.01 * CLASS_BPS,
		   "all that is there is used beside bursts", sum_bps, CLASS_BPS);
}

/* Loud hosts that came first fill the class: what a modest one loses to them counts as wanted, and it gets it. */
static void test_a_modest_host_gets_in(struct weir_host_shares *shares)
{
	double left_bps, sent_bps;

	reset(6e6);
	host(1, 1e6);
	host(2, 9e6);
	host(3, 9e6);
	for (int tick = 0; tick < 40; tick++) {
		run(shares, 1);
		/* The class drops what is too much, by arrival. */
		left_bps = 6e6 - got_bps[2] - got_bps[3];
		sent_bps = fmin(fmax(left_bps, 0.4e6), got_bps[1]);
		hosts[1].drops += (uint32_t)((got_bps[1] - sent_bps) * TICK_NS / 8e9 / 1228 + 0.5);
		hosts[1].bytes -= (uint32_t)((got_bps[1] - sent_bps) * TICK_NS / 8e9);
	}
	check_rate(sent_bps > 0.99e6, "a modest host beside two loud ones", sent_bps, 1e6);
	check_rate(got_bps[2] > 2.4e6, "which have the rest", got_bps[2], 2.45e6);
}

/* Where nothing waits a clock is ahead by what was used of the bucket; where packets wait, by the one that just left. */
static void test_a_clock_ahead_is_no_hunger_by_itself(struct weir_host_shares *shares)
{
	reset(6e6);
	host(1, 1e6);
	host(2, 20e6);
	host(3, 20e6);
	for (int tick = 0; tick < 40; tick++) {
		hosts[1].full_tk = (now_ns + TICK_NS + 100000000ULL) << WEIR_TICK_SHIFT;
		run(shares, 1);
	}
	check_rate(got_bps[2] > 2.4e6, "a used bucket leaves the rest to others", got_bps[2], 2.45e6);
	for (int tick = 0; tick < 40; tick++) {
		uint64_t packet_tk = (rows[ROW].cost * 1228) >> WEIR_COST_SHIFT;

		hosts[1].backlog.updated = (uint32_t)((now_ns + TICK_NS) >> WEIR_UPDATED_SHIFT);
		hosts[1].full_tk = ((now_ns + TICK_NS) << WEIR_TICK_SHIFT) + packet_tk;
		run(shares, 1);
	}
	check_rate(got_bps[2] > 2.4e6, "a packet that just left is no backlog", got_bps[2], 2.45e6);
}

static void test_a_sweep_takes_what_it_sends(struct weir_host_shares *shares)
{
	reset(CLASS_BPS);
	host(1, 50e6);
	for (uint32_t i = 2; i < HOSTS; i++)
		host(i, 10e3);
	run(shares, 20);
	check_rate(got_bps[1] > 9e6, "one host beside a sweep", got_bps[1], 9.3e6);
}

static void test_rates_of_their_own(struct weir_host_shares *shares)
{
	reset(CLASS_BPS);
	rows[ROW].rate_bps = 3000000;
	host(1, 50e6);
	host(2, 50e6);
	run(shares, 20);
	check_rate(fabs(got_bps[1] - 3e6) < 1e4, "pcq-rate below the equal share", got_bps[1], 3e6);
	for (uint32_t i = 3; i <= 10; i++)
		host(i, 50e6);
	run(shares, 20);
	check_rate(fabs(got_bps[1] - 1e6) < 2e4, "the equal share below pcq-rate", got_bps[1], 1e6);
	reset(0);
	rows[ROW].rate_bps = 3000000;
	host(1, 50e6);
	run(shares, 20);
	check_rate(fabs(got_bps[1] - 3e6) < 1e4, "pcq-rate in a class without a limit", got_bps[1], 3e6);
}

static void test_who_sends_most(struct weir_host_shares *shares)
{
	struct weir_host_sends found[3];
	uint32_t count;

	reset(0);
	host(1, 1e6);
	host(2, 3e6);
	host(3, 2e6);
	host(4, 4e6);
	run(shares, 200);
	count = weir_host_shares_top(shares, LINE, found, 3);
	check(count == 3 && found[0].index == 4 && found[1].index == 2 && found[2].index == 3,
	      "the three that send most, the most first");
	check_rate(fabs(found[0].rate_bps - 4e6) < 4e4, "what it sends", found[0].rate_bps, 4e6);
	check(weir_host_shares_top(shares, LINE + 1, found, 3) == 0, "another line has none");
	offered_bps[4] = 0;
	run(shares, 20);
	check(weir_host_shares_top(shares, LINE, found, 3) == 3 && found[0].index == 2,
	      "a second after it fell silent another is the first");
	run(shares, 600);
	check(weir_host_shares_top(shares, LINE, found, 3) == 3 && found[2].index == 1,
	      "one that is silent is not listed");
	hosts[2].key++;
	check(weir_host_shares_top(shares, LINE, found, 3) == 2, "nor one whose place is another's now");
}

int main(void)
{
	struct weir_host_tables tables = { lines, rows, hosts, HOSTS, 2 };
	struct weir_host_shares *shares;

	if (weir_host_shares_new(&tables, &shares))
		return 2;
	test_equal_shares(shares);
	test_the_modest_leave_the_rest(shares);
	test_bursts_of_the_modest_take_nothing(shares);
	test_a_modest_host_gets_in(shares);
	test_a_clock_ahead_is_no_hunger_by_itself(shares);
	test_a_sweep_takes_what_it_sends(shares);
	test_rates_of_their_own(shares);
	test_who_sends_most(shares);
	weir_host_shares_free(shares);
	return checked();
}
