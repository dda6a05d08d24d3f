/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The maps' layout: shared by the BPF programs, the loader and (as offsets) the control plane.
 *
 * Everything here lives in BPF arrays that user space maps into its memory. Who writes what:
 *   struct weir_line, weir_detail
 *                        clock_tk, held and the counters: BPF, by atomics only (the loader zeroes a row while
 *                        its slot is in no table). All other fields: the loader, aligned stores;
 *                        `cost` also the share controller, which lends a class less or more than its rate.
 *   weir_up              BPF: what XDP sent up the stack lately (bpf/held.h).
 *   struct weir_used     BPF sets bytes; the loader takes them back to 0.
 *   struct weir_quantum, weir_hop
 *                        BPF, each CPU its own.
 *   struct weir_hop_state BPF counts changes of neighbours; all else in it, and weir_regions: the loader.
 *   struct weir_round_trips
 *                        BPF; a row changes hands by compare-and-swap on `line`.
 *   struct weir_losses   BPF; likewise.
 *   struct weir_backlog, weir_host, weir_flow_clock: BPF; made and replaced by compare-and-swap on one word.
 *   struct weir_host_name BPF; readers compare the hash.
 *   struct weir_subqueues: the loader; `cost` also the share controller; its last fields BPF.
 *   everything else      the loader; BPF only reads.
 *
 * A *line* is one direction of one class: line = slot * 2 + direction. Slot 0 means "no class".
 *
 * Time: departure clocks count ticks of 1/16 ns (CLOCK_MONOTONIC), because one 64-byte packet takes
 * 5.12 ns at 100 Gbit/s and rounding to whole nanoseconds would be a rate error of 2 %.
 * 2^64 ticks are 36 years.
 */
#ifndef WEIR_ABI_H
#define WEIR_ABI_H

#include <linux/types.h>

#include "weir/abi/hop.h"
#include "weir/abi/line.h"
#include "weir/abi/port.h"
#include "weir/abi/tables.h"
#include "weir/abi/wait.h"

/* A change that an older program or loader cannot live with: new maps are needed. */
#define WEIR_ABI 7

#define WEIR_TICK_SHIFT 4 /* ticks = ns << 4 */
#define WEIR_TIME_SHIFT 8 /* times in weir_line are in 2^8 ticks = 16 ns: 68 s in 32 bits */
#define WEIR_COST_SHIFT 16 /* cost per byte: ticks with 16 fractional bits, i.e. ns with 20 */
#define WEIR_MIN_RATE_BPS 100 /* below it the cost of WEIR_MAX_BYTES does not fit 64 bits */
#define WEIR_MAX_BYTES 131072 /* charged for one packet at most */
#define WEIR_LEVELS 8

/*
 * skb->mark: bits 8 to 27 carry the upload class's slot from ingress to egress, bit 28 says that a port
 * which the packet left by before has charged it, and bit 29 that the upload class is full (bpf/full.h):
 * the firewall opens no connection for it. Bit 30 is on a frame that proves a packet's way (weir/prove.h). Bits 0 to 7 and 31
 * are free for other uses; the programs never touch them, nor bit 30.
 */
#define WEIR_MARK_SHIFT 8
#define WEIR_MARK_SLOT 0x0fffff00U
#define WEIR_MARK_CHARGED 0x10000000U
#define WEIR_MARK_FULL 0x20000000U
#define WEIR_MARK_MASK (WEIR_MARK_SLOT | WEIR_MARK_CHARGED | WEIR_MARK_FULL)
#define WEIR_MAX_SLOTS ((1U << 20) - 1)
#define WEIR_SLOT_UNREAD WEIR_MAX_SLOTS /* nobody's: came in unreadable, by a port without a queue */

struct weir_meta {
	__u32 abi;
	__u32 slots;
	__u32 prefixes; /* per family at most */
	__u32 prefix_entries; /* of each table; power of two, twice as many */
	__u32 v4_units;
	__u32 domains;
	__u32 lengths_active; /* which of lengths[] packets use */
	struct weir_lengths lengths[2];
	__u32 updating; /* the v4 tree may lag behind the v4 prefixes: rebuild on open */
	__u64 program; /* which build of the programs is attached */
	__u64 flow_lookup; /* 1: the fast path asks the kernel's flow table */
	__u64 totals; /* classes that are charged to a total */
	__u32 flows; /* entries of weir_flows, and of weir_hosts: a power of two */
	__u32 subqueues; /* rows of weir_subqueues, row 0 unused */
	__u64 sums[3]; /* of both tables of prefixes and the tree, as the loader left them; 0 = not known */
	__u64 reserved;
};

#endif
