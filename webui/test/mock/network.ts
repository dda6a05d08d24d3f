// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import type {
  BackupReport,
  Firewall,
  ImportLine,
  ImportReport,
  Interface,
  QueueType,
  StaticRoute,
  Token,
  Tuning,
  Updates,
  User,
} from "@/api/types";

import { hostsAnswer, leasesAnswer, logAnswer, routesAnswer, searchAnswer } from "./lists";
import type { MockState } from "./state";

const API = "*/api/v1";
const page = (items: unknown[]) => HttpResponse.json({ items, next_cursor: null, total: items.length });

const port = (id: string, role: string, address: string): Interface => ({
  id,
  type: "ethernet",
  configured: true,
  role,
  addresses: [address],
  addressing: "static",
  ipv6_addressing: "static",
  dhcpv6: null,
  delegated: null,
  ra: null,
  mtu: null,
  mac: null,
  arp: "on",
  known_hosts: [],
  description: role === "lan" ? "customers" : "provider",
  overhead_bytes: 0,
  shaper: "auto",
  fast_path: "auto",
  unknown: "allow",
  reverse_path: "off",
  mss_clamp: "auto",
  domain: 0,
  vlan: null,
  vrf: null,
  vrf_table: null,
  wireguard: null,
  vxlan: null,
  gre: null,
  pppoe: null,
  bridge: null,
  bond: null,
  loopback: null,
  disabled: false,
  etag: "r1",
  warnings: [],
  state: {
    index: 2,
    kind: "veth",
    vlan: null,
    vrf: null,
    vrf_table: null,
    mac: "02:00:00:00:00:01",
    mtu: 1500,
    up: true,
    speed_bps: 1e10,
    addresses: [address],
    lease: null,
    qdisc: "noqueue",
    shaper: "police",
    shaper_reason: "this kernel has no fq",
    hook: "tcx",
    fast_path: "on",
    fast_path_reason: "XDP forwards what conforms",
  },
});
const byDhcp = (item: Interface): Interface => ({
  ...item,
  addresses: [],
  addressing: "dhcp",
  state: item.state && {
    ...item.state,
    lease: {
      address: "198.51.100.7/24",
      server: "198.51.100.1",
      gateway: "198.51.100.1",
      dns: ["9.9.9.9"],
      expires_at: "2026-01-01T12:00:00Z",
    },
  },
});
/** A VLAN whose port is not there. */
const waiting: Interface = {
  ...port("acme", "lan", "10.65.0.1/24"),
  type: "vlan",
  vlan: { parent: "lan9", id: 100, protocol: "802.1ad" },
  state: null,
  warnings: [
    {
      severity: "warning",
      code: "vlan-waits",
      message: "VLAN acme waits for lan9, which this router does not have now",
      kind: "interface",
      id: "acme",
      field: "vlan.parent",
    },
  ],
};
const asVrf = (item: Interface): Interface => ({
  ...item,
  addresses: [],
  type: "vrf",
  vrf_table: 0,
  state: item.state && { ...item.state, kind: "vrf", vrf_table: 26284 },
});
const type: QueueType = {
  id: "pcq-download",
  type: "pcq",
  options: { "pcq-rate": "10M" },
  comment: "",
  etag: "r1",
  used_by: 3,
  enforcement: [{ field: "type", enforced: false, note: "cake is a qdisc below HTB" }],
  warnings: [],
};
const route: StaticRoute = {
  id: "r1",
  destination: "0.0.0.0/0",
  gateway: "198.51.100.1",
  interface: null,
  blackhole: false,
  distance: 1,
  vrf: null,
  comment: "provider",
  disabled: false,
  etag: "r1",
  warnings: [],
};
const firewall: Firewall = {
  id: "firewall",
  masquerade: true,
  drop_new_from_wan: true,
  allow_ping_from_wan: true,
  allowed_wan_tcp_ports: [],
  connections_per_source: 4096,
  helpers: [],
  etag: "r1",
  warnings: [],
};
const user: User = {
  username: "admin",
  scope: "admin",
  disabled: false,
  must_change_password: false,
  created_at: "2026-01-01T00:00:00Z",
  last_sign_in_at: "2026-01-02T00:00:00Z",
  second_factor_since: null,
  security_keys: 0,
};
const token: Token = {
  id: "t1",
  name: "billing",
  scope: "write",
  owner: "admin",
  created_at: "2026-01-01T00:00:00Z",
  expires_at: null,
  last_used_at: null,
};

