// SPDX-License-Identifier: Apache-2.0
/* The prefix tables and the tree when they are opened, and when somebody else wrote into them. */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "weir/hash.h"

static bool is_possible(const struct weir *weir, const struct weir_table *table,
			const struct weir_prefix *prefix)
{
	struct weir_prefix_spec spec;

	weir_prefix_spec_of(prefix, table == &weir->table[0] ? 4 : 6, &spec);
	return prefix->tag == weir_prefix_tag(spec.domain, spec.length) &&
	       !weir_prefix_check((struct weir *)weir, &spec, true);
}

static int lengths_count(struct weir *weir)
{
	memset(weir->length_count, 0, sizeof(weir->length_count));
	for (uint32_t i = 0; i <= weir->table[1].mask; i++)
		if (weir->table[1].entries[i].tag > WEIR_TAG_DEAD)
			weir->length_count[weir->table[1].entries[i].tag & 0xff]++;
	return weir_lengths_publish(weir, weir->length_count);
}

/* What is lost cannot be found here: the agent knows what should be there, and is told. */
int weir_prefixes_mend(struct weir *weir)
{
	bool is_wrong[WEIR_WATCHED];
	int error = weir_lookup_maps_take(weir);

	for (int i = 0; i < WEIR_WATCHED; i++)
		is_wrong[i] = weir->watched[i].is_wrong;
	for (int family = 0; family < 2 && !error; family++)
		if (is_wrong[family])
			error = weir_table_mend(&weir->table[family], weir, is_possible);
	error = error ?: lengths_count(weir);
	if (is_wrong[WEIR_WATCHED_TREE])
		error = error ?: weir_prefixes_rebuild(weir);
	for (int i = 0; i < WEIR_WATCHED && !error; i++)
		if (is_wrong[i])
			weir_watched_adopt(weir, i);
	weir_watched_settle(weir);
	return error;
}

/* The tables and the tree as they are; `mend`: as they should be. */
static int settle_opened(struct weir *weir, bool mend)
{
	bool differs = false;
	int error = weir_watched_open(weir, &differs);

	if (error)
		return error;
	if (!mend && !differs) {
		error = lengths_count(weir);
		if (weir_meta(weir)->updating)
			error = error ?: weir_prefixes_rebuild(weir);
		weir_watched_settle(weir);
		return error;
	}
	for (int i = 0; i < WEIR_WATCHED; i++)
		weir->watched[i].is_wrong = true;
	return weir_prefixes_mend(weir);
}

int weir_prefixes_open(struct weir *weir)
{
	const struct weir_meta *meta = weir_meta(weir);
	bool mend;
	int error = 0;

	weir->table[0].watched = &weir->watched[WEIR_WATCHED4];
	weir->table[1].watched = &weir->watched[WEIR_WATCHED6];
	weir->tree.watched = &weir->watched[WEIR_WATCHED_TREE];
	for (int family = 0; family < 2 && !error; family++)
		error = weir_table_open(&weir->table[family], weir->map[WEIR_MAP_PREFIX4 + family],
					meta->prefix_entries, meta->prefixes);
	error = error ?: weir_tree_open(&weir->tree, weir->map[WEIR_MAP_V4], meta->v4_units, meta->domains);
	mend = error == -EPROTO;
	if (mend) { /* it leads outside itself: nothing of it is believed */
		weir_tree_forget(&weir->tree);
		error = 0;
	}
	return error ?: settle_opened(weir, mend);
}

void weir_prefixes_close(struct weir *weir)
{
	weir_table_close(&weir->table[0]);
	weir_table_close(&weir->table[1]);
	weir_tree_close(&weir->tree);
	weir_watched_close(weir);
}
