/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which side of the router TCP loses data, from sequence numbers (RFC 9293), seen where and when round trips are
 * (round_trip.h): one flow of a line is followed in each of its windows. Where HTB holds the packets nothing is followed:
 * what its classes drop is told to no program.
 *
 * - A hole in the sequence numbers that a later packet fills was lost *before* the router.
 * - A repeat of what has passed was lost *after* it. Not if its acknowledgement passed as well: the receiver has the data, and
 *   the sender did not hear so in time. Where the acknowledgement was lost on the far side of the router, too, nothing
 *   tells that from lost data, and it is that side.
 * - As many repeats as the line's own limits dropped packets meanwhile are those: their side is this router.
 *
 * Only what was sent again counts: a packet with a timestamp (RFC 7323) newer than those before, or the same one as the
 * newest while the data was of an earlier tick. What is older came late on another way, and fills its hole without a loss.
 * Where the round trip is shorter than a tick of the sender's, losses may be missed.
 *
 * How much is missing is counted, not where: of several open holes only the first one's begin is known. Each byte of a
 * hole is lost once, so what was sent again adds up on both sides, in whatever order it comes.
 *
 * XDP and tc may see one packet both, and what follows a packet that went up goes up unseen (held.h). So of a flow that
 * XDP sees, tc takes what is ahead of it, and leaves what is not alone; until only tc sees it.
 *
 * Concurrency: a row is claimed by compare-and-swap; all else are single loads and stores. Packets of one flow come on one
 * CPU; where they do not, single packets are counted wrongly.
 */
#ifndef WEIR_BPF_LOSS_H
#define WEIR_BPF_LOSS_H

#include "weir/abi.h"

#include "line.h"
#include "tcp.h"

#define WEIR_LOOK_SHIFT 30 /* of ns: windows of 1.07 s */
#define WEIR_LOSS_SHIFT 26 /* of ns: 67 ms */
#define WEIR_LOSS_WINDOW (WEIR_LOOK_SHIFT - WEIR_LOSS_SHIFT) /* shift of these */
#define WEIR_LOSS_IDLE (32U << WEIR_LOSS_WINDOW) /* 34 s */
#define WEIR_SETTLES 3 /* 134 ms and more, in which a flow may be in the middle of sending again */
#define WEIR_JUMP (1 << 24) /* bytes; farther away it is another flow's number */
#define WEIR_OTHERS_MAX                                                                                      \
	128 /* packets of other flows, or of this one by tc alone, after which that is followed; NAPI has 64 */
#define WEIR_JUMBO 9000 /* bytes; what has more is segments of GRO, of WEIR_FULL bytes */
#define WEIR_FULL 1460

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_LOSS_ROWS);
	__type(key, __u32);
	__type(value, struct weir_losses);
} weir_losses SEC(".maps");

/* What a TCP packet says of its place in the flow. */
struct weir_segment {
	__u32 now; /* 2^26 ns */
	__u32 sequence;
	__u32 bytes; /* of data; 0 = none, or nobody knows */
	__u32 value; /* its timestamp */
	__u32 flow; /* hash of both ends; the last bit: seen by XDP */
	__u16 far;
};

static __always_inline struct weir_losses *weir_losses_of(__u32 index)
{
	__u32 row = WEIR_LOSS_ROW(index);

	return bpf_map_lookup_elem(&weir_losses, &row);
}

/* Packets that the line's own limits dropped. */
static __always_inline __u32 weir_own_drops(__u32 index)
{
	struct weir_detail *detail = bpf_map_lookup_elem(&weir_details, &index);

	return detail ? detail->drop_packets : 0;
}

/* Nothing is counted of what is up to this segment. */
static __always_inline void weir_loss_settle(struct weir_losses *losses, __u32 index,
					     const struct weir_segment *segment)
{
	losses->first = losses->acked = losses->old = losses->next = segment->sequence + segment->bytes;
	losses->value = segment->value;
	losses->missing = 0;
	losses->dropped = weir_own_drops(index);
}

/*
 * The first one seen may be one that is sent again, far behind the newest: what is ahead of it then is no hole. So nothing
 * is counted until a flow has shown for some time where its newest data is.
 */