export const UPDATES: Updates = {
  available: true,
  reason: null,
  booted: "A",
  next: "A",
  slots: [
    { name: "A", booted: true, good: true, version: "0.1.0", installed_at: "2026-01-01T00:00:00Z" },
    { name: "B", booted: false, good: true, version: "0.0.9", installed_at: null },
  ],
  job: {
    state: "idle",
    percent: 0,
    what: "",
    version: null,
    code: null,
    message: null,
    started_at: null,
    ended_at: null,
  },
};

const setting = { scope: "sysctl", evidence: "E2", measured: "function", override: null } as const;
export const TUNING: Tuning = {
  id: "tuning",
  overrides: { "ring-rx": "2048" },
  settings_reason: null,
  etag: "r1",
  warnings: [],
  settings: [
    {
      ...setting,
      id: "backlog",
      key: "net.core.netdev_budget",
      value: "300",
      reason: "one card may hand over so many packets in a turn",
      places: [{ place: "system", override: null, wanted: "300", held: "300", state: "applied", why: null }],
    },
    {
      ...setting,
      id: "ring-rx",
      scope: "interface",
      key: "ring-rx",
      value: "max",
      override: "2048",
      reason: "bursts of a card wait in its ring",
      places: [
        {
          place: "lan0",
          override: null,
          wanted: "2048",
          held: null,
          state: "refused",
          why: "the driver has no ring",
        },
        { place: "wan0", override: null, wanted: "2048", held: "2048", state: "applied", why: null },
      ],
    },
    {
      ...setting,
      id: "listen-table",
      scope: "cmdline",
      key: "lhash_entries",
      value: "16384",
      reason: "the table of listening sockets",
      places: [],
    },
  ],
};
const backup: BackupReport = {
  made_at: "2026-01-01T00:00:00Z",
  hostname: "core",
  release: "0.1.0",
  revision: 7,
  objects: 40,
  counts: { added: 2, changed: 0, removed: 1 },
  can_restore: true,
  findings: [],
};

export const LINES: ImportLine[] = [
  {
    line: 6,
    end_line: 7,
    file: "export.rsc",
    source: 'add max-limit=1G/1G name="ALL" target=198.51.100.0/24',
    fate: "imported",
    code: null,
    reason: null,
    object_id: "all",
  },
  {
    line: 12,
    end_line: 12,
    file: "export.rsc",
    source: "set [ find name=x ] max-limit=1M/1M",
    fate: "left_out",
    code: "not-evaluated",
    reason: "set [ find ... ] cannot be evaluated from a file",
    object_id: null,
  },
  {
    line: 14,
    end_line: 14,
    file: "export.rsc",
    source: "add max-limit=400/400 name=typo target=10.0.0.0/27",
    fate: "warning",
    code: "tiny-rate",
    reason: "400 bit/s is less than one packet per second",
    object_id: "typo",
  },
];

const report: ImportReport = {
  id: "rep1",
  format: "routeros",
  file_names: ["export.rsc"],
  created_at: "2026-01-01T00:00:00Z",
  expires_at: "2026-01-01T01:00:00Z",
  base_revision: 1,
  summary: { imported: 1, changed: 0, warning: 1, left_out: 1 },
  counts: { added: 2, changed: 0, removed: 0 },
  kinds: [
    { kind: "interface", added: 0, changed: 1, removed: 0 },
    { kind: "queue", added: 2, changed: 0, removed: 0 },
  ],
  can_commit: true,
  lines: LINES,
  total_lines: 3,
  next_cursor: null,
  findings: [
    {
      severity: "warning",
      code: "shadowed",
      message: "queue 'typo' never matches: queue 'hotel' (the same target) comes first",
      kind: "queue",
      id: "typo",
      field: "target",
    },
  ],
  kernel: {
    available: true,
    reason: null,
    effect: "hitless",
    effects: [],
    counts: { added: 2, changed: 0, removed: 0 },
    steps: [],
    apply_ms: null,
    verify_ms: null,
  },
};

