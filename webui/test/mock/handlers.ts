// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import type { Change, Pair, Queue } from "@/api/types";
import { auth } from "./accounts";
import { API, none, now, problem } from "./answers";
import { statsOf } from "./live";
import { system } from "./machine";
import { networkHandlers } from "./network";
import { machineHandlers } from "./setup";
import { commit, head, pendingNow, revert, stagedChanges, type MockState } from "./state";

function matching(state: MockState, query: URLSearchParams): Queue[] {
  const q = query.get("q")?.toLowerCase();
  const parent = query.get("parent");
  const ids = query.get("ids")?.split(",");
  let found = [...state.queues.values()];
  if (ids) found = found.filter((queue) => ids.includes(queue.id));
  if (q)
    found = found.filter((queue) =>
      `${queue.name} ${queue.comment} ${queue.id} ${queue.target.join(" ")}`.toLowerCase().includes(q),
    );
  if (parent) found = found.filter((queue) => (queue.parent ?? "none") === parent);
  if (query.get("disabled"))
    found = found.filter((queue) => String(queue.disabled) === query.get("disabled"));
  if (query.get("warnings") === "true") found = found.filter((queue) => queue.warnings.length > 0);
  const sort = query.get("sort") ?? "position";
  const key = sort.replace("-", "");
  const value = (queue: Queue): string | number =>
    key === "name"
      ? queue.name
      : key === "rate_download"
        ? statsOf(queue, now()).rate_bps.download
        : key === "max_limit_download"
          ? queue.max_limit_bps.download
          : queue.position;
  found.sort((a, b) => (value(a) < value(b) ? -1 : 1) * (sort.startsWith("-") ? -1 : 1));
  return found;
}

function raiseLimit(state: MockState, id: string, given: unknown) {
  const { max_limit_bps, for_s } = given as { max_limit_bps: Pair<number>; for_s: number };
  const queue = state.queues.get(id);
  if (!queue) return problem(404, "not-found", `There is no queue ${id}.`);
  if (max_limit_bps.upload < queue.max_limit_bps.upload)
    return problem(422, "not-raised", "A raise needs more than the queue has.");
  const raised = {
    queue_id: id,
    max_limit_bps,
    before_bps: queue.max_limit_bps,
    author: "admin",
    begun_at: new Date().toISOString(),
    until: new Date(Date.now() + for_s * 1000).toISOString(),
    seconds_left: for_s,
    held_up: null,
  };
  state.raises.push(raised);
  state.queues.set(id, { ...queue, max_limit_bps });
  return HttpResponse.json(raised);
}

function queues(state: MockState): HttpHandler[] {
  return [
    http.get(`${API}/queues`, ({ request }) => {
      const query = new URL(request.url).searchParams;
      const found = matching(state, query);
      const offset = Number(query.get("offset") ?? 0);
      return HttpResponse.json({
        items: found.slice(offset, offset + Number(query.get("limit") ?? 100)),
        next_cursor: null,
        total: found.length,
      });
    }),
    http.get(`${API}/queues/:id`, ({ params }) => {
      const queue = state.queues.get(String(params["id"]));
      return queue
        ? HttpResponse.json(queue)
        : problem(404, "not-found", `There is no queue ${String(params["id"])}.`);
    }),
    http.get(`${API}/raises`, () => HttpResponse.json({ items: state.raises })),
    http.post(`${API}/queues/:id/raise`, async ({ params, request }) =>
      raiseLimit(state, String(params["id"]), await request.json()),
    ),
    http.delete(`${API}/queues/:id/raise`, ({ params }) => {
      const found = state.raises.find((item) => item.queue_id === params["id"]);
      const queue = state.queues.get(String(params["id"]));
      if (queue && found) state.queues.set(queue.id, { ...queue, max_limit_bps: found.before_bps });
      state.raises = state.raises.filter((item) => item !== found);
      return HttpResponse.json({ went_back: true });
    }),
    http.get(`${API}/firewall/explain`, () => HttpResponse.json(state.explained)),
    http.get(`${API}/:kind/:id/explain`, ({ params }) =>
      params["kind"] === "queues"
        ? undefined
        : HttpResponse.json({ ...state.explained, id: String(params["id"]) }),
    ),
    http.get(`${API}/queues/:id/explain`, ({ params }) =>
      HttpResponse.json({
        queue_id: params["id"],
        agrees: false,
        asked: {},
        compiled: {},
        kernel: {},
        lines: [
          {
            field: "max_limit_bps.download",
            asked: "10 Mbit/s",
            compiled: "slot 7, 10000000 bit/s",
            kernel: "slot 7, 10000000 bit/s",
            agrees: true,
          },
          { field: "priority.upload", asked: "8", compiled: "8", kernel: "7", agrees: false },
        ],
      }),
    ),
    http.get(`${API}/queues/:id/history`, () =>
      HttpResponse.json({
        items: [{ revision: state.revisions.at(-1), action: "add", fields: [], old: null, new: {} }],
        next_cursor: null,
      }),
    ),
  ];
}