static __always_inline void weir_follow(struct weir_losses *losses, __u32 index,
					const struct weir_segment *segment)
{
	losses->flow = segment->flow;
	losses->far = segment->far;
	losses->others = 0;
	losses->begun = segment->now;
	weir_loss_settle(losses, index, segment);
}

/* The row of this line, in this window; NULL: it is another line's. */
static __always_inline struct weir_losses *weir_losses_now(__u32 index, __u32 now)
{
	struct weir_losses *losses = weir_losses_of(index);
	__u32 line;

	if (!losses)
		return NULL;
	line = losses->line;
	if (line != index) {
		if (line && now - losses->begun < WEIR_LOSS_IDLE)
			return NULL;
		if (__sync_val_compare_and_swap(&losses->line, line, index) != line)
			return NULL;
		losses->seen = losses->before = losses->after = 0;
		losses->before_packets = losses->after_packets = 0;
		losses->begun = now - (1 << WEIR_LOSS_WINDOW);
	}
	if ((losses->begun ^ now) >> WEIR_LOSS_WINDOW) {
		losses->begun = now;
		losses->flow = 0;
		losses->seen -= losses->seen >> 2;
		losses->before -= losses->before >> 2;
		losses->after -= losses->after >> 2;
		losses->before_packets -= losses->before_packets >> 2;
		losses->after_packets -= losses->after_packets >> 2;
	}
	return losses;
}

/* An acknowledgement of the other line passes: up to there nothing is missing any more, by whatever way it went. */
static __always_inline void weir_loss_acked(__u32 index, __u32 now, __u16 far, __u32 ack)
{
	struct weir_losses *losses = weir_losses_of(index);
	__u32 open;

	if (!losses || losses->line != index || (losses->begun ^ now) >> WEIR_LOSS_WINDOW || !losses->flow ||
	    losses->far != far)
		return;
	open = losses->next - ack;
	if ((__s32)(ack - losses->acked) <= 0 || (__s32)open < 0)
		return;
	losses->acked = ack;
	if (losses->missing > open)
		losses->missing = open;
	if ((__s32)(ack - losses->hole) > 0)
		losses->hole = ack;
}

/* `bytes` from `sequence` on were sent again, and the receiver does not have them as far as anybody knows. */
static __always_inline void weir_loss_count(struct weir_losses *losses, __u32 index, __u32 sequence,
					    __u32 bytes)
{
	__u32 own, filled;

	if (losses->missing && (__s32)(sequence - losses->hole) >= 0) {
		filled = bytes < losses->missing ? bytes : losses->missing;
		losses->before += filled;
		losses->before_packets++;
		losses->missing -= filled;
		if (sequence == losses->hole)
			losses->hole += filled;
		bytes -= filled;
	}
	if (!bytes)
		return;
	own = weir_own_drops(index) - losses->dropped;
	if (own) {
		bytes = bytes > WEIR_JUMBO ? bytes / WEIR_FULL :
					     1; /* rather too few, so that more are ours */
		losses->dropped += bytes < own ? bytes : own;
		return;
	}
	losses->after += bytes;
	losses->after_packets++;
}

/* A packet with data from `sequence` on that is not new, `bytes` of it. */
static __always_inline void weir_loss_old(struct weir_losses *losses, __u32 index,
					  const struct weir_segment *segment, __u32 bytes)
{
	__u32 sequence = segment->sequence, known;
	__s32 newer = segment->value - losses->value;

	if ((__s32)(sequence - losses->first) < 0)
		return; /* it passed before this window, or did not: nobody looked */
	if (newer < 0 || (!newer && (__s32)(sequence - losses->old) >= 0)) {
		/* Late, and not sent again: it fills a hole, or came twice. */
		if (losses->missing && (__s32)(sequence - losses->hole) >= 0)
			losses->missing -= bytes < losses->missing ? bytes : losses->missing;
		return;
	}
	if (newer > 0) {
		losses->value = segment->value;
		losses->old = losses->next;
	}
	known = losses->acked - sequence;
	if ((__s32)known > 0) {
		if (known >= bytes)
			return; /* the receiver has it */
		sequence += known;
		bytes -= known;
	}
	weir_loss_count(losses, index, sequence, bytes);
}

