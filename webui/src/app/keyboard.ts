// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "react";

/** One place listens to the keyboard; pages add their keys while they are on the screen. */
export interface Binding {
  /** `j`, `ctrl+k`, or a sequence such as `g q`. */
  keys: string;
  label: string;
  /** Missing where the browser does it: the key is only listed. */
  run?: () => void;
}

type Scope = { current: readonly Binding[] };
const scopes: Scope[] = [];
let prefix = "";
let prefixTimer: number | undefined;

export const activeBindings = (): Binding[] => scopes.flatMap((scope) => [...scope.current]);

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  );
}

/** Enter and Space on a button or a link are that button's, not the page's. */
const presses = (target: EventTarget | null, key: string): boolean =>
  (key === "Enter" || key === " ") &&
  target instanceof Element &&
  target.closest("button, a[href], summary, input, [role^=menuitem], [role=option]") !== null;

function nameOf(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!event.ctrlKey && !event.metaKey) return key;
  return event.shiftKey && event.key.length === 1 ? `ctrl+shift+${key}` : `ctrl+${key}`;
}

/** Also in a field; Ctrl-Z and Ctrl-A are the field's own there. */
const SEARCH = "ctrl+k";

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  const key = nameOf(event);
  const isEverywhere = key === SEARCH;
  if ((isTyping(event.target) && !isEverywhere) || presses(event.target, key)) return;
  if (document.querySelector("[aria-modal=true]") && !isEverywhere) return;
  const wanted = prefix ? `${prefix} ${key}` : key;
  const bindings = activeBindings().reverse();
  window.clearTimeout(prefixTimer);
  prefix = "";
  const found = bindings.find((binding) => binding.keys === wanted);
  if (found) {
    if (!found.run) return;
    event.preventDefault();
    found.run();
  } else if (bindings.some((binding) => binding.keys.startsWith(`${wanted} `))) {
    prefix = wanted;
    prefixTimer = window.setTimeout(() => (prefix = ""), 1_500);
  }
}

/** Makes the bindings work while the caller is mounted; later callers come first. */
export function useKeys(bindings: readonly Binding[]): void {
  const scope = useRef(bindings);
  useEffect(() => {
    scope.current = bindings;
  });
  useEffect(() => {
    if (scopes.length === 0) window.addEventListener("keydown", onKey);
    scopes.push(scope);
    return () => {
      scopes.splice(scopes.indexOf(scope), 1);
      if (scopes.length > 0) return;
      window.removeEventListener("keydown", onKey);
      prefix = "";
    };
  }, []);
}