const counts = (changes: readonly Change[]) => ({
  added: changes.filter((c) => c.action === "add").length,
  changed: changes.filter((c) => c.action === "change").length,
  removed: changes.filter((c) => c.action === "remove").length,
});
const kernel = (changes: readonly Change[]) => ({
  available: true,
  reason: null,
  counts: counts(changes),
  effect: changes.every((change) => change.effect !== null)
    ? (changes.find((change) => change.effect?.effect !== "hitless")?.effect?.effect ?? "hitless")
    : null,
  effects: changes.flatMap(({ effect }) => (effect && effect.effect !== "hitless" ? [effect] : [])),
  steps: changes.map((change) => ({ backend: "shaping", action: "set", what: `class of ${change.name}` })),
  apply_ms: 1.2,
  verify_ms: 0.4,
});

function candidateOf(state: MockState) {
  if (state.staged.size === 0) return null;
  const kinds: Record<string, number> = {};
  for (const change of state.staged.values()) kinds[change.kind] = (kinds[change.kind] ?? 0) + 1;
  return {
    author: "admin",
    base_revision: head(state),
    head_revision: head(state),
    created_at: new Date().toISOString(),
    change_count: state.staged.size,
    conflict_count: state.conflicts.length,
    conflicts: state.conflicts,
    kinds,
  };
}

/** What any two revisions of the mock differ in. */
const limitChange: Change = {
  kind: "queue",
  id: "q1",
  name: "baker 1",
  action: "change",
  fields: [{ field: "max_limit_bps.download", old: 10_000_000, new: 20_000_000 }],
  old: {},
  new: {},
};

