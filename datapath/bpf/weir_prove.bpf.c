// SPDX-License-Identifier: GPL-2.0-only
/*
 * A frame that proves a packet's way: sent into the network stack by a port, and caught behind the programs that shape,
 * before it leaves.
 *
 * Hooks: `prove_send` is run by BPF_PROG_TEST_RUN and attached nowhere; it gives the frame to a port's ingress.
 * `prove_catch` is on tcx of the port that the frame is foretold to leave by, behind ours, and drops it. A frame is
 * known by a bit of its mark and by a number in its payload; all others pass.
 *
 * Maps: the datapath's lines are read; `prove_asked`, `prove_before` and `prove_after` are data of the one process
 * that proves, one frame at a time. The links belong to that process, and end with it.
 */
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "weir/abi.h"
#include "weir/prove.h"

#include "line.h"

#define TCX_NEXT (-1) /* enum tcx_action_base, Linux 6.6 */
#define TCX_DROP TC_ACT_SHOT

struct weir_prove_asked prove_asked = {};
struct weir_prove_seen prove_before = {};
struct weir_prove_seen prove_after = {};

static __always_inline void prove_count(struct weir_prove_seen *seen)
{
	for (__u32 at = 0; at < WEIR_PROVE_LINES; at++) {
		struct weir_line *line = weir_line(prove_asked.lines[at]);

		if (line)
			seen->packets[at] = *(volatile __u64 *)&line->packets;
	}
}

/* In cb[0] is where it comes in; 0: it is sent otherwise, and only the counters are noted. */
SEC("tc")
int prove_send(struct __sk_buff *skb)
{
	prove_count(&prove_before);
	return skb->cb[0] ? bpf_clone_redirect(skb, skb->cb[0], BPF_F_INGRESS) : 0;
}

static __always_inline bool prove_is_it(struct __sk_buff *skb)
{
	__u64 nonce;

	return skb->mark & WEIR_PROVE_MARK &&
	       !bpf_skb_load_bytes_relative(skb, prove_asked.nonce_at, &nonce, sizeof(nonce),
					    BPF_HDR_START_NET) &&
	       nonce == prove_asked.nonce;
}

static __always_inline void prove_note(struct __sk_buff *skb, struct weir_prove_seen *seen)
{
	prove_count(seen);
	seen->tstamp_ns = skb->tstamp;
	seen->mark = skb->mark;
	seen->priority = skb->priority;
	seen->ifindex = skb->ifindex;
	seen->has_mac = !bpf_skb_load_bytes_relative(skb, 0, seen->mac, sizeof(seen->mac), BPF_HDR_START_MAC);
	/* As much as there is of it: headers are at its beginning. */
	if (bpf_skb_load_bytes_relative(skb, 0, seen->head, WEIR_PROVE_HEAD, BPF_HDR_START_NET))
		bpf_skb_load_bytes_relative(skb, 0, seen->head, WEIR_PROVE_HEAD / 2, BPF_HDR_START_NET);
	seen->times++;
	seen->now_ns = bpf_ktime_get_ns();
}

SEC("tc")
int prove_catch(struct __sk_buff *skb)
{
	if (!prove_is_it(skb))
		return TCX_NEXT;
	prove_note(skb, &prove_after);
	return TCX_DROP;
}

char LICENSE[] SEC("license")
= "GPL";
