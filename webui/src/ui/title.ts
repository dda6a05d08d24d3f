// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { systemQuery } from "@/api/queries";

/** The tab's name: the page, and the router that it is of, as many have more than one open. */
export function useTitle(page: string): void {
  // The frame has asked already.
  const host = useQuery({ ...systemQuery, enabled: false }).data?.hostname ?? "Weir";
  useEffect(() => {
    document.title = `${page} · ${host}`;
  }, [page, host]);
}