/** Only of queues the mock knows versions; of the rest any base will do. */
const versionOf = (state: MockState, key: string): string | null => {
  const staged = state.staged.get(key);
  if (staged) return staged.etag ?? "s0";
  return state.queues.get(key.replace(/^queue\//, ""))?.etag ?? null;
};

function changes(state: MockState): HttpHandler[] {
  let next = 10_000;
  return [
    http.get(`${API}/candidate`, () => HttpResponse.json({ candidate: candidateOf(state) })),
    http.put(`${API}/candidate/changes`, async ({ request }) => {
      const body = (await request.json()) as {
        changes: {
          kind: Change["kind"];
          id: string | null;
          new: Record<string, unknown> | null;
          base: string | null;
        }[];
      };
      if (state.refuse.length > 0)
        return problem(422, "invalid", state.refuse[0]?.message ?? "", { findings: state.refuse.splice(0) });
      const other = body.changes.find((change) => {
        const version = versionOf(state, `${change.kind}/${change.id ?? ""}`);
        return change.base && version !== null && change.base !== version;
      });
      if (other)
        return problem(412, "precondition-failed", "it was changed meanwhile", {
          path: `${other.kind}/${other.id ?? ""}`,
        });
      for (const change of body.changes) {
        const id = change.id ?? `q${next++}`;
        state.staged.set(`${change.kind}/${id}`, { ...change, id, etag: `s${next++}` });
      }
      return HttpResponse.json({ candidate: candidateOf(state) });
    }),
    http.delete(`${API}/candidate/changes/:kind/:id`, ({ params }) => {
      state.staged.delete(`${String(params["kind"])}/${String(params["id"])}`);
      return HttpResponse.json({ candidate: candidateOf(state) });
    }),
    http.delete(`${API}/candidate`, () => {
      state.staged.clear();
      return none();
    }),
    http.post(`${API}/candidate/unstage`, async ({ request }) => {
      const body = (await request.json()) as { changes: { kind: string; id: string; base: string | null }[] };
      const keys = body.changes.map((change) => `${change.kind}/${change.id}`);
      const isOther = body.changes.some(
        ({ base }, index) => base && base !== state.staged.get(keys[index] ?? "")?.etag,
      );
      if (isOther) return problem(412, "precondition-failed", "it was changed meanwhile");
      for (const key of keys) state.staged.delete(key);
      return HttpResponse.json({ candidate: candidateOf(state) });
    }),
    http.get(`${API}/candidate/others`, ({ request }) => {
      const query = new URL(request.url).searchParams;
      const items = state.others.get(`${query.get("kind") ?? ""}/${query.get("id") ?? ""}`) ?? [];
      return HttpResponse.json({ items });
    }),
    http.post(`${API}/candidate/resolve`, async ({ request }) => {
      const { keep } = (await request.json()) as { keep: "mine" | "theirs" };
      if (keep === "theirs")
        for (const item of state.conflicts) state.staged.delete(`${item.kind}/${item.id}`);
      state.conflicts = [];
      return HttpResponse.json({ candidate: candidateOf(state) });
    }),
    http.get(`${API}/candidate/diff`, ({ request }) => {
      const all = stagedChanges(state);
      const limit = Number(new URL(request.url).searchParams.get("limit") ?? 100);
      return HttpResponse.json({
        base_revision: head(state),
        head_revision: head(state),
        total: all.length,
        counts: counts(all),
        changes: all.slice(0, limit),
        ...{ next_cursor: null, complete: true, your_way: state.yourWay },
        kernel: kernel(all),
        findings: [],
      });
    }),
    http.post(`${API}/candidate/commit`, async ({ request }) => {
      const body = (await request.json()) as { message: string; confirm_within_s: number | null };
      if (state.yourWay.id && !body.confirm_within_s)
        return problem(409, "cuts-off-you", "This would cut you off");
      const done = commit(state, body.message, body.confirm_within_s);
      return HttpResponse.json({
        revision: done.revision,
        base_revision: done.base,
        counts: counts(done.changes),
        ...{ kernel: kernel(done.changes), findings: [] },
        pending: pendingNow(state) && { ...pendingNow(state), token: "t" },
      });
    }),
    http.get(`${API}/config/pending`, () =>
      HttpResponse.json({ pending: pendingNow(state), revision: head(state) }),
    ),
    http.post(`${API}/config/confirm`, () => {
      state.pending = null;
      return HttpResponse.json({ pending: null, revision: head(state) });
    }),
    http.post(`${API}/config/revert`, () => {
      revert(state, "admin");
      return HttpResponse.json({
        revision: head(state),
        base_revision: 1,
        counts: counts([]),
        kernel: kernel([]),
        findings: [],
        pending: null,
      });
    }),
    http.get(`${API}/revisions`, () => HttpResponse.json({ items: state.revisions, next_cursor: null })),
    http.post(`${API}/revisions/:number/restore`, async ({ params, request }) => {
      const { message } = (await request.json()) as { message: string };
      const base = head(state);
      state.revisions.unshift({
        revision: base + 1,
        kind: "restore",
        created_at: new Date().toISOString(),
        author: "admin",
        message,
        change_count: 1,
        state: "running",
        restores: Number(params["number"]),
      });
      return HttpResponse.json({
        revision: base + 1,
        base_revision: base,
        counts: counts([]),
        kernel: kernel([]),
        findings: [],
        pending: null,
      });
    }),
    http.get(`${API}/revisions/:from/diff/:to`, ({ params }) =>
      HttpResponse.json({
        from_revision: Number(params["from"]),
        to_revision: Number(params["to"]),
        total: 1,
        counts: { added: 0, changed: 1, removed: 0 },
        changes: [limitChange],
        next_cursor: null,
      }),
    ),
  ];
}

export const handlers = (state: MockState): HttpHandler[] => [
  ...auth(state),
  ...queues(state),
  ...changes(state),
  ...networkHandlers(state),
  ...machineHandlers(state),
  ...system(state),
];
