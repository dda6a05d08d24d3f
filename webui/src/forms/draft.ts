// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useState } from "react";

/**
 * What was typed survives an error, a lost session and a reload: it is kept in this tab's storage
 * until the form says that it has arrived (`forget`).
 */
export function useDraft<T>(
  name: string,
  initial: T,
): [T, (value: T | ((before: T) => T)) => void, () => void, boolean] {
  const key = `weir.draft.${name}`;
  const [state, setState] = useState<{ key: string; value: T; touched: boolean }>(() => read(key, initial));
  const current = state.key === key ? state : read(key, initial);
  if (current !== state) setState(current);
  useEffect(() => {
    if (state.touched) sessionStorage.setItem(state.key, JSON.stringify(state.value));
  }, [state]);
  const set = useCallback(
    (value: T | ((before: T) => T)) =>
      setState((before) => ({
        key,
        touched: true,
        value:
          typeof value === "function"
            ? (value as (before: T) => T)(before.touched ? before.value : initial)
            : value,
      })),
    [key, initial],
  );
  const forget = useCallback(() => {
    sessionStorage.removeItem(key);
    setState({ key, value: initial, touched: false });
  }, [key, initial]);
  // While nothing is typed, the form follows what it shows: another window may have changed it.
  return [current.touched ? current.value : initial, set, forget, current.touched];
}

function read<T>(key: string, initial: T): { key: string; value: T; touched: boolean } {
  const kept = sessionStorage.getItem(key);
  if (kept === null) return { key, value: initial, touched: false };
  try {
    // A draft of an older form lacks fields that this one has.
    return {
      key,
      value:
        typeof initial === "object" ? { ...initial, ...(JSON.parse(kept) as T) } : (JSON.parse(kept) as T),
      touched: true,
    };
  } catch {
    return { key, value: initial, touched: false };
  }
}
