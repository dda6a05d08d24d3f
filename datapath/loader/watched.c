// SPDX-License-Identifier: Apache-2.0
/*
 * Who wrote what lookups read: a sum of each 4 KB of the IPv4 tree and of both tables of prefixes, as this
 * process left them.
 *
 * A writer touches a page before its first store into it, which looks at the page once more, and settles what it
 * touched when its change is done: what this process writes never looks like another's. The guard looks at pages
 * in turn, through a window of its own where the tables are not mapped (weir_rest). The sum over all pages of a
 * map is kept in weir_meta: the next loader sees what was changed while none ran.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define PAGE 4096
#define LANES 4
#define WINDOW_PAGES 512

/*
 * So many pages at a look. Five looks a second see the tables of 131,072 prefixes, where packets may read them, in a
 * second; smaller ones at every look.
 */
#define GUARDED_PAGES 2048

static const enum weir_map watched_maps[WEIR_WATCHED] = { WEIR_MAP_PREFIX4, WEIR_MAP_PREFIX6, WEIR_MAP_V4 };

/* Four chains beside each other, as a multiplication takes as long as three others; the turn lets high bits count. */
static uint64_t sum_of(const void *page)
{
	const uint64_t *word = page;
	uint64_t lane[LANES] = { 1, 2, 3, 4 }, sum = 0;

	for (size_t i = 0; i < PAGE / sizeof(*word); i += LANES)
		for (size_t l = 0; l < LANES; l++) {
			uint64_t mixed = lane[l] ^ word[i + l];

			lane[l] = (mixed << 23 | mixed >> 41) * 0x9e3779b97f4a7c15ULL;
		}
	for (size_t l = 0; l < LANES; l++)
		sum = (sum ^ lane[l] ^ lane[l] >> 32) * 0xff51afd7ed558ccdULL;
	return sum;
}

/* Pages of one content count as often as they are there, so the place is part of it. */
static uint64_t part_of_total(uint32_t page, uint64_t sum)
{
	return (sum ^ page) * 0xc4ceb9fe1a85ec53ULL;
}

static void keep(struct weir_watched *watched, uint32_t page)
{
	uint64_t sum = sum_of(watched->memory + (size_t)page * PAGE);

	watched->total += part_of_total(page, sum) - part_of_total(page, watched->sums[page]);
	watched->sums[page] = sum;
}

void weir_touch(struct weir_watched *watched, const void *first, size_t bytes)
{
	uint32_t page, last;

	if (!watched->sums) /* while it is being opened: nothing is known yet */
		return;
	page = ((const char *)first - watched->memory) / PAGE;
	last = ((const char *)first + bytes - 1 - watched->memory) / PAGE;
	for (; page <= last; page++) {
		if (watched->is_touched[page])
			continue;
		if (sum_of(watched->memory + (size_t)page * PAGE) != watched->sums[page])
			watched->is_wrong = true;
		watched->is_touched[page] = true;
		watched->touched[watched->touched_count++] = page;
	}
}

static void totals_store(struct weir *weir)
{
	for (int i = 0; i < WEIR_WATCHED; i++)
		weir_meta_store(weir, sums[i], weir->watched[i].total);
}

void weir_watched_settle(struct weir *weir)
{
	for (int i = 0; i < WEIR_WATCHED; i++) {
		struct weir_watched *watched = &weir->watched[i];

		for (uint32_t t = 0; t < watched->touched_count; t++) {
			keep(watched, watched->touched[t]);
			watched->is_touched[watched->touched[t]] = false;
		}
		watched->touched_count = 0;
	}
	totals_store(weir);
}

void weir_watched_adopt(struct weir *weir, int which)
{
	for (uint32_t page = 0; page < weir->watched[which].pages; page++)
		keep(&weir->watched[which], page);
	weir->watched[which].is_wrong = false;
}

static int watched_open(struct weir *weir, struct weir_watched *watched, enum weir_map map)
{
	watched->memory = weir->map[map];
	watched->pages = weir->map_bytes[map] / PAGE;
	watched->sums = calloc(watched->pages, sizeof(*watched->sums));
	watched->is_touched = calloc(watched->pages, sizeof(*watched->is_touched));
	watched->touched = calloc(watched->pages, sizeof(*watched->touched));
	if (!watched->sums || !watched->is_touched || !watched->touched)
		return weir_fail(ENOMEM, "no memory for the sums of %u pages", watched->pages);
	for (uint32_t page = 0; page < watched->pages; page++) {
		watched->sums[page] = sum_of(watched->memory + (size_t)page * PAGE);
		watched->total += part_of_total(page, watched->sums[page]);
	}
	return 0;
}

int weir_watched_open(struct weir *weir, bool *differs)
{
	int error = 0;

	*differs = false;
	for (int i = 0; i < WEIR_WATCHED && !error; i++) {
		error = watched_open(weir, &weir->watched[i], watched_maps[i]);
		/* 0: an older build wrote them last. */
		*differs |= weir_meta(weir)->sums[i] && weir_meta(weir)->sums[i] != weir->watched[i].total;
	}
	return error;
}

void weir_watched_close(struct weir *weir)
{
	for (int i = 0; i < WEIR_WATCHED; i++) {
		free(weir->watched[i].sums);
		free(weir->watched[i].is_touched);
		free(weir->watched[i].touched);
	}
}

/* Whether this process may have a node there: what lies beside, packets never read. */
static bool is_read(const struct weir *weir, int which, uint32_t page)
{
	static const uint8_t none[PAGE / sizeof(struct weir_v4_unit)];
	uint32_t unit = page * sizeof(none);

	if (watched_maps[which] != WEIR_MAP_V4 || unit + sizeof(none) > weir->tree.count)
		return true;
	return memcmp(weir->tree.state + unit, none, sizeof(none));
}

/* Look at `count` pages from `first` on; the number of those that packets may read. */
static uint32_t look(struct weir *weir, int which, uint32_t first, uint32_t count)
{
	struct weir_watched *watched = &weir->watched[which];
	const char *memory = watched->memory + (size_t)first * PAGE;
	uint32_t seen = 0;

	if (weir->lookups_resting)
		memory = mmap(NULL, (size_t)count * PAGE, PROT_READ, MAP_SHARED,
			      weir->map_fd[watched_maps[which]], (off_t)first * PAGE);
	if (memory == MAP_FAILED)
		return count; /* no memory now: the next look comes soon */
	for (uint32_t i = 0; i < count; i++) {
		if (!is_read(weir, which, first + i))
			continue;
		seen++;
		if (sum_of(memory + (size_t)i * PAGE) != watched->sums[first + i])
			watched->is_wrong = true;
	}
	if (weir->lookups_resting)
		munmap((void *)memory, (size_t)count * PAGE);
	return seen;
}

void weir_watched_look(struct weir *weir)
{
	uint32_t all = 0, seen = 0;

	for (int i = 0; i < WEIR_WATCHED; i++)
		all += weir->watched[i].pages;
	for (uint32_t gone = 0; gone < all && seen < GUARDED_PAGES;) {
		struct weir_watched *watched = &weir->watched[weir->look_map];
		uint32_t left = watched->pages - weir->look_page;
		uint32_t count = left < WINDOW_PAGES ? left : WINDOW_PAGES;

		seen += look(weir, weir->look_map, weir->look_page, count);
		gone += count;
		weir->look_page += count;
		if (weir->look_page < watched->pages)
			continue;
		weir->look_page = 0;
		weir->look_map = (weir->look_map + 1) % WEIR_WATCHED;
	}
}
