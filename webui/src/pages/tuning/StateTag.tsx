// SPDX-License-Identifier: Apache-2.0
import { Tag } from "@/ui/blocks";
import { STATE_WORDS, type PlaceState } from "./settings";

const TONE = { applied: "ok", differs: "warn", absent: undefined, left: undefined, refused: "bad" } as const;
const MARK = { applied: "✓ ", differs: "", absent: "", left: "", refused: "✕ " } as const;

export const StateTag = ({ state }: { state: PlaceState | null }) =>
  state === null ? (
    <span className="dim">fits nothing here</span>
  ) : (
    <Tag tone={TONE[state]}>
      {MARK[state]}
      {STATE_WORDS[state]}
    </Tag>
  );
