// SPDX-License-Identifier: Apache-2.0
/* Classes: written and read in mapped memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "../share/controller.h"
#include "internal.h"

static int check_class(struct weir *weir, const struct weir_class_spec *spec)
{
	uint32_t slots = weir_meta(weir)->slots;

	if (!spec->slot || spec->slot >= slots)
		return weir_fail(EINVAL, "class slot %u is not between 1 and %u", spec->slot, slots - 1);
	if (!spec->key)
		return weir_fail(EINVAL, "class %u has no key", spec->slot);
	if (spec->parent_slot >= slots || spec->parent_slot == spec->slot)
		return weir_fail(EINVAL, "class %u cannot have parent %u", spec->slot, spec->parent_slot);
	if (spec->total_slot >= slots || spec->total_slot == spec->slot)
		return weir_fail(EINVAL, "class %u cannot have %u for its total", spec->slot,
				 spec->total_slot);
	for (int i = 0; i < 2; i++) {
		const struct weir_line_spec *line = &spec->line[i];

		if (line->rate_bps && line->rate_bps < WEIR_MIN_RATE_BPS)
			return weir_fail(EINVAL, "class %u: a rate of %llu bit/s is below the least of %u",
					 spec->slot, (unsigned long long)line->rate_bps, WEIR_MIN_RATE_BPS);
		if (line->burst_ns > WEIR_TIME_MAX_NS || line->limit_ns > WEIR_TIME_MAX_NS)
			return weir_fail(EINVAL, "class %u: burst or limit is above %llu ns", spec->slot,
					 (unsigned long long)WEIR_TIME_MAX_NS);
		if (line->priority > 8)
			return weir_fail(EINVAL, "class %u: priority %u is not 1 to 8", spec->slot,
					 line->priority);
	}
	return 0;
}

/* How many classes have a total: with none, HTB ports need not look for one (bpf/totals.h). */
static void total_store(struct weir *weir, struct weir_line *line, int direction, uint32_t total)
{
	if (direction == WEIR_UPLOAD && !line->shared != !total)
		weir_meta_store(weir, totals, weir->meant_meta.totals + (total ? 1 : -1));
	weir_publish(&line->shared, total);
}

/* A cost that the share controller lent stays as long as the rate does. */
static void line_store(struct weir *weir, uint32_t index, const struct weir_class_spec *spec, int direction)
{
	const struct weir_line_spec *from = &spec->line[direction];
	struct weir_detail *detail = &weir_details(weir)[index];
	struct weir_line *line = &weir_lines(weir)[index];

	weir_publish(&line->burst, (uint32_t)WEIR_NS_TO_TIME(from->burst_ns));
	weir_publish(&line->limit, (uint32_t)WEIR_NS_TO_TIME(from->limit_ns));
	if (detail->rate_bps != from->rate_bps) {
		weir_publish(&detail->rate_bps, from->rate_bps);
		weir_publish(&line->cost, weir_cost_of(from->rate_bps));
	}
	weir_publish(&detail->guarantee_bps, from->guarantee_bps);
	weir_publish(&line->flags, (line->flags & ~(WEIR_LINE_PRIORITY | WEIR_LINE_FORK)) |
					   (from->priority & WEIR_LINE_PRIORITY) |
					   (spec->fork ? WEIR_LINE_FORK : 0));
	weir_publish(&detail->htb_classid, from->htb_classid);
	total_store(weir, line, direction, spec->total_slot * 2);
	weir_publish(&line->parent, spec->parent_slot ? spec->parent_slot * 2 + direction : 0);
}

/* Backlogs are not mapped (nobody reads them all): many are cleared by one call of the kernel. */
#define BACKLOGS 256

struct backlogs {
	uint32_t index[BACKLOGS];
	uint32_t count;
};

static int backlogs_clear(struct weir *weir, struct backlogs *backlogs)
{
	static const struct weir_backlog none[BACKLOGS];
	uint32_t count = backlogs->count;

	backlogs->count = 0;
	if (!count ||
	    !bpf_map_update_batch(weir->map_fd[WEIR_MAP_WAITS], backlogs->index, none, &count, NULL))
		return 0;
	return weir_fail(errno, "backlogs cannot be cleared: %s", strerror(errno));
}

