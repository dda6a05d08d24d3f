// SPDX-License-Identifier: Apache-2.0
import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  queryOptions,
} from "@tanstack/react-query";
import { saidOnce } from "@/ui/format";
import { say } from "@/ui/toast";
import type { Window } from "@/ui/windows";
import { api, need } from "./client";
import { asProblem, isRefused, isStarting } from "./problem";
import type { Interface, Kind, Pending, System } from "./types";

/**
 * Cache keys and errors, once. Whatever follows from the configuration lies under "config" and is
 * fetched again after every commit, ours or another browser's.
 */
export const CONFIG = ["config"] as const;
export const CANDIDATE = ["config", "candidate"] as const;

export const queryClient = new QueryClient({
  queryCache: new QueryCache(),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      if (mutation.meta?.["inline"] !== true) say("error", asProblem(error).message);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => failures < 2 && !isRefused(error),
    },
    mutations: { retry: false },
  },
});

export const refreshConfig = (): Promise<void> => queryClient.invalidateQueries({ queryKey: CONFIG });

export type QueueSort =
  | "position"
  | "name"
  | "id"
  | "max_limit_upload"
  | "max_limit_download"
  | "rate_upload"
  | "rate_download"
  | "drops";

export interface QueueFilter {
  q?: string;
  sort?: QueueSort | `-${QueueSort}`;
  parent?: string;
  disabled?: boolean;
  warnings?: boolean;
}

const filterQuery = (filter: QueueFilter) => ({
  q: filter.q ?? undefined,
  sort: filter.sort,
  parent: filter.parent,
  disabled: filter.disabled,
  warnings: filter.warnings,
});

export const QUEUE_PAGE = 200;

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => need(api.GET("/api/v1/auth/me")),
  staleTime: Infinity,
  retry: false,
});

/** Asked again until the API is loaded; otherwise once. */
const whileStarting = {
  retry: (_failures: number, error: Error) => isStarting(error),
  retryDelay: 1000,
};

/** Whether the router is new; asked on the sign-in page only. */
export const setupQuery = queryOptions({
  queryKey: ["setup"],
  queryFn: () => need(api.GET("/api/v1/setup")),
  staleTime: Infinity,
  ...whileStarting,
});

/** The router's name, which the sign-in page may know (null: it is not told), and its notice. */
export const nameQuery = queryOptions({
  queryKey: ["name"],
  queryFn: () => need(api.GET("/api/v1/system/name")),
  staleTime: 60_000,
  ...whileStarting,
});

async function fetchSystem(): Promise<System> {
  const system = await need(api.GET("/api/v1/system"));
  return {
    ...system,
    checks: system.checks.map((check) => ({ ...check, message: saidOnce(check.message) })),
  };
}

export const systemQuery = queryOptions({
  queryKey: ["system"],
  queryFn: fetchSystem,
  refetchInterval: 5_000,
  staleTime: 2_000,
});

/**
 * One part of it. The router's uptime is another in every answer: who takes the whole of it is rendered with each.
 * `enabled: false` asks for nothing itself.
 */
export const ofSystem = <T>(select: (system: System) => T) => ({ ...systemQuery, select });

/** Asked only while the router says that something is wrong with its database. */
export const storeQuery = queryOptions({
  queryKey: ["store"],
  queryFn: () => need(api.GET("/api/v1/system/store")),
  refetchInterval: 15_000,
});

/** What a restore of damaged objects would write now. */
export const storeRestoreQuery = queryOptions({
  queryKey: ["store", "restore"],
  queryFn: () => need(api.GET("/api/v1/system/store/restore", { params: { query: { limit: 200 } } })),
  refetchInterval: 60_000,
});

/** The newest revisions, for what marks them in graphs. */
export const newestRevisionsQuery = queryOptions({
  queryKey: [...CONFIG, "revisions", "newest"],
  queryFn: () => need(api.GET("/api/v1/revisions", { params: { query: { limit: 100 } } })),
});

/** One window of the queue list, by offset, so that a scroll bar can jump. */
export const queueWindowQuery = (filter: QueueFilter, window: number) =>
  queryOptions({
    queryKey: [...CONFIG, "queues", "window", filter, window],
    queryFn: ({ signal }) =>
      need(
        api.GET("/api/v1/queues", {
          params: { query: { ...filterQuery(filter), offset: window * QUEUE_PAGE, limit: QUEUE_PAGE } },
          signal,
        }),
      ),
    staleTime: 30_000,
  });

