// SPDX-License-Identifier: Apache-2.0
/** Whether a text of a table fits its cell, told without asking the page to lay anything out. */
export type Face = "plain" | "strong" | "mono";

const REM = 0.8125;
const MONO_EM = 0.92;

interface Ruler {
  pen: CanvasRenderingContext2D | null;
  fonts: Record<Face, string>;
}
let ruler: Ruler | null = null;

function makeRuler(): Ruler {
  const root = getComputedStyle(document.documentElement);
  const px = REM * Number.parseFloat(root.fontSize);
  const sans = root.getPropertyValue("--sans");
  return {
    pen: document.createElement("canvas").getContext("2d"),
    fonts: {
      plain: `${px}px ${sans}`,
      strong: `500 ${px}px ${sans}`,
      mono: `${px * MONO_EM}px ${root.getPropertyValue("--mono")}`,
    },
  };
}

export function isWider(text: string, face: Face, widthPx: number): boolean {
  ruler ??= makeRuler();
  const { pen, fonts } = ruler;
  if (!pen) return true;
  pen.font = fonts[face];
  return pen.measureText(text).width > widthPx;
}
