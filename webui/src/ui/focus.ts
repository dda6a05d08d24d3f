// SPDX-License-Identifier: Apache-2.0
import { useEffect, type RefObject } from "react";

/** Where the focus goes when its element is removed. Without a place, a screen reader would start at the top again. */
let last: HTMLElement | null = null;
let moved = false;
/** The page that is there, and what is still to be done to it. */
let page: HTMLElement | null = null;
let restoring = 0;

const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;

/** Remembers what had the focus on the page, dialogs aside; they go away. */
export function rememberFocus(main: HTMLElement): () => void {
  const note = ({ target }: FocusEvent) => {
    if (target instanceof HTMLElement && target !== main && !target.closest("[role=dialog]")) last = target;
  };
  main.addEventListener("focusin", note);
  page = main;
  return () => {
    main.removeEventListener("focusin", note);
    window.clearTimeout(restoring);
    page = null;
  };
}

/** Back to where it came from; if that is gone too, to the table, or to the heading. */
export function restoreFocus(): void {
  if (!isLost() || document.querySelector("[aria-modal=true]")) return;
  const main = document.querySelector("main");
  const target =
    (last?.isConnected ? last : null) ??
    main?.querySelector<HTMLElement>("[role=grid]") ??
    main?.querySelector<HTMLElement>("h1");
  target?.focus({ preventScroll: true });
}

/** Mantine gives the focus back 10 ms after a dialog has closed; what it finds gone is looked after then. */
const AFTER_DIALOG_MS = 30;

function restoreSoon(): void {
  window.clearTimeout(restoring);
  if (page) restoring = window.setTimeout(restoreFocus, AFTER_DIALOG_MS);
}

/** For what may vanish with the focus in it, while the page stays: drawers, and the bars at the bottom. */
export const useFocusBack = (): void => useEffect(() => restoreSoon, []);

/** Whether another page stands where the last one did: after a link, after the sign-in; not at the first load. */
export function setMoved(isMoved: boolean): void {
  moved = isMoved;
}

/** The heading of a page that was come to takes the focus that the page before it had; at the first load the top keeps it. */
export function useHeadingFocus(heading: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (moved && isLost() && !document.querySelector("[aria-modal=true]"))
      heading.current?.focus({ preventScroll: true });
  }, [heading]);
}
