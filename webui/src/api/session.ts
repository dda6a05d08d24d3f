// SPDX-License-Identifier: Apache-2.0
import { useSyncExternalStore } from "react";

/** `lost` means that a request was refused after sign-in: the page stays and asks for the password over it. */
export type SessionState = "unknown" | "out" | "in" | "lost";

let state: SessionState = "unknown";
let csrfToken: string | null = null;
const listeners = new Set<() => void>();

export function setSession(next: SessionState, token?: string | null): void {
  if (token !== undefined) csrfToken = token;
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export const csrf = (): string | null => csrfToken;

/** A 401 on a page that was signed in. */
export function sessionRefused(): void {
  setSession(state === "in" || state === "lost" ? "lost" : "out");
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useSession = (): SessionState => useSyncExternalStore(subscribe, () => state);
export const sessionState = (): SessionState => state;