/** The lists that no test changes. */
export function networkHandlers(state: MockState): HttpHandler[] {
  return [
    http.get(`${API}/interfaces`, () =>
      page([
        port("lan0", "lan", "10.64.0.1/16"),
        byDhcp(port("wan0", "wan", "198.51.100.7/24")),
        waiting,
        asVrf(port("blue", "none", "10.66.0.1/32")),
      ]),
    ),
    http.get(`${API}/tools`, () => HttpResponse.json({ items: [] })),
    http.get(`${API}/hosts`, ({ request }) => hostsAnswer(state, new URL(request.url).searchParams)),
    http.get(`${API}/search`, ({ request }) => searchAnswer(route, new URL(request.url).searchParams)),
    http.get(`${API}/diagnosis/log`, ({ request }) => logAnswer(state, new URL(request.url).searchParams)),
    http.get(`${API}/leases`, ({ request }) => leasesAnswer(state, new URL(request.url).searchParams)),
    http.get(`${API}/queue-types`, () => page([type])),
    http.get(`${API}/static-routes`, ({ request }) =>
      routesAnswer(route, state.routeCount, new URL(request.url).searchParams),
    ),
    http.get(`${API}/firewall`, () => HttpResponse.json(firewall)),
    http.get(`${API}/tuning`, () => HttpResponse.json(TUNING)),
    http.post(`${API}/backup/check`, () => HttpResponse.json(backup)),
    http.post(`${API}/backup/restore`, ({ request }) => {
      state.restored = new URL(request.url).searchParams.get("confirm_within_s");
      return HttpResponse.json({
        revision: 2,
        base_revision: 1,
        counts: backup.counts,
        kernel: {
          available: true,
          reason: null,
          counts: backup.counts,
          steps: [],
          apply_ms: 1,
          verify_ms: 1,
        },
        findings: [],
        pending: null,
      });
    }),
    http.get(`${API}/users`, () => page([user])),
    http.get(`${API}/tokens`, () => page([token])),
    http.post(`${API}/tokens`, () => HttpResponse.json({ ...token, secret: "weir_secret" }, { status: 201 })),
    http.delete(`${API}/tokens/:id`, () => new HttpResponse(null, { status: 204 })),
    http.post(`${API}/users`, () =>
      HttpResponse.json(
        {
          user: { ...user, username: "eve", scope: "read", must_change_password: true },
          one_time_password: "correct-horse",
        },
        { status: 201 },
      ),
    ),
    http.get(`${API}/system/update`, () => HttpResponse.json(UPDATES)),
    http.post(`${API}/system/update/slot`, async ({ request }) =>
      HttpResponse.json({ ...UPDATES, next: ((await request.json()) as { slot: string }).slot }),
    ),
    http.get(`${API}/system/audit`, () =>
      HttpResponse.json({
        items: [
          {
            id: 1,
            at: "2026-01-01T00:00:00Z",
            actor: "admin",
            via: "session",
            source: "127.0.0.1",
            action: "sign-in",
            subject: null,
            outcome: "ok",
            detail: null,
          },
        ],
        next_cursor: null,
      }),
    ),
    http.post(`${API}/import/:format`, () => HttpResponse.json(report, { status: 201 })),
    http.get(`${API}/import/reports/:id`, () => HttpResponse.json(report)),
    http.get(`${API}/import/reports/:id/lines`, ({ request }) => {
      const fate = new URL(request.url).searchParams.get("fate");
      return page(LINES.filter((line) => !fate || line.fate === fate));
    }),
  ];
}
