// SPDX-License-Identifier: Apache-2.0
/** Why a time has no measurements, where that is known. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useFreshness } from "@/api/live";
import { systemQuery } from "@/api/queries";
import { clockText } from "@/ui/format";

/** In a few words; null where it is not known. Both in Unix seconds. */
export type WhyGap = (fromS: number, toS: number) => string | null;

interface Known {
  /** When the router started. */
  bootS: number | null;
  /** Since when nothing comes any more. */
  lostS: number | null;
  /** When what is measured was made, and what it is. */
  made: { atS: number; what: string } | null;
}

/** A sample may lie beside the moment that explains it. */
const SLACK_S = 90;
/** What is longer after the router's start does not come from it. */
const START_S = 300;

export const whyGapOf =
  ({ bootS, lostS, made }: Known): WhyGap =>
  (fromS, toS) => {
    if (made && toS <= made.atS + SLACK_S) return `before the ${made.what} was made`;
    if (lostS !== null && fromS >= lostS - SLACK_S) return `no data since ${clockText(lostS)}`;
    if (bootS !== null && fromS <= bootS && bootS <= toS + SLACK_S && toS <= bootS + START_S)
      return `the router started at ${clockText(bootS)}`;
    return null;
  };

const WHOLE_MINUTE_S = 60;

export function useGapReasons(made: Known["made"] = null): WhyGap {
  const system = useQuery(systemQuery);
  const freshness = useFreshness();
  const lostS = freshness.state === "stale" ? freshness.since : null;
  const uptimeS = system.data?.uptime_s ?? null;
  // Rounded, for each answer puts it a little elsewhere.
  const bootS =
    uptimeS === null
      ? null
      : Math.round((system.dataUpdatedAt / 1000 - uptimeS) / WHOLE_MINUTE_S) * WHOLE_MINUTE_S;
  const [atS, what] = [made?.atS ?? null, made?.what ?? ""];
  return useMemo(
    () => whyGapOf({ bootS, lostS, made: atS === null ? null : { atS, what } }),
    [bootS, lostS, atS, what],
  );
}
