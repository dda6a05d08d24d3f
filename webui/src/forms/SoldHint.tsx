// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { childrenQuery, queueQuery } from "@/api/queries";
import type { Pair } from "@/api/types";
import { percentText } from "@/ui/format";
import { limitWords } from "@/ui/rates";
import classes from "./forms.module.css";
import { optionalRate } from "./queueValues";

const COUNTED = 2_000;

/** "130 % of the parent is sold": what the children may take together, against the parent's limit. */
export function SoldHint({
  parent,
  ownId,
  limits,
}: {
  parent: string;
  ownId: string | null;
  limits: Pair<string>;
}) {
  const queue = useQuery(queueQuery(parent)).data;
  const children = useQuery(childrenQuery(parent, COUNTED)).data;
  if (!queue || !children || children.length >= COUNTED) return null;
  const lines = (["upload", "download"] as const).map((direction) => {
    const own = optionalRate(limits[direction]);
    const limit = queue.max_limit_bps[direction];
    if (!own.ok || limit === 0) return null;
    const sold = children
      .filter((child) => child.id !== ownId && !child.disabled)
      .reduce((sum, child) => sum + child.max_limit_bps[direction], own.value);
    const above = own.value > limit ? `; this queue alone is above it` : "";
    return `${direction}: ${percentText(sold / limit)} of ${limitWords(limit)} sold${above}`;
  });
  const said = lines.filter((line) => line !== null);
  if (said.length === 0) return null;
  return (
    <p className={classes.hintLine} data-warn={said.some((line) => line.includes("above"))}>
      {queue.name}, {said.join("; ")}
    </p>
  );
}
