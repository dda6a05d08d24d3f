/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: run by BPF_PROG_TEST_RUN with an IPv4 SYN as its packet, and timed by it. It asks the kernel
 * for the socket of that SYN, as the receive path does: established sockets first, then the table of listening ones.
 * No maps, no state. Returns 1 when a socket was found, 0 when none was.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int listener_lookup(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data;
	void *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);
	struct tcphdr *tcp = (void *)(ip + 1);
	struct bpf_sock_tuple tuple = {};
	struct bpf_sock *sock;

	if ((void *)(tcp + 1) > end)
		return -1;
	tuple.ipv4.saddr = ip->saddr;
	tuple.ipv4.daddr = ip->daddr;
	tuple.ipv4.sport = tcp->source;
	tuple.ipv4.dport = tcp->dest;
	sock = bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	if (!sock)
		return 0;
	bpf_sk_release(sock);
	return 1;
}

char LICENSE[] SEC("license") = "GPL";