static int backlog_clear(struct weir *weir, struct backlogs *backlogs, uint32_t index)
{
	backlogs->index[backlogs->count++] = index;
	return backlogs->count == BACKLOGS ? backlogs_clear(weir, backlogs) : 0;
}

/* What is prepaid for the class that goes is not for the next one: that has another age. */
static void line_clear(struct weir *weir, uint32_t index)
{
	struct weir_detail *detail = &weir_details(weir)[index];
	struct weir_line *line = &weir_lines(weir)[index];
	uint32_t age = ((line->flags & WEIR_LINE_AGE) + (1 << WEIR_LINE_AGE_SHIFT)) & WEIR_LINE_AGE;

	weir->digests[index] = 0;
	weir_publish(&line->flags, line->flags & ~WEIR_LINE_LIVE);
	weir_publish(&detail->key, 0);
	total_store(weir, line, index % 2, 0);
	weir_subqueues_clear(weir, index);
	weir_round_trips_clear(weir, index);
	weir_losses_clear(weir, index);
	memset(line, 0, sizeof(*line));
	memset(detail, 0, sizeof(*detail));
	weir_publish(&line->flags, age);
}

/* Lines that change hands are empty before the first new class is in one. */
static int clear_replaced(struct weir *weir, const struct weir_class_spec *specs, uint32_t count)
{
	struct backlogs backlogs = { .count = 0 };
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		for (uint32_t index = specs[i].slot * 2; index < specs[i].slot * 2 + 2 && !error; index++) {
			if (weir_details(weir)[index].key == specs[i].key)
				continue;
			line_clear(weir, index);
			error = backlog_clear(weir, &backlogs, index);
		}
	}
	return error ?: backlogs_clear(weir, &backlogs);
}

#define DIGEST_FLAGS (WEIR_LINE_PRIORITY | WEIR_LINE_FORK | WEIR_LINE_LIVE)

/* Of all that was configured; FNV-1a by words. Not the cost, which may be lent, nor what packets change. */
static uint64_t digest_of(const struct weir *weir, uint32_t index)
{
	const struct weir_detail *detail = (const struct weir_detail *)weir->map[WEIR_MAP_DETAILS] + index;
	const struct weir_line *line = (const struct weir_line *)weir->map[WEIR_MAP_LINES] + index;
	const uint64_t words[] = {
		(uint64_t)line->burst << 32 | line->limit,
		(uint64_t)line->parent << 32 | line->shared,
		(uint64_t)detail->htb_classid << 32 | (line->flags & DIGEST_FLAGS),
		detail->key,
		detail->rate_bps,
		detail->guarantee_bps,
	};
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		hash = (hash ^ words[i]) * 0x100000001b3ULL;
	return hash ?: 1;
}

static void digest_keep(struct weir *weir, uint32_t index)
{
	weir->digests[index] = digest_of(weir, index);
	if (index >= weir->digests_end)
		weir->digests_end = index + 1;
}

int weir_classes_open(struct weir *weir)
{
	uint32_t lines = weir_meta(weir)->slots * 2;

	weir->digests = calloc(lines, sizeof(*weir->digests));
	if (!weir->digests)
		return weir_fail(ENOMEM, "no memory for the digests of %u lines", lines);
	for (uint32_t index = 2; index < lines; index++)
		if (weir_details(weir)[index].key)
			digest_keep(weir, index);
	return 0;
}

/* The configured cost, where the line has another and nobody lends it one. */
static bool cost_mend(struct weir *weir, uint32_t index)
{
	uint64_t own = weir_cost_of(weir_details(weir)[index].rate_bps);
	__u64 *cost = &weir_lines(weir)[index].cost;

	for (int look = 0; look < 2; look++) { /* it may be given back at this moment */
		int64_t off = (int64_t)(__atomic_load_n(cost, __ATOMIC_ACQUIRE) - own);

		if ((off >= -1 && off <= 1) ||
		    (weir->controller && weir_controller_lent(weir->controller, index)))
			return false;
	}
	weir_publish(cost, own);
	return true;
}

/*
 * So many lines at a look: five looks a second see those of 100,000 classes in a second, in 0.5 ms each (a million: in
 * ten). What was not configured so is told; the agent writes the class again.
 */
#define GUARDED_LINES 40960

