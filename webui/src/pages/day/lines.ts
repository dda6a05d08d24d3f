// SPDX-License-Identifier: Apache-2.0
/** The figures of a day as lines: what each is, what it was, and why it is not known. */
import type { FiguresAnswer, FigureSeries } from "@/api/types";
import { countText, percentText, sentence } from "@/ui/format";
import type { GraphData } from "@/ui/Graph";

export const MINUTES = 1440;

export interface Line {
  title: string;
  unit: "share" | "count";
  /** Now, on average and at most; or why nothing is known. */
  text: string;
  isMeasured: boolean;
  data: GraphData;
}

interface Meant {
  title: string;
  unit: Line["unit"];
  /** Added up. */
  of: readonly FigureSeries["figure"][];
}

const MEANT: readonly Meant[] = [
  { title: "Cores", unit: "share", of: ["cores"] },
  { title: "Memory", unit: "share", of: ["memory"] },
  { title: "Connections", unit: "count", of: ["connections"] },
  { title: "Neighbors", unit: "count", of: ["neighbours-v4", "neighbours-v6"] },
  { title: "Dropped packets a minute", unit: "count", of: ["dropped"] },
];
export const FIGURES: readonly FigureSeries["figure"][] = MEANT.flatMap(({ of }) => of);

type Values = readonly (number | null)[];

/** A minute in which one of them was not measured is not known. */
const added = (rows: readonly Values[], length: number): (number | null)[] =>
  Array.from({ length }, (_, minute) =>
    rows.reduce<number | null>((sum, row) => {
      const value = row[minute] ?? null;
      return sum === null || value === null ? null : sum + value;
    }, 0),
  );

export function linesOf(found: FiguresAnswer): Line[] {
  const series = new Map(found.items.map((item) => [item.figure, item]));
  const at = Array.from({ length: found.minutes }, (_, minute) => found.start + minute * found.step_s);
  const none: (number | null)[] = at.map(() => null);
  return MEANT.map(({ title, unit, of }) => {
    const parts = of.flatMap((name) => series.get(name) ?? []);
    const values =
      parts.length > 0
        ? added(
            parts.map((part) => part.values),
            at.length,
          )
        : none;
    const known = values.filter((value) => value !== null);
    const reason = found.unseen.find(({ id }) => of.some((name) => name === id))?.reason;
    const most = parts.length === 1 ? (parts[0]?.most ?? null) : null;
    return {
      title,
      unit,
      text:
        known.length > 0
          ? textOf(unit, values, most)
          : `not measured${reason ? `: ${sentence(reason)}` : ""}`,
      isMeasured: known.length > 0,
      data: { at, upload: none, download: values },
    };
  });
}

function textOf(unit: Line["unit"], values: Values, most: Values | null): string {
  const shown = (value: number) => (unit === "share" ? percentText(value) : countText(Math.round(value)));
  const known = values.filter((value) => value !== null);
  const highest = Math.max(...known, ...(most ?? []).filter((value) => value !== null));
  const last = values.at(-1) ?? null;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return `${last === null ? "not measured now" : `${shown(last)} now`}, ${shown(mean)} on average, ${shown(highest)} at most`;
}
