/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of the IPv4 tree (node4.c), and what a change in progress has noted. The tree itself: internal.h. */
#ifndef WEIR_NODE4_H
#define WEIR_NODE4_H

#include "internal.h"

#define CHILDREN 256
#define UNIT_USED 1
#define UNIT_FRESH 2 /* of the change in progress */

#define HOST_LENGTH 33 /* leaf_length of a single address */

struct weir_span {
	uint32_t unit, units;
};

struct weir_store {
	uint32_t *place;
	uint32_t value;
};

struct weir_edit {
	struct weir_tree *tree;
	struct weir_list fresh; /* struct weir_span */
	struct weir_list replaced; /* struct weir_span: what packets still read */
	struct weir_list stores; /* struct weir_store, to be done when all is built */
	int error;
};

static inline uint32_t leaf_length(uint32_t leaf)
{
	return leaf >> WEIR_V4_DEPTH_SHIFT; /* plus one; 0 = nothing */
}

/*
 * Somebody else may have written into the tree (the guard sees it a moment later): what an entry says of where
 * its node is and how large is not believed.
 */
static inline bool weir_node_is_inside(const struct weir_tree *tree, uint32_t entry, uint32_t units)
{
	return (entry & WEIR_V4_UNIT) < tree->count && tree->count - (entry & WEIR_V4_UNIT) >= units;
}

/* Its first unit, of zeros for one that is outside. */
const struct weir_v4_unit *weir_node_first(const struct weir_tree *tree, uint32_t entry);

uint32_t weir_node_units(const struct weir_tree *tree, uint32_t entry);
/* Which of the two levels below the first a node is on; its children are regions of 2^level addresses. */
enum weir_level { LEVEL_LAST = 0, LEVEL_UPPER = 8 };

/* Leaves of the last level come one for each address: none of them counts. */
void weir_node_decode(const struct weir_tree *tree, uint32_t entry, enum weir_level level,
		      uint32_t *children);
/* Returns the entry to put in the parent in place of `old`. */
uint32_t weir_node_encode(struct weir_edit *edit, const uint32_t *children, enum weir_level level,
			  uint32_t old);
uint32_t weir_leaf_slot(uint32_t leaf, uint32_t address);
void weir_span_release(struct weir_tree *tree, const struct weir_span *span);
void weir_note_store(struct weir_edit *edit, uint32_t *place, uint32_t value);
void weir_note_replaced(struct weir_edit *edit, uint32_t entry);

/* The run that holds for the address `low` of 65,536; `run` or one after it. */
uint32_t weir_sparse_run(const struct weir_v4_unit *sparse, uint32_t run, uint32_t low);
/* A sparse node as ordinary ones, which hold any number of runs. */
uint32_t weir_sparse_expand(struct weir_edit *edit, uint32_t entry);
/* As weir_node_encode, of `count` runs. */
uint32_t weir_sparse_encode(struct weir_edit *edit, struct weir_v4_unit *sparse, uint32_t count,
			    uint32_t old);

#endif