void weir_classes_guard(struct weir *weir, struct weir_guard *out)
{
	uint32_t seen = 0, wrong = 0, first = 0, rows;

	if (pthread_mutex_trylock(&weir->classes))
		return; /* the next look comes soon */
	for (uint32_t steps = 0; steps < weir->digests_end && seen < GUARDED_LINES; steps++) {
		uint32_t index = weir->next_digest < weir->digests_end ? weir->next_digest : 0;

		weir->next_digest = index + 1;
		if (!weir->digests[index])
			continue;
		seen++;
		if (!cost_mend(weir, index) && digest_of(weir, index) == weir->digests[index])
			continue;
		first = wrong++ ? first : index / 2;
	}
	rows = weir_subqueues_mend(weir);
	pthread_mutex_unlock(&weir->classes);
	if (rows)
		weir_guard_tell(out, "%u rows of sub-queues were changed", rows);
	if (wrong)
		weir_guard_tell(out, "%u lines of classes were changed, the first of slot %u", wrong, first);
}

static int classes_write(struct weir *weir, const struct weir_class_spec *specs, uint32_t count)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = check_class(weir, &specs[i]);
	error = error ?: clear_replaced(weir, specs, count);
	if (error)
		return error;
	for (uint32_t i = 0; i < count; i++) {
		for (int direction = 0; direction < 2; direction++) {
			uint32_t index = specs[i].slot * 2 + direction;
			struct weir_detail *detail = &weir_details(weir)[index];
			struct weir_line *line = &weir_lines(weir)[index];

			line_store(weir, index, &specs[i], direction);
			weir_publish(&detail->key, specs[i].key);
			weir_publish(&line->flags, line->flags | WEIR_LINE_LIVE);
			digest_keep(weir, index);
		}
	}
	weir_publish(&weir->classes_generation, weir->classes_generation + 1);
	return 0;
}

int weir_classes_write(struct weir *weir, const struct weir_class_spec *specs, uint32_t count)
{
	int error;

	pthread_mutex_lock(&weir->classes);
	error = classes_write(weir, specs, count);
	pthread_mutex_unlock(&weir->classes);
	return error;
}

/* A writer that died in between may have left the count wrong. */
void weir_totals_count(struct weir *weir)
{
	uint64_t totals = 0;

	for (uint32_t slot = 1; slot < weir_meta(weir)->slots; slot++)
		totals += weir_lines(weir)[slot * 2].shared != 0;
	weir_meta_store(weir, totals, totals);
}

int weir_classes_read(struct weir *weir, struct weir_class_spec *out, uint32_t capacity)
{
	uint32_t count = 0;

	for (uint32_t slot = 1; slot < weir_meta(weir)->slots && count < capacity; slot++) {
		const struct weir_line *lines = &weir_lines(weir)[slot * 2];
		const struct weir_detail *details = &weir_details(weir)[slot * 2];
		struct weir_class_spec *spec = &out[count];

		if (!details[0].key)
			continue;
		*spec = (struct weir_class_spec){
			.slot = slot,
			.parent_slot = lines[0].parent / 2,
			.total_slot = lines[0].shared / 2,
			.fork = !!(lines[0].flags & WEIR_LINE_FORK),
			.key = details[0].key,
		};
		for (int direction = 0; direction < 2; direction++)
			spec->line[direction] = (struct weir_line_spec){
				.rate_bps = details[direction].rate_bps,
				.burst_ns = WEIR_TIME_TO_NS(lines[direction].burst),
				.limit_ns = WEIR_TIME_TO_NS(lines[direction].limit),
				.guarantee_bps = details[direction].guarantee_bps,
				.htb_classid = details[direction].htb_classid,
				.priority = lines[direction].flags & WEIR_LINE_PRIORITY,
			};
		count++;
	}
	return count;
}

int weir_class_clear(struct weir *weir, uint32_t slot)
{
	if (!slot || slot >= weir_meta(weir)->slots)
		return weir_fail(EINVAL, "there is no class slot %u", slot);
	pthread_mutex_lock(&weir->classes);
	line_clear(weir, slot * 2);
	line_clear(weir, slot * 2 + 1);
	pthread_mutex_unlock(&weir->classes);
	weir_publish(&weir->classes_generation, weir->classes_generation + 1);
	return backlogs_clear(weir, &(struct backlogs){ { slot * 2, slot * 2 + 1 }, 2 });
}
