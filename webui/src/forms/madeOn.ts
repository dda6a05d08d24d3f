// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect } from "react";

/**
 * The version of the object that a draft was begun on; while nothing is typed, the newest. It is kept beside the draft, so
 * that another window's change is noticed after a reload, too.
 */
export function useMadeOn(name: string, newest: string, touched: boolean): [base: string, renew: () => void] {
  const key = `weir.made-on.${name}`;
  const base = (touched ? sessionStorage.getItem(key) : null) ?? newest;
  useEffect(() => {
    if (touched) sessionStorage.setItem(key, base);
    else sessionStorage.removeItem(key);
  }, [key, base, touched]);
  // A change that validation refused is put back as it was, under a new version.
  const renew = useCallback(() => sessionStorage.removeItem(key), [key]);
  return [base, renew];
}
