// SPDX-License-Identifier: Apache-2.0
/** A part of the time of a graph, in whole Unix seconds. */
export interface Zoom {
  fromS: number;
  toS: number;
}

/** Less than this is not told apart: there is one sample in a second. */
const LEAST_S = 4;

export const zoomText = ({ fromS, toS }: Zoom): string => `${fromS}-${toS}`;

/** What stands in a page's address; null when it is missing or broken. */
export function zoomOf(text: string | undefined): Zoom | null {
  const match = /^(\d{1,12})-(\d{1,12})$/.exec(text ?? "");
  const zoom = { fromS: Number(match?.[1]), toS: Number(match?.[2]) };
  return zoom.toS > zoom.fromS ? zoom : null;
}

/** Whole seconds within what is shown, and never too few of them; `lowS` and `highS` may be any two times of the graph. */
export function zoomWithin(shown: Zoom, lowS: number, highS: number): Zoom {
  const middleS = (lowS + highS) / 2;
  const half = Math.max(LEAST_S, highS - lowS) / 2;
  const fromS = Math.max(Math.floor(shown.fromS), Math.floor(middleS - half));
  return { fromS, toS: Math.max(fromS + LEAST_S, Math.min(Math.ceil(shown.toS), Math.ceil(middleS + half))) };
}

/** The middle half of what is shown, or twice as much around it. */
export function scaled({ fromS, toS }: Zoom, factor: 0.5 | 2): Zoom {
  const middleS = (fromS + toS) / 2;
  const half = Math.max(LEAST_S, (toS - fromS) * factor) / 2;
  return { fromS: Math.floor(middleS - half), toS: Math.ceil(middleS + half) };
}

/** A quarter of its length earlier (-1) or later (1), but not beyond `endS`. */
export function moved({ fromS, toS }: Zoom, by: 1 | -1, endS: number): Zoom {
  const step = Math.min(Math.max(1, Math.round((toS - fromS) / 4)) * by, Math.max(0, Math.ceil(endS) - toS));
  return { fromS: fromS + step, toS: toS + step };
}