static __always_inline void weir_loss_new(struct weir_losses *losses, const struct weir_segment *segment)
{
	__u32 gap = segment->sequence - losses->next;

	if (gap && !losses->missing)
		losses->hole = losses->next;
	losses->missing += gap;
	losses->next += gap + segment->bytes;
	losses->seen += segment->bytes;
	if ((__s32)(segment->value - losses->value) > 0) {
		losses->value = segment->value;
		losses->old = segment->sequence;
	}
}

/* Whether this packet of another flow, or of another path, is left alone. Else its flow is followed from now on. */
static __always_inline bool weir_is_other_flow(struct weir_losses *losses, __u32 flow)
{
	if (!losses->flow)
		return false;
	if ((losses->flow ^ flow) == 1 && flow & 1)
		return false;
	return ++losses->others < WEIR_OTHERS_MAX;
}

/* A packet of this line that has data, or may have. */
static __always_inline void weir_loss_place(__u32 index, const struct weir_segment *segment)
{
	struct weir_losses *losses = weir_losses_now(index, segment->now);
	__s32 ahead;
	__u32 old;

	if (!losses)
		return;
	if (losses->seen >> 31) {
		losses->seen >>= 1;
		losses->before >>= 1;
		losses->after >>= 1;
	}
	ahead = segment->sequence - losses->next;
	if ((losses->flow ^ segment->flow) == 1 && losses->flow & 1 && ahead >= 0 && ahead <= WEIR_JUMP) {
		if (segment->now - losses->begun < WEIR_SETTLES)
			weir_loss_settle(losses, index, segment);
		else
			weir_loss_new(losses, segment);
		return;
	}
	if (losses->flow != segment->flow) {
		if (segment->bytes && !weir_is_other_flow(losses, segment->flow))
			weir_follow(losses, index, segment);
		return;
	}
	if (!segment->bytes) {
		losses->flow = 0; /* nobody knows how much it has */
		return;
	}
	losses->others = 0;
	if (segment->now - losses->begun < WEIR_SETTLES) {
		if ((__s32)(ahead + segment->bytes) > 0)
			weir_loss_settle(losses, index, segment);
		return;
	}
	if (ahead > WEIR_JUMP || ahead < -WEIR_JUMP) {
		weir_follow(losses, index, segment);
		return;
	}
	if (ahead >= 0) {
		weir_loss_new(losses, segment);
		return;
	}
	old = -ahead;
	if (old >= segment->bytes) {
		weir_loss_old(losses, index, segment, segment->bytes);
		return;
	}
	weir_loss_old(losses, index, segment, old);
	losses->next += segment->bytes - old;
	losses->seen += segment->bytes - old;
}

/* A packet of this line leaves; `ip` is its header. */
static __always_inline void weir_loss_see(__u32 index, void *ip, void *end, bool in_xdp)
{
	bool to_far = (index & 1) == WEIR_UPLOAD;
	struct weir_tcp_packet packet;
	struct weir_tcp_stamped *tcp = weir_tcp_find(ip, end, to_far, &packet);
	struct weir_segment segment;
	__u32 head, near;

	if (!tcp)
		return;
	head = weir_tcp_far(&packet);
	near = (packet.near ^ packet.near_port) * 0x85ebca6bU;
	segment.now = bpf_ktime_get_ns() >> WEIR_LOSS_SHIFT;
	segment.far = head >> 16;
	segment.flow = (head ^ near ^ near >> 15) << 1 | 1U << 31 | in_xdp;
	if (tcp->tcp.ack)
		weir_loss_acked(index ^ 1, segment.now, segment.far, bpf_ntohl(tcp->tcp.ack_seq));
	head = tcp->tcp.doff * 4U;
	if (packet.payload && packet.payload <= head)
		return;
	segment.bytes = packet.goes_on || !packet.payload ? 0 : packet.payload - head;
	segment.sequence = bpf_ntohl(tcp->tcp.seq);
	segment.value = bpf_ntohl(tcp->value);
	weir_loss_place(index, &segment);
}

#endif
