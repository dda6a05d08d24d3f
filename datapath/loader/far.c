// SPDX-License-Identifier: Apache-2.0
/* Far ends of forks: who takes a packet of a target when it goes to (or comes from) a certain place. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "internal.h"

static int check_far(struct weir *weir, const struct weir_far_spec *spec)
{
	uint32_t slots = weir_meta(weir)->slots;
	uint32_t width = spec->family == 4 ? 32 : 128;

	if (spec->family != 4 && spec->family != 6 && spec->family != WEIR_FAR_INTERFACE)
		return weir_fail(EINVAL, "a far end of family %u is not possible", spec->family);
	if (spec->length > width)
		return weir_fail(EINVAL, "a far end of length %u is not possible", spec->length);
	if (!spec->fork || spec->fork >= slots || spec->slot >= slots)
		return weir_fail(EINVAL, "a far end of fork %u leads to slot %u, both below %u", spec->fork,
				 spec->slot, slots);
	return 0;
}

static struct weir_far_key key_of(const struct weir_far_spec *spec)
{
	struct weir_far_key key = {
		.bits = WEIR_FAR_FIXED_BITS + spec->length,
		.fork = spec->fork,
		.family = spec->family,
	};

	memcpy(key.end, spec->end, sizeof(key.end));
	return key;
}

/* Of one entry; the sum of them all is the same in whatever order the kernel tells them. */
static uint64_t sum_of(const struct weir_far_key *key, const struct weir_far *value)
{
	uint64_t words[(sizeof(*key) + sizeof(*value) + 7) / 8] = {}, hash = 0xcbf29ce484222325ULL;

	memcpy(words, key, sizeof(*key));
	memcpy((char *)words + sizeof(*key), value, sizeof(*value));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		hash = (hash ^ words[i]) * 0x100000001b3ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t sum_all(struct weir *weir)
{
	int fd = weir->map_fd[WEIR_MAP_FAR];
	struct weir_far_key key, *before = NULL;
	struct weir_far value;
	uint64_t sum = 0;

	while (!bpf_map_get_next_key(fd, before, &key)) {
		before = &key;
		if (!bpf_map_lookup_elem(fd, &key, &value))
			sum += sum_of(&key, &value);
	}
	return sum;
}

void weir_far_open(struct weir *weir)
{
	weir->far.sum = sum_all(weir);
}

/*
 * The kernel's trie is not mapped, and tells an entry in about a microsecond: looks take a hundredth of the time at
 * most, at every call of the guard up to 2,000 entries, every two seconds 20,000.
 */
#define FAR_REST 100

bool weir_far_is_wrong(struct weir *weir)
{
	uint64_t begun_ns = now_ns(), sum;
	bool is_wrong = weir->far.is_wrong;

	weir->far.is_wrong = false;
	if (is_wrong || begun_ns < weir->far.due_ns)
		return is_wrong;
	sum = sum_all(weir);
	weir->far.due_ns = begun_ns + (now_ns() - begun_ns) * FAR_REST;
	is_wrong = sum != weir->far.sum;
	weir->far.sum = sum; /* the agent is told, and knows what should be there */
	return is_wrong;
}

static int far_change(struct weir *weir, const struct weir_far_spec *remove, uint32_t removes,
		      const struct weir_far_spec *add, uint32_t adds)
{
	int fd = weir->map_fd[WEIR_MAP_FAR], error = 0;

	for (uint32_t i = 0; i < adds && !error; i++)
		error = check_far(weir, &add[i]);
	for (uint32_t i = 0; i < adds && !error; i++) {
		struct weir_far_key key = key_of(&add[i]);
		struct weir_far value = { .slot = add[i].slot, .rank = add[i].rank };

		error = bpf_map_update_elem(fd, &key, &value, BPF_ANY);
		if (error)
			error = weir_fail(errno, "the table of far ends takes no more than %u: %s",
					  weir_meta(weir)->prefixes, strerror(errno));
	}
	for (uint32_t i = 0; i < removes && !error; i++) {
		struct weir_far_key key = key_of(&remove[i]);

		if (bpf_map_delete_elem(fd, &key) && errno != ENOENT)
			error = weir_fail(errno, "a far end cannot be removed: %s", strerror(errno));
	}
	return error;
}

int weir_far_change(struct weir *weir, const struct weir_far_spec *remove, uint32_t removes,
		    const struct weir_far_spec *add, uint32_t adds)
{
	int error;

	pthread_mutex_lock(&weir->lookups);
	weir->far.is_wrong |= sum_all(weir) != weir->far.sum;
	error = far_change(weir, remove, removes, add, adds);
	weir->far.sum = sum_all(weir);
	pthread_mutex_unlock(&weir->lookups);
	return error;
}

int weir_far_read(struct weir *weir, struct weir_far_spec *out, uint32_t capacity)
{
	int fd = weir->map_fd[WEIR_MAP_FAR];
	struct weir_far_key key, *before = NULL;
	struct weir_far value;
	uint32_t count = 0;

	while (count < capacity && !bpf_map_get_next_key(fd, before, &key)) {
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &value))
			continue;
		out[count] = (struct weir_far_spec){
			.fork = key.fork,
			.family = key.family,
			.length = key.bits - WEIR_FAR_FIXED_BITS,
			.slot = value.slot,
			.rank = value.rank,
		};
		memcpy(out[count++].end, key.end, sizeof(key.end));
	}
	return count;
}
