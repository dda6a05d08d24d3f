// SPDX-License-Identifier: Apache-2.0
/* Far ends of forks: who takes a packet of a target when it goes to (or comes from) a certain place. */
#include <errno.h>
#include <string.h>

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

int weir_far_change(struct weir *weir, const struct weir_far_spec *remove, uint32_t removes,
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
