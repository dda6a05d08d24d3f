// SPDX-License-Identifier: Apache-2.0
import type { InterfaceStats, Queue, QueueStats, SystemStats } from "@/api/types";

/** Plausible figures that move: each queue swings around its own share of its limit. */
export function statsOf(queue: Queue, at: number): QueueStats {
  const seed = Array.from(queue.id).reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7);
  const share = ((seed % 100) / 100) ** 2;
  const swing = 0.85 + 0.15 * Math.sin(at / 3 + seed);
  const rate = (limit: number) => Math.min(limit || 50_000_000, (limit || 50_000_000) * share * swing * 1.15);
  const upload = rate(queue.max_limit_bps.upload);
  const download = rate(queue.max_limit_bps.download);
  const drops = share > 0.8 ? Math.round(40 * swing) : 0;
  return {
    id: queue.id,
    live: !queue.disabled,
    rate_bps: { upload, download },
    minute_rate_bps: { upload: upload * 0.9, download: download * 0.9 },
    packets_ps: { upload: upload / 8_000, download: download / 8_000 },
    drops_ps: { upload: 0, download: drops },
    marks_ps: { upload: 0, download: 0 },
    bytes: { upload: Math.round(upload * 900), download: Math.round(download * 900) },
    drops: { upload: 0, download: drops * 60 },
    delay_us: { upload: share * 4_000, download: share * 18_000 },
    worst_delay_us: { upload: share * 9_000, download: share * 40_000 },
    delay_reason: null,
    fast_share: 1 - share / 2,
    fast_share_reason: null,
  };
}

export const interfaceStats = (at: number): InterfaceStats[] =>
  ["lan0", "wan0"].map((id, index) => ({
    id,
    up: true,
    speed_bps: 1e10,
    rx_bps: 2e8 * (1 + index) * (1 + 0.2 * Math.sin(at / 5)),
    tx_bps: 4e8 * (2 - index) * (1 + 0.2 * Math.cos(at / 7)),
    rx_packets_ps: 30_000,
    tx_packets_ps: 60_000,
    rx_drops_ps: 0,
    tx_drops_ps: 0,
    rx_bytes: 1e12,
    tx_bytes: 2e12,
    unshaped_packets: { "no-class": 0 },
    passed_up_packets: { waits: 1_000 },
    refused_packets: { "impossible-source": 0 },
    unknown: {
      rx_packets: 10,
      rx_bytes: 10_000,
      rx_packets_ps: 0,
      rx_bps: id === "lan0" ? 3e6 : 0,
      tx_packets: 10,
      tx_bytes: 10_000,
      tx_packets_ps: 0,
      tx_bps: id === "wan0" ? 3e6 : 0,
    },
  }));

export const systemStats = (at: number): SystemStats => ({
  at,
  cpu_busy: [0.31, 0.62, 0.12, 0.81].map((busy) => busy * (0.9 + 0.1 * Math.sin(at))),
  memory_total_bytes: 8e9,
  memory_available_bytes: 6.2e9,
  load_1m: 0.84,
  uptime_s: 400_000,
});
