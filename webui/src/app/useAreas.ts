// SPDX-License-Identifier: Apache-2.0
import { useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { areaOf } from "./nav";

const KEPT = "weir.nav-areas";

const keptAreas = (): ReadonlySet<string> =>
  new Set((localStorage.getItem(KEPT) ?? "").split(",").filter((title) => title !== ""));

/** Which areas of the menu are open: the one of the open page, and those that were opened in this browser. */
export function useAreas() {
  const here = areaOf(useLocation({ select: (location) => location.pathname }));
  const [opened, setOpened] = useState(keptAreas);
  // The open page's area may be folded; that ends when a page of another area opens.
  const [shut, setShut] = useState<string | null>(null);
  if (shut !== null && shut !== here) setShut(null);
  const isOpen = (title: string) => (title === here ? shut !== title : opened.has(title));
  const setOpen = (title: string, open: boolean) => {
    const next = new Set(opened);
    if (open) next.add(title);
    else next.delete(title);
    localStorage.setItem(KEPT, [...next].join(","));
    setOpened(next);
    if (title === here) setShut(open ? null : title);
  };
  return { isOpen, setOpen };
}
