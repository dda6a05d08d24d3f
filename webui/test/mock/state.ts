// SPDX-License-Identifier: Apache-2.0
import type { SecurityKey } from "@/api/webauthn";
import type {
  Candidate,
  Change,
  ChangeInput,
  Explanation,
  Finding,
  Host,
  GivenLease,
  LogLine,
  ObjectEffect,
  OtherCandidate,
  Pending,
  Queue,
  Raise,
  Revision,
  Setup,
  SetupWishes,
  YourWay,
} from "@/api/types";
import { defaultsOf } from "../../src/kinds/kinds";

/** A router that lives in memory, typed by the same document as the real one; for tests and `npm run dev:mock`. */
export interface MockState {
  /** How many static routes the router has. */
  routeCount: number;
  signedIn: boolean;
  mustChange: boolean;
  secondFactor: string | null;
  keys: SecurityKey[];
  /** Why none can be added. */
  keysNotOffered: string | null;
  /** What the page has sent of security keys. */
  keysSent: object[];
  /** What a new router tells; nothing once it was set up. */
  fresh?: Setup | null;
  raises: Raise[];
  /** As the sign-in page is told it. */
  hostname?: string;
  banner?: string;
  wishes?: SetupWishes;
  password?: string;
  queues: Map<string, Queue>;
  /** What somebody else committed of the staged objects since. */
  conflicts: Candidate["conflicts"];
  /** What becomes of the way by which the browser is at the router. */
  yourWay: YourWay;
  /** Who else has staged a change, by `kind/id`. */
  others: Map<string, OtherCandidate[]>;
  staged: Map<string, ChangeInput & { id: string; etag?: string }>;
  /** What became of every object of the declared kinds. */
  explained: Explanation;
  /** What changes cost, by object; null: the router does not know. What is not there is hitless. */
  effects: Map<string, ObjectEffect | null>;
  revisions: Revision[];
  pending: (Pending & { undo: Map<string, Queue> }) | null;
  /** Since when there are no measurements any more. */
  staleSince: number | null;
  /** Answered to the next staging, as validation would. */
  refuse: Finding[];
  /** Why nothing can be written; null while all is well. */
  unwritable: string | null;
  /** The timer of the last restore of a backup, in seconds. */
  restored: string | null;
  /** Null: the agent does not answer. */
  hosts: Host[] | null;
  leases: GivenLease[] | null;
  /** Null: the agent is away. */
  log: LogLine[] | null;
  /** Whether the router looked through a part of it only. */
  logIsCut: boolean;
  /** What was asked of the machine itself, in order. */
  machine: string[];
}

const both = <T>(value: T) => ({ upload: value, download: value });
export const NO_TOTAL = {
  max_limit_bps: 0,
  limit_at_bps: 0,
  burst_limit_bps: 0,
  burst_threshold_bps: 0,
  burst_time_ms: 0,
  priority: 8,
  queue_type: "default-small",
  bucket_size_ms: 100,
};

export function mockQueue(id: string, change: Partial<Queue> = {}): Queue {
  return {
    id,
    name: id,
    target: [],
    dst: null,
    parent: null,
    position: 0,
    max_limit_bps: both(0),
    limit_at_bps: both(0),
    burst_limit_bps: both(0),
    burst_threshold_bps: both(0),
    burst_time_ms: both(0),
    priority: both(8),
    queue_type: both("default-small"),
    bucket_size_ms: both(100),
    time: null,
    total: NO_TOTAL,
    comment: "",
    disabled: false,
    etag: "r1",
    path: [],
    child_count: 0,
    enforcement: [],
    warnings: [],
    ...change,
  };
}

const PLACES = [
  "North",
  "South",
  "Harbour",
  "Mill",
  "Castle",
  "Airport",
  "Forest",
  "Lake",
  "Bridge",
  "Market",
];
const NAMES = [
  "acme",
  "baker",
  "clinic",
  "dentist",
  "school",
  "hotel",
  "farm",
  "library",
  "garage",
  "studio",
];

/** Towers with customers below them, as a small ISP has. */
export function mockQueues(count: number): Map<string, Queue> {
  const queues = new Map<string, Queue>();
  const towers = Math.max(1, Math.min(50, Math.ceil(count / 40)));
  for (let tower = 0; tower < towers && queues.size < count; tower++) {
    const id = `tower-${tower}`;
    queues.set(
      id,
      mockQueue(id, {
        name: `Tower ${PLACES[tower % 10] ?? ""} ${tower + 1}`,
        position: tower,
        max_limit_bps: { upload: 300_000_000, download: 1_000_000_000 },
        comment: tower === 0 ? "microwave link" : "",
      }),
    );
  }
  for (let index = queues.size; index < count; index++) {
    const parent = queues.get(`tower-${index % towers}`);
    if (!parent) continue;
    parent.child_count += 1;
    const rate = [10, 20, 50, 100][index % 4] ?? 10;
    const id = `q${index}`;
    queues.set(
      id,
      mockQueue(id, {
        name: `${NAMES[index % 10] ?? ""} ${index}`,
        target: [
          `10.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}/32`,
          `2001:db8:${index.toString(16)}::/56`,
        ],
        parent: parent.id,
        path: [{ id: parent.id, name: parent.name }],
        position: index,
        max_limit_bps: { upload: rate * 200_000, download: rate * 1_000_000 },
        comment: index % 7 === 0 ? "pays late" : "",
        warnings:
          index % 97 === 0
            ? [
                {
                  severity: "warning",
                  code: "dead-burst",
                  message: "burst_threshold_bps is 0, so this queue never bursts.",
                  kind: "queue",
                  id,
                  field: "burst_threshold_bps",
                },
              ]
            : [],
      }),
    );
  }
  return queues;
}

