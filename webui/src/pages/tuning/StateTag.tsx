// SPDX-License-Identifier: Apache-2.0
import { Tag } from "@/ui/blocks";
import { STATE_WORDS, type PlaceState } from "./settings";

const TONE: Partial<Record<PlaceState, "ok" | "warn" | "bad">> = {
  applied: "ok",
  differs: "warn",
  refused: "bad",
  restart: "warn",
};
const MARK: Partial<Record<PlaceState, string>> = { applied: "✓ ", refused: "✕ " };

export const StateTag = ({ state }: { state: PlaceState | null }) =>
  state === null ? (
    <span className="dim">fits nothing here</span>
  ) : (
    <Tag tone={TONE[state]}>
      {MARK[state]}
      {STATE_WORDS[state]}
    </Tag>
  );
