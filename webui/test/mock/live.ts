// SPDX-License-Identifier: Apache-2.0
import type { InterfaceStats, Queue, QueueStats, SystemStats } from "@/api/types";

/** With so many decimals, as the router rounds what it measured (api/weir/stats/rows.py). */
const rounded = (value: number, decimals = 0): number => Number(value.toFixed(decimals));

/** Plausible figures that move: each queue swings around its own share of its limit. */
export function statsOf(queue: Queue, at: number): QueueStats {
  const seed = Array.from(queue.id).reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7);
  const share = ((seed % 100) / 100) ** 2;
  const swing = 0.85 + 0.15 * Math.sin(at / 3 + seed);
  const rate = (limit: number) =>
    rounded(Math.min(limit || 50_000_000, (limit || 50_000_000) * share * swing * 1.15));
  const both = (ofUpload: number, ofDownload: number, decimals = 0) => ({
    upload: rounded(ofUpload, decimals),
    download: rounded(ofDownload, decimals),
  });
  const upload = rate(queue.max_limit_bps.upload);
  const download = rate(queue.max_limit_bps.download);
  const drops = share > 0.8 ? Math.round(40 * swing) : 0;
  return {
    id: queue.id,
    live: !queue.disabled,
    rate_bps: { upload, download },
    minute_rate_bps: both(upload * 0.9, download * 0.9),
    packets_ps: both(upload / 8_000, download / 8_000, 1),
    drops_ps: { upload: 0, download: drops },
    marks_ps: { upload: 0, download: 0 },
    bytes: both(upload * 900, download * 900),
    drops: { upload: 0, download: drops * 60 },
    delay_us: both(share * 4_000, share * 18_000, 1),
    worst_delay_us: both(share * 9_000, share * 40_000),
    delay_reason: null,
    fast_share: rounded(1 - share / 2, 4),
    fast_share_reason: null,
  };
}

export const interfaceStats = (at: number): InterfaceStats[] =>
  ["lan0", "wan0"].map((id, index) => ({
    id,
    up: true,
    speed_bps: 1e10,
    rx_bps: rounded(2e8 * (1 + index) * (1 + 0.2 * Math.sin(at / 5))),
    tx_bps: rounded(4e8 * (2 - index) * (1 + 0.2 * Math.cos(at / 7))),
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
  cpu_busy: [0.31, 0.62, 0.12, 0.81].map((busy) => rounded(busy * (0.9 + 0.1 * Math.sin(at)), 4)),
  memory_total_bytes: 8e9,
  memory_available_bytes: 6.2e9,
  load_1m: 0.84,
  uptime_s: 400_000,
});