export function newState(count = 24, routeCount = 1): MockState {
  return {
    routeCount,
    signedIn: true,
    mustChange: false,
    secondFactor: null,
    keys: [],
    keysNotOffered: null,
    keysSent: [],
    queues: mockQueues(count),
    staged: new Map(),
    conflicts: [],
    yourWay: { fate: "stays", text: "nothing is changed", address: null, kind: null, id: null },
    others: new Map(),
    pending: null,
    staleSince: null,
    refuse: [],
    effects: new Map(),
    explained: {
      id: "firewall",
      at: new Date().toISOString(),
      revision: 1,
      agrees: true,
      asked: {},
      drift: [],
      lines: [
        {
          part: "firewall",
          field: "masquerade",
          asked: "yes",
          compiled: "one rule",
          system: "in chain postrouting",
          agrees: true,
        },
      ],
    },
    unwritable: null,
    restored: null,
    hosts: [],
    leases: [],
    log: [],
    logIsCut: false,
    raises: [],
    machine: [],
    revisions: [
      {
        revision: 1,
        kind: "commit",
        created_at: new Date(Date.now() - 3_600_000).toISOString(),
        author: "admin",
        message: "First configuration",
        change_count: count,
        state: "running",
        restores: null,
      },
    ],
  };
}

export const head = (state: MockState): number => state.revisions[0]?.revision ?? 0;

/** What is staged against what runs, as `candidate/diff` answers it. */
export function effectOf(state: MockState, kind: Change["kind"], id: string): ObjectEffect | null {
  const known = state.effects.get(`${kind}/${id}`);
  if (known !== undefined) return known;
  return { kind, id, effect: "hitless", text: "", lasts_ms: null, sessions: null, sessions_complete: null };
}

export function stagedChanges(state: MockState): Change[] {
  return [...state.staged.values()].map((change) => {
    const old = state.queues.get(change.id);
    const before = (old ?? {}) as Record<string, unknown>;
    const after = change.new ?? {};
    const fields = Object.keys(change.new === null ? {} : after)
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => ({ field, old: before[field] ?? null, new: after[field] ?? null }));
    return {
      kind: change.kind,
      id: change.id,
      name: (after["name"] as string | undefined) ?? old?.name ?? change.id,
      etag: change.etag ?? "s0",
      staged_at: new Date(Date.now() - 20_000).toISOString(),
      action: change.new === null ? "remove" : old ? "change" : "add",
      fields,
      effect: effectOf(state, change.kind, change.id),
      old: old ? { ...old } : null,
      new: change.new && { ...(old ? {} : defaultsOf(change.kind)), ...change.new },
    } satisfies Change;
  });
}

function addRevision(
  state: MockState,
  revision: Omit<Revision, "revision" | "created_at" | "state">,
): number {
  for (const past of state.revisions) past.state = "past";
  const number = head(state) + 1;
  state.revisions.unshift({
    ...revision,
    revision: number,
    created_at: new Date().toISOString(),
    state: "running",
  });
  return number;
}

export function commit(
  state: MockState,
  message: string,
  confirmWithinS: number | null,
): { revision: number; base: number; changes: Change[] } {
  const base = head(state);
  const changes = stagedChanges(state);
  const undo = new Map(state.queues);
  for (const change of state.staged.values()) {
    if (change.new === null) state.queues.delete(change.id);
    else
      state.queues.set(
        change.id,
        mockQueue(change.id, {
          ...state.queues.get(change.id),
          ...(change.new as Partial<Queue>),
          etag: `r${base + 1}`,
        }),
      );
  }
  state.staged.clear();
  const revision = addRevision(state, {
    kind: "commit",
    author: "admin",
    message,
    change_count: changes.length,
    restores: null,
  });
  if (confirmWithinS !== null) {
    state.pending = {
      revision,
      base_revision: base,
      author: "admin",
      message,
      started_at: new Date().toISOString(),
      deadline_at: new Date(Date.now() + confirmWithinS * 1000).toISOString(),
      window_s: confirmWithinS,
      seconds_left: confirmWithinS,
      token: "t",
      undo,
    };
  }
  return { revision, base, changes };
}

/** The pending commit with the seconds that are left; past its end it is rolled back. */
export function pendingNow(state: MockState): Pending | null {
  if (!state.pending) return null;
  const { undo: _undo, ...pending } = state.pending;
  const left = (new Date(pending.deadline_at).getTime() - Date.now()) / 1000;
  if (left <= 0) {
    revert(state, "rollback timer");
    return null;
  }
  return { ...pending, seconds_left: left, token: null };
}

export function revert(state: MockState, author: string): void {
  if (!state.pending) return;
  const base = state.pending.base_revision;
  state.queues = state.pending.undo;
  state.pending = null;
  addRevision(state, {
    kind: "rollback",
    author,
    message: `Back to revision ${base}`,
    change_count: 1,
    restores: base,
  });
}
