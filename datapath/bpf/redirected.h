/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A packet that XDP has redirected, for programs at the kernel's tracepoint of it (xdp_redirect).
 *
 * The tracepoint has no packet among its arguments. But the kernel has just put it last into the queue of
 * frames that this processor will give the device (xdp_dev_bulk_queue, kernel/bpf/devmap.c), where it is found,
 * rewritten already. Fields are found by CO-RE; a kernel without them refuses the program. In generic XDP there
 * is no such queue.
 */
#ifndef WEIR_BPF_REDIRECTED_H
#define WEIR_BPF_REDIRECTED_H

#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define WEIR_QUEUES_MOST 64 /* devices that a processor sends to in one turn */

/*
 * The tracepoint's arguments, as words: Linux 6.12 refuses to give a typed program the map's entry, a
 * `const void *`. Where it came from, the program, the map's entry, an error, the map's type, its id, the entry's place.
 */
enum weir_redirect {
	WEIR_REDIRECT_FROM = 0,
	WEIR_REDIRECT_ENTRY = 2,
	WEIR_REDIRECT_MAP = 5,
	WEIR_REDIRECT_PLACE
};

/* Of the kernel, as far as it is read. */
struct xdp_frame {
	void *data;
	__u32 len;
} __attribute__((preserve_access_index));

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct net_device;

struct xdp_dev_bulk_queue {
	struct xdp_frame *q[16];
	struct list_head flush_node;
	struct net_device *dev;
	unsigned int count;
} __attribute__((preserve_access_index));

struct net_device {
	int ifindex;
	struct xdp_dev_bulk_queue *xdp_bulkq; /* an offset, to which a processor adds its base */
} __attribute__((preserve_access_index));

struct bpf_net_context { /* Linux 6.11 */
	struct list_head dev_map_flush_list;
} __attribute__((preserve_access_index));

struct task_struct {
	struct bpf_net_context *bpf_net_context;
} __attribute__((preserve_access_index));

struct bpf_dtab_netdev {
	struct net_device *dev;
} __attribute__((preserve_access_index));

/*
 * Where this processor has its variables: its queue for the device is in the list of those that it will flush. The
 * kernel's own symbol for it need not be known to BPF.
 */
static __noinline __u64 weir_redirect_base(struct net_device *device)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct list_head *node = BPF_CORE_READ(task, bpf_net_context, dev_map_flush_list.next);

	for (int at = 0; at < WEIR_QUEUES_MOST; at++) {
		struct xdp_dev_bulk_queue *queue =
			(void *)node - bpf_core_field_offset(struct xdp_dev_bulk_queue, flush_node);

		if (BPF_CORE_READ(queue, dev) == device)
			return (__u64)queue - (__u64)BPF_CORE_READ(device, xdp_bulkq);
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

/*
 * The frame that the kernel has queued last on this processor for the device of a map's entry; NULL = it is not found.
 * `base`: of this processor, kept from one call to the next, 0 at first.
 */
static __always_inline const struct xdp_frame *weir_redirected(__u64 *base,
							       const struct bpf_dtab_netdev *entry)
{
	struct net_device *device = BPF_CORE_READ(entry, dev);
	struct xdp_dev_bulk_queue *queue;
	struct xdp_frame *frame = NULL;
	__u32 count;

	if (!*base)
		*base = weir_redirect_base(device);
	if (!*base)
		return NULL;
	queue = (void *)((__u64)BPF_CORE_READ(device, xdp_bulkq) + *base);
	count = BPF_CORE_READ(queue, count);
	if (!count ||
	    bpf_probe_read_kernel(&frame, sizeof(frame),
				  (void *)queue + bpf_core_field_offset(struct xdp_dev_bulk_queue, q) +
					  (count - 1) * sizeof(frame)))
		return NULL;
	return frame;
}

#endif
