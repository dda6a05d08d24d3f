// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { ofSystem } from "@/api/queries";
import type { System } from "@/api/types";

export const hostOf = (system: System) => system.hostname;

/** The tab's name: the page, and the router that it is of, as many have more than one open. */
export function useTitle(page: string): void {
  // The frame has asked already.
  const host = useQuery({ ...ofSystem(hostOf), enabled: false }).data ?? "Weir";
  useEffect(() => {
    document.title = `${page} · ${host}`;
  }, [page, host]);
}
