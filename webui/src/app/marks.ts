// SPDX-License-Identifier: Apache-2.0
/** What happened to the router as its graphs mark it: commits, rollbacks and incidents. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { marksQuery } from "@/api/diagnosis";
import type { Mark } from "@/api/types";
import type { GraphEvent } from "@/ui/Graph";

const NONE: readonly Mark[] = [];
const SHORT = 24;

export const useMarks = (minutes: number): readonly Mark[] =>
  useQuery(marksQuery(minutes)).data?.items ?? NONE;

export const atS = (mark: Mark): number => new Date(mark.at).getTime() / 1000;

/** In few words, as they stand in the graph. */
export const wordsOf = ({ kind, revision, sentence }: Mark): string => {
  if (kind === "commit") return `revision ${revision ?? ""}`;
  return sentence.length > SHORT ? `${sentence.slice(0, SHORT)}…` : sentence;
};

export const eventsOf = (marks: readonly Mark[]): GraphEvent[] =>
  marks.map((mark) => ({ at: atS(mark), text: wordsOf(mark) }));

/** For graphs that say nothing of them otherwise. */
export function useMarkEvents(minutes: number): readonly GraphEvent[] {
  const marks = useMarks(minutes);
  return useMemo(() => eventsOf(marks), [marks]);
}

export interface Group {
  /** Where it stands: 0 the beginning, 1 the end of the time shown. */
  place: number;
  marks: readonly Mark[];
}

/** So close together, as a share of the width, that a finger could not tell them apart. */
const CLOSE = 0.06;

/** The marks of a part of the time, the oldest first; those that are close together are one. */
export function groupsOf(marks: readonly Mark[], fromS: number, toS: number): Group[] {
  const groups: { place: number; marks: Mark[] }[] = [];
  for (const mark of [...marks].sort((one, other) => atS(one) - atS(other))) {
    const place = (atS(mark) - fromS) / (toS - fromS);
    if (!(place >= 0 && place <= 1)) continue;
    const last = groups.at(-1);
    if (last && place - last.place < CLOSE) last.marks.push(mark);
    else groups.push({ place, marks: [mark] });
  }
  return groups;
}
