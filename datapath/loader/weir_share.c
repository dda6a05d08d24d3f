// SPDX-License-Identifier: Apache-2.0
#include "weir_share.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../share/burst.h"
#include "../share/controller.h"
#include "../share/hosts.h"
#include "internal.h"

struct weir_share {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping;
	uint64_t interval_ns;
	int32_t error;
	struct weir *weir;
	struct weir_controller *controller;
	struct weir_host_shares *hosts;
	const uint32_t *classes_with_hosts;
	uint64_t last_ns, hosts_ns; /* of the last tick, and of the sub-queues' */
	uint64_t moved_ns; /* when a class sent something last */
};

/* Rates of sub-queues are averages over about a second, and are small after ten. */
#define HOSTS_REST_NS 10000000000ULL

static uint64_t in_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ULL + (uint64_t)time->tv_nsec;
}

/* Sub-queues share what their class was just lent. They are left alone when nothing at all has moved for a while. */
static void tick(struct weir_share *share, uint64_t now_ns)
{
	struct weir_share_stats stats;

	share->error = weir_controller_tick(share->controller, now_ns);
	weir_controller_stats(share->controller, &stats);
	if (stats.active)
		share->moved_ns = now_ns;
	if (share->last_ns && now_ns - share->moved_ns < HOSTS_REST_NS &&
	    __atomic_load_n(share->classes_with_hosts, __ATOMIC_RELAXED)) {
		weir_host_shares_tick(share->hosts, now_ns, (double)(now_ns - share->hosts_ns) / 1e9);
		share->hosts_ns = now_ns;
	} else if (!share->hosts_ns) {
		share->hosts_ns = now_ns;
	}
	share->last_ns = now_ns;
}

static void *run(void *argument)
{
	struct weir_share *share = argument;
	struct timespec next, now;

	pthread_mutex_lock(&share->lock);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!share->stopping) {
		uint64_t due_ns = in_ns(&next) + share->interval_ns;

		next.tv_sec = (time_t)(due_ns / 1000000000ULL);
		next.tv_nsec = (long)(due_ns % 1000000000ULL);
		while (!share->stopping &&
		       pthread_cond_timedwait(&share->wake, &share->lock, &next) != ETIMEDOUT)
			;
		if (share->stopping)
			break;
		clock_gettime(CLOCK_MONOTONIC, &now);
		tick(share, in_ns(&now));
		/*
		 * After a long stop, go on from here instead of catching up. So a tick that takes longer than its
		 * interval, of hundreds of thousands of busy classes, leaves an interval to others as well.
		 */
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (in_ns(&now) > due_ns + share->interval_ns)
			next = now;
	}
	pthread_mutex_unlock(&share->lock);
	return NULL;
}

static int init_wake(struct weir_share *share)
{
	pthread_condattr_t attributes;
	int err = pthread_condattr_init(&attributes);

	if (err)
		return -err;
	err = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (!err)
		err = pthread_cond_init(&share->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return -err;
}

int weir_share_start(struct weir *weir, uint32_t interval_ms, struct weir_share **out)
{
	struct weir_host_tables tables = {
		.lines = weir_lines(weir),
		.rows = weir_subqueue_rows(weir),
		.hosts = weir->map[WEIR_MAP_HOSTS],
		.row_count = weir_meta(weir)->subqueues,
		.host_count = weir_meta(weir)->flows,
	};
	uint32_t lines = weir_meta(weir)->slots * 2;
	struct weir_share *share;
	int err;

	if (!interval_ms)
		return -EINVAL;
	share = calloc(1, sizeof(*share));
	if (!share)
		return -ENOMEM;
	share->interval_ns = interval_ms * 1000000ULL;
	share->weir = weir;
	share->classes_with_hosts = &weir->subqueues_used;
	pthread_mutex_init(&share->lock, NULL);
	err = init_wake(share);
	if (err)
		goto cleanup;
	err = weir_controller_new(weir_lines(weir), weir_details(weir), lines, &share->controller);
	if (!err)
		weir_controller_follow(share->controller, &weir->classes_generation);
	if (!err)
		err = weir_host_shares_new(&tables, &share->hosts);
	if (!err)
		err = -pthread_create(&share->thread, NULL, run, share);
	if (!err) {
		weir->controller = share->controller;
		*out = share;
		return 0;
	}
	pthread_cond_destroy(&share->wake);

cleanup:
	weir_host_shares_free(share->hosts);
	weir_controller_free(share->controller);
	pthread_mutex_destroy(&share->lock);
	free(share);
	return err;
}

void weir_share_stop(struct weir_share *share)
{
	if (!share)
		return;
	pthread_mutex_lock(&share->lock);
	share->stopping = true;
	pthread_cond_signal(&share->wake);
	pthread_mutex_unlock(&share->lock);
	pthread_join(share->thread, NULL);
	share->weir->controller = NULL;
	weir_controller_release(share->controller);
	weir_host_shares_free(share->hosts);
	weir_controller_free(share->controller);
	pthread_cond_destroy(&share->wake);
	pthread_mutex_destroy(&share->lock);
	free(share);
}

int weir_share_burst(struct weir_share *share, uint32_t slot, uint32_t direction, uint64_t limit_bps,
		     uint64_t threshold_bps, uint64_t time_ns)
{
	struct weir_burst_spec spec = { limit_bps, threshold_bps, time_ns };
	int err;

	if (direction > WEIR_DOWNLOAD)
		return -EINVAL;
	pthread_mutex_lock(&share->lock);
	err = weir_controller_burst(share->controller, slot * 2 + direction, &spec);
	pthread_mutex_unlock(&share->lock);
	return err;
}

int weir_share_lent(struct weir_share *share, uint32_t slot, uint32_t direction)
{
	int lent;

	if (slot >= weir_meta(share->weir)->slots || direction > WEIR_DOWNLOAD)
		return -EINVAL;
	pthread_mutex_lock(&share->lock);
	lent = weir_controller_lent(share->controller, slot * 2 + direction);
	pthread_mutex_unlock(&share->lock);
	return lent;
}

int weir_share_hosts(struct weir_share *share, uint32_t slot, uint32_t direction, struct weir_host_rate *out,
		     uint32_t capacity)
{
	struct weir_host_sends found[WEIR_HOST_RATES];
	uint32_t count;

	if (slot >= weir_meta(share->weir)->slots || direction > WEIR_DOWNLOAD)
		return -EINVAL;
	if (capacity > WEIR_HOST_RATES)
		capacity = WEIR_HOST_RATES;
	pthread_mutex_lock(&share->lock);
	count = weir_host_shares_top(share->hosts, slot * 2 + direction, found, capacity);
	pthread_mutex_unlock(&share->lock);
	for (uint32_t i = 0; i < count; i++) {
		out[i] = (struct weir_host_rate){ .rate_bps = (uint64_t)(found[i].rate_bps + 0.5) };
		weir_host_name(share->weir, found[i].key, found[i].index, &out[i]);
	}
	return (int)count;
}

void weir_share_state(struct weir_share *share, struct weir_share_state *out)
{
	struct weir_share_stats stats;

	pthread_mutex_lock(&share->lock);
	weir_controller_stats(share->controller, &stats);
	*out = (struct weir_share_state){
		.ticks = stats.ticks,
		.active = stats.active,
		.trees = stats.trees,
		.lent = stats.lent,
		.bursting = stats.bursting,
		.tick_us = stats.tick_us,
		.error = share->error,
		.slowest_bps = stats.slowest_bps,
	};
	pthread_mutex_unlock(&share->lock);
}