/** All children of one queue (`none`: the roots), page by page. */
export const childrenQuery = (parent: string, most = 5_000) =>
  queryOptions({
    queryKey: [...CONFIG, "queues", "children", parent],
    queryFn: async ({ signal }) => {
      const items = [];
      for (let offset = 0; offset < most;) {
        const page = await need(
          api.GET("/api/v1/queues", {
            params: { query: { parent, sort: "position", offset, limit: 1000 } },
            signal,
          }),
        );
        items.push(...page.items);
        offset += page.items.length;
        if (page.items.length === 0 || offset >= page.total) break;
      }
      return items;
    },
    staleTime: 30_000,
  });

export const queueSearchQuery = (q: string, limit = 12) =>
  queryOptions({
    queryKey: [...CONFIG, "queues", "search", q, limit],
    queryFn: ({ signal }) => need(api.GET("/api/v1/queues", { params: { query: { q, limit } }, signal })),
    placeholderData: keepPreviousData,
  });

/** Hosts beside the router, as the kernel knows them now. */
export const hostSearchQuery = (q: string) =>
  queryOptions({
    queryKey: ["hosts", "search", q],
    queryFn: ({ signal }) => need(api.GET("/api/v1/hosts", { params: { query: { q, limit: 8 } }, signal })),
    retry: false,
  });

export const queueQuery = (id: string) =>
  queryOptions({
    queryKey: [...CONFIG, "queue", id],
    queryFn: () => need(api.GET("/api/v1/queues/{queue_id}", { params: { path: { queue_id: id } } })),
  });

export const explainQuery = (id: string) =>
  queryOptions({
    queryKey: [...CONFIG, "explain", id],
    queryFn: () => need(api.GET("/api/v1/queues/{queue_id}/explain", { params: { path: { queue_id: id } } })),
    refetchInterval: 15_000,
  });

/** What became of one object of a declared kind; `path` is that of the object. */
export const explanationQuery = (path: string) =>
  queryOptions({
    queryKey: [...CONFIG, "explanation", path],
    queryFn: () => need(api.GET(`/api/v1/${path}/explain` as "/api/v1/firewall/explain")),
    refetchInterval: 30_000,
  });

export const objectHistoryQuery = (id: string) =>
  queryOptions({
    queryKey: [...CONFIG, "history", id],
    queryFn: () =>
      need(
        api.GET("/api/v1/queues/{queue_id}/history", {
          params: { path: { queue_id: id }, query: { limit: 50 } },
        }),
      ),
  });

export const queueStatsHistoryQuery = (id: string, window: Window) =>
  queryOptions({
    queryKey: ["stats", "history", id, window],
    queryFn: () =>
      need(
        api.GET("/api/v1/stats/queues/{queue_id}/history", {
          params: { path: { queue_id: id }, query: { window } },
        }),
      ),
    refetchInterval: window === "2m" ? 30_000 : window === "1h" ? 10_000 : 60_000,
  });

export const queueDetailsQuery = (id: string) =>
  queryOptions({
    queryKey: ["stats", "details", id],
    queryFn: () =>
      need(api.GET("/api/v1/stats/queues/{queue_id}/details", { params: { path: { queue_id: id } } })),
    refetchInterval: 5_000,
  });

export const interfaceHistoryQuery = (id: string, window: Window) =>
  queryOptions({
    queryKey: ["stats", "interface", id, window],
    queryFn: () =>
      need(
        api.GET("/api/v1/stats/interfaces/{name}/history", {
          params: { path: { name: id }, query: { window } },
        }),
      ),
    staleTime: Infinity,
    retry: false,
  });

export type TopBy = "load" | "rate_download" | "rate_upload" | "rate_total" | "drops";
export const topQueuesQuery = (by: TopBy, top = 10) =>
  queryOptions({
    queryKey: ["stats", "top", by, top],
    queryFn: () => need(api.GET("/api/v1/stats/queues", { params: { query: { by, top } } })),
    refetchInterval: 2_000,
    placeholderData: keepPreviousData,
  });

export const queuesByIdQuery = (ids: readonly string[]) =>
  queryOptions({
    queryKey: [...CONFIG, "queues", "ids", ids],
    queryFn: async () =>
      ids.length === 0
        ? []
        : (
            await need(
              api.GET("/api/v1/queues", {
                params: { query: { ids: ids.join(","), limit: Math.min(1000, ids.length) } },
              }),
            )
          ).items,
    placeholderData: keepPreviousData,
  });

