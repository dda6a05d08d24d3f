// SPDX-License-Identifier: Apache-2.0
/** Limits that are raised for a while. A raise holds at once: it is not staged. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, need } from "./client";
import { CONFIG, refreshConfig } from "./queries";
import type { Pair } from "./types";

export const raisesQuery = queryOptions({
  queryKey: [...CONFIG, "raises"],
  queryFn: async () => (await need(api.GET("/api/v1/raises"))).items,
  refetchInterval: 10_000,
});

interface Wanted {
  limits: Pair<number>;
  seconds: number;
}

export const useRaise = (id: string) =>
  useMutation({
    mutationFn: async ({ limits, seconds }: Wanted) => {
      const params = { path: { queue_id: id } };
      const body = { max_limit_bps: limits, for_s: seconds };
      const raised = await need(api.POST("/api/v1/queues/{queue_id}/raise", { params, body }));
      await refreshConfig();
      return raised;
    },
    meta: { inline: true },
  });

/** Whether the limit went back; false: somebody had set another one. */
export const useEndRaise = (id: string) =>
  useMutation({
    mutationFn: async () => {
      const params = { path: { queue_id: id } };
      const { went_back } = await need(api.DELETE("/api/v1/queues/{queue_id}/raise", { params }));
      await refreshConfig();
      return went_back;
    },
  });
