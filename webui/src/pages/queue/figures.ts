// SPDX-License-Identifier: Apache-2.0
import type { ObjectVersion, Pair } from "@/api/types";
import type { GraphData, GraphEvent } from "@/ui/Graph";
import { limitText } from "@/ui/rates";
import type { Zoom } from "@/ui/zoom";

const DIRECTIONS = ["upload", "download"] as const;

/** The samples of a part of the time; all of them without one. */
export function within(data: GraphData, zoom: Zoom | null): number[] {
  const indexes = data.at.map((_, index) => index);
  return zoom
    ? indexes.filter((index) => (data.at[index] ?? 0) >= zoom.fromS && (data.at[index] ?? 0) <= zoom.toS)
    : indexes;
}

export interface Summary {
  mean: number;
  p95: number;
  most: number;
}

/** Of each direction over the samples that were measured; null where none was. The 95th percentile is the nearest rank. */
export function summaryOf(data: GraphData, zoom: Zoom | null): Pair<Summary | null> {
  const of = (direction: "upload" | "download"): Summary | null => {
    const values = within(data, zoom).flatMap((index) => data[direction][index] ?? []);
    if (values.length === 0) return null;
    const sorted = [...values].sort((a, b) => a - b);
    const rank = Math.ceil(sorted.length * 0.95) - 1;
    return {
      mean: values.reduce((sum, value) => sum + value, 0) / values.length,
      p95: sorted[rank] ?? 0,
      most: sorted.at(-1) ?? 0,
    };
  };
  return { upload: of("upload"), download: of("download") };
}

/** At most so many rows, spread evenly; the newest is always among them. */
export function rowsOf(data: GraphData, zoom: Zoom | null, most = 60): number[] {
  const all = within(data, zoom);
  const step = Math.max(1, Math.ceil(all.length / most));
  return all.filter((_, index) => (all.length - 1 - index) % step === 0).reverse();
}

/** `limit 2M → 4M`, of the direction that changed, or of both. */
function limitChange(version: ObjectVersion): string {
  const parts = DIRECTIONS.flatMap((direction) => {
    const field = version.fields.find((item) => item.field === `max_limit_bps.${direction}`);
    return field && typeof field.old === "number" && typeof field.new === "number"
      ? [`${direction === "upload" ? "↑" : "↓"} ${limitText(field.old)} → ${limitText(field.new)}`]
      : [];
  });
  return parts.length > 0 ? `limit ${parts.join(", ")}` : version.action === "add" ? "created" : "changed";
}

/** The commits that changed a queue, as marks in its graphs. */
export const eventsOf = (versions: readonly ObjectVersion[]): GraphEvent[] =>
  versions.map((version) => ({
    at: new Date(version.revision.created_at).getTime() / 1000,
    text: `${limitChange(version)}, ${version.revision.author}`,
  }));