export const queueTypesQuery = queryOptions({
  queryKey: [...CONFIG, "queue-types"],
  queryFn: () => need(api.GET("/api/v1/queue-types", { params: { query: { limit: 1000 } } })),
});
export const interfacesQuery = queryOptions({
  queryKey: [...CONFIG, "interfaces"],
  queryFn: async () => {
    const page = await need(api.GET("/api/v1/interfaces", { params: { query: { limit: 1000 } } }));
    // The client's types leave out fields that are always null, such as `vlan` of an Ethernet port.
    return { ...page, items: page.items as unknown as Interface[] };
  },
  refetchInterval: 10_000,
});
export const tuningQuery = queryOptions({
  queryKey: [...CONFIG, "tuning"],
  queryFn: () => need(api.GET("/api/v1/tuning")),
  refetchInterval: 15_000,
});
export const candidateQuery = queryOptions({
  queryKey: CANDIDATE,
  queryFn: async () => (await need(api.GET("/api/v1/candidate"))).candidate,
  refetchInterval: 30_000,
});
/** The rows alone: what a list shows of what is staged. Nobody works out the effect of thousands of changes for it. */
export const stagedRowsQuery = (limit: number) =>
  queryOptions({
    queryKey: [...CANDIDATE, "rows", limit],
    queryFn: () => need(api.GET("/api/v1/candidate/diff", { params: { query: { limit, effect: false } } })),
  });
/** The first rows come at once; the effect of thousands of changes is asked for until it is worked out. */
export const candidateDiffQuery = (limit: number) =>
  queryOptions({
    queryKey: [...CANDIDATE, "diff", limit],
    queryFn: () => need(api.GET("/api/v1/candidate/diff", { params: { query: { limit } } })),
    refetchInterval: (query) => (query.state.data?.complete === false ? 1_000 : false),
  });
/** Who else has staged a change of an object. */
export const othersQuery = (kind: string, id: string) =>
  queryOptions({
    queryKey: [...CANDIDATE, "others", kind, id],
    queryFn: () =>
      need(api.GET("/api/v1/candidate/others", { params: { query: { kind: kind as Kind, id } } })),
    refetchInterval: 10_000,
    retry: false,
  });
export type PendingHere = Pending & { deadlineMs: number };

/** The router says how many seconds are left; the countdown runs on this browser's clock. */
async function fetchPending(): Promise<{ revision: number; pending: PendingHere | null }> {
  const answer = await need(api.GET("/api/v1/config/pending"));
  return {
    revision: answer.revision,
    pending: answer.pending && {
      ...answer.pending,
      deadlineMs: Date.now() + answer.pending.seconds_left * 1000,
    },
  };
}

export const pendingQuery = queryOptions({
  queryKey: [...CONFIG, "pending"],
  queryFn: fetchPending,
  refetchInterval: 5_000,
});

export const revisionDiffQuery = (from: number, to: number) =>
  queryOptions({
    queryKey: [...CONFIG, "revisions", "diff", from, to],
    queryFn: () =>
      need(
        api.GET("/api/v1/revisions/{from_number}/diff/{to_number}", {
          params: { path: { from_number: from, to_number: to }, query: { limit: 200 } },
        }),
      ),
    staleTime: Infinity,
  });

/** Asked each second while a bundle is being installed. */
export const updatesQuery = queryOptions({
  queryKey: ["updates"],
  queryFn: () => need(api.GET("/api/v1/system/update")),
  refetchInterval: (query) => (query.state.data?.job.state === "installing" ? 1_000 : 15_000),
});

export const usersQuery = queryOptions({
  queryKey: ["accounts", "users"],
  queryFn: () => need(api.GET("/api/v1/users", { params: { query: { limit: 1000 } } })),
});
export const tokensQuery = queryOptions({
  queryKey: ["accounts", "tokens"],
  queryFn: () => need(api.GET("/api/v1/tokens", { params: { query: { limit: 1000 } } })),
});

export const importReportQuery = (id: string) =>
  queryOptions({
    queryKey: ["import", id],
    queryFn: () =>
      need(api.GET("/api/v1/import/reports/{report_id}", { params: { path: { report_id: id } } })),
    staleTime: Infinity,
    retry: false,
  });

export const sessionsQuery = queryOptions({
  queryKey: ["accounts", "sessions"],
  queryFn: () => need(api.GET("/api/v1/auth/sessions")),
});

/** What differs in the kernel now; what the agent found and put right is only told. */
export const unrepaired = (system: System): System["drift"] => system.drift.filter((item) => !item.repaired);
