// SPDX-License-Identifier: Apache-2.0
// Which screens there are and how each is brought up.
//   at      the address, or a function of the router that gives it
//   before  "sign-in": nobody is signed in; "password": the one-time password is not replaced yet
//   show    what is done on the page before the picture; after: what takes it back
import { readFileSync } from "node:fs";
import path from "node:path";

const EXPORT = path.resolve(
  import.meta.dirname,
  "../../../tests/formats/fixtures/routeros/facts_fixture/export.rsc",
);

const ofSource = (file) =>
  JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../../src", file), "utf8"));
const KINDS = Object.entries(ofSource("kinds/names.json").kinds).filter(([, kind]) => kind.page);

/** Every page that follows from no declaration. The overview is last: by then the graphs have a past. */
const { overview, ...own } = Object.fromEntries(
  Object.entries(ofSource("app/pages.json")).map(([name, at]) => [name, { at }]),
);

/** The list of every declared kind, or the form of the only object of one. */
const lists = Object.fromEntries(KINDS.map(([kind, { page }]) => [`list-${kind}`, { at: `/${page}` }]));

/** A form of every kind that has more than one object. */
const forms = Object.fromEntries(
  KINDS.filter(([, { isSingle }]) => !isSingle).map(([kind, { page }]) => [
    `form-${kind}`,
    { at: `/${page}?edit=new` },
  ]),
);

const pages = {
  queues: { at: "/queues" },
  ...own,
  "queues-busiest": { at: "/queues?sort=-rate_download" },
  tree: {
    at: "/queues?view=tree",
    show: async (page) => {
      const folded = page.getByRole("button", { name: /^Unfold/ });
      for (let most = 2; most > 0 && (await folded.count()) > 0; most--) await folded.first().click();
    },
  },
  queue: { at: async (router) => `/queues/${(await router.busyQueue()).id}` },
  "queue-parent": { at: async (router) => `/queues/${(await router.parentQueue()).id}?window=1h` },
  "queue-form": { at: "/queues?edit=new" },
  "queue-edit": { at: async (router) => `/queues?edit=${(await router.busyQueue()).id}` },
  ...lists,
  ...forms,
  "firewall-rules-moved": {
    at: "/rules",
    show: async (page) => {
      const grip = (name) => page.getByRole("row", { name }).locator("[data-grip]");
      await grip("scanners").dragTo(page.getByRole("row", { name: /ssh/ }), {
        targetPosition: { x: 200, y: 3 },
      });
      await page.getByText(/scanners: moved up/).waitFor();
      await page.getByRole("grid", { name: "firewall rules" }).focus();
      await page.keyboard.press("Home");
      await page.keyboard.press("Alt+ArrowDown");
      await page.getByText(/blocked: moved down/).waitFor();
    },
  },
  "firewall-rule-form": { at: "/rules?edit=blocked" },
  "set-form": { at: "/sets?edit=scanners" },
  overview,
};

const select = async (page, count) => {
  const boxes = page.getByRole("checkbox", { name: /^Select / });
  for (let index = 1; index <= count; index++) await boxes.nth(index).check();
};

const first = {
  "sign-in": { at: "/sign-in", before: "sign-in" },
  "sign-in-refused": {
    at: "/sign-in",
    before: "sign-in",
    show: async (page) => {
      await page.getByLabel("User name").fill("nobody");
      await page.getByRole("textbox", { name: "Password" }).fill("not the password");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
    },
  },
  "password-change": { at: "/", before: "password" },
};

const states = {
  "queue-form-errors": {
    at: "/queues?edit=new",
    show: async (page) => {
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("customer-01");
      await page.getByRole("textbox", { name: /^Target/ }).fill("10.64.1.300");
      await page.getByRole("textbox", { name: "Limit, upload" }).fill("10MB");
      await page.getByRole("textbox", { name: "Limit, download" }).fill("1.5g");
      await page.getByRole("button", { name: "Stage the queue" }).click();
    },
    after: (page) => page.evaluate(() => sessionStorage.clear()),
  },
  "queues-selected": {
    at: "/queues?sort=name",
    show: async (page) => {
      await select(page, 3);
      await page.getByRole("button", { name: "Edit all" }).click();
      await page.getByLabel("Limits times").fill("x1.2");
    },
    after: (page) => page.evaluate(() => sessionStorage.clear()),
  },
  "queues-columns": { at: "/queues", show: (page) => page.getByRole("button", { name: "Columns" }).click() },
  "queues-inline": {
    at: "/queues?sort=name",
    show: async (page) => {
      await page.getByRole("grid", { name: "Queues" }).focus();
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
    },
  },
  "queues-none-match": { at: "/queues?q=nothing-like-this" },
  "queue-missing": { at: "/queues/no-such-queue" },
  "no-page": { at: "/nowhere" },
  "queue-type-pcq": {
    at: "/queue-types?edit=pcq-download-default",
    show: async (page) => {
      for (const fold of await page.getByRole("dialog").locator("summary").all()) await fold.click();
    },
  },
  "queue-form-folds": {
    at: async (router) => `/queues?edit=${(await router.busyQueue()).id}`,
    show: async (page) => {
      for (const fold of ["Queue type and bucket", "Both directions together", "Destination and order"])
        await page.getByRole("dialog").getByText(fold).click();
    },
  },
  "tuning-setting": { at: "/tuning?edit=neighbours-v4-first" },
  "backup-review": {
    at: "/backup",
    show: async (page, router) => {
      await page.getByLabel("Backup to restore").setInputFiles({
        name: "core.weir",
        mimeType: "application/octet-stream",
        buffer: await router.backup(),
      });
      await page.getByRole("form", { name: "Restore" }).waitFor();
    },
  },
  "interface-form": { at: "/interfaces?edit=lan0" },
  search: {
    at: "/",
    show: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog").getByRole("combobox").fill("10.64");
      await page.waitForTimeout(600);
    },
  },
  "interfaces-24": {
    at: "/interfaces",
    show: async (page) => {
      await page.route("**/api/v1/interfaces?*", async (route) => {
        const answer = await (await route.fetch()).json();
        const [first] = answer.items;
        const socket = (_, n) => ({
          ...first,
          id: `eth${n}`,
          role: ["wan", "lan", "none"][Math.min(n, 2)],
          state: { ...first.state, kind: "physical", up: n % 5 < 3, speed_bps: n < 4 ? 1e10 : 1e9 },
        });
        await route.fulfill({ json: { ...answer, items: Array.from({ length: 24 }, socket) } });
      });
      await page.reload();
      await page.getByRole("list", { name: "Ports" }).waitFor();
    },
  },
  raise: {
    at: async (router) => `/queues/${(await router.busyQueue()).id}`,
    show: (page) => page.getByRole("button", { name: "Raise for 1 h" }).click(),
  },
  raised: {
    at: async (router) => {
      const { id, max_limit_bps: limit } = await router.busyQueue();
      const more = { upload: limit.upload * 2, download: limit.download * 2 };
      await router.call("POST", `/queues/${id}/raise`, { max_limit_bps: more, for_s: 3600 });
      return `/queues/${id}`;
    },
    after: (page, router) => router.call("DELETE", `/queues/${page.url().split("/").at(-1)}/raise`),
  },
  help: { at: "/queues", show: (page) => page.keyboard.press("?") },
  lamp: { at: "/queues", show: (page) => page.getByRole("button", { name: /^Router state/ }).click() },
  menu: { at: "/queues", show: (page) => page.getByRole("button", { name: /^Account:/ }).click() },
  "import-report": {
    at: async (router) => `/import?report=${await router.importReport(readFileSync(EXPORT, "utf8"))}`,
  },
  "import-warnings": {
    at: async (router) =>
      `/import?report=${await router.importReport(readFileSync(EXPORT, "utf8"))}&fate=warning`,
    show: (page) => page.getByRole("row").nth(1).click(),
  },
  "import-commit": {
    at: async (router) => `/import?report=${await router.importReport(readFileSync(EXPORT, "utf8"))}`,
    show: (page) => page.getByRole("button", { name: "Commit this import" }).click(),
  },
  pending: {
    at: async (router) => {
      await router.stageSome();
      return "/queues?sort=name";
    },
  },
  diff: { at: "/queues?sort=name", show: (page) => page.getByRole("button", { name: "Diff" }).click() },
  discard: { at: "/queues?sort=name", show: (page) => page.getByRole("button", { name: "Discard" }).click() },
  confirm: {
    at: async (router) => {
      await router.call("POST", "/candidate/commit", {
        message: "new plan for customer 1, hotel added",
        confirm_within_s: 300,
      });
      return "/queues?sort=name";
    },
  },
  "history-compare": {
    at: async (router) => {
      await router.call("POST", "/config/revert").catch(() => undefined);
      await router.discard();
      return "/history?from=1&to=3";
    },
  },
  "history-restore": { at: "/history?restore=1" },
  "token-secret": {
    at: "/users?tab=tokens",
    show: async (page) => {
      await page.getByRole("textbox", { name: "What for" }).fill("billing");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByTestId("secret").waitFor();
    },
  },
  "session-lost": {
    at: "/queues?edit=new",
    show: async (page) => {
      await page.route("**/api/v1/**", (route) =>
        route.fulfill({
          status: 401,
          contentType: "application/problem+json",
          body: JSON.stringify({
            type: "about:blank",
            title: "Sign in",
            status: 401,
            code: "unauthenticated",
            detail: "Your session has ended.",
            path: null,
            findings: [],
          }),
        }),
      );
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("half typed");
      await page.getByText("Your session has ended").waitFor({ timeout: 20_000 });
    },
    after: (page) => page.evaluate(() => sessionStorage.clear()),
  },
};

const silenced = async (page, router) => {
  router.silence();
  await page.getByText(/No live data since/).waitFor({ timeout: 20_000 });
};
const heard = (_page, router) => router.wake();

/** The API process is stopped under a page that is open, as when it hangs or the network is gone. */
const silent = {
  "api-away-queues": { at: "/queues?sort=-rate_download", show: silenced, after: heard },
  "api-away-overview": { at: "/", show: silenced, after: heard },
  "api-away-queue": {
    at: async (router) => `/queues/${(await router.busyQueue()).id}`,
    show: silenced,
    after: heard,
  },
};

const commitRefused = {
  at: async (router) => {
    await router.stageSome();
    return "/queues?sort=name";
  },
  show: async (page) => {
    await page.getByRole("button", { name: "Commit", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Commit", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").waitFor({ timeout: 30_000 });
  },
  after: (_page, router) => router.discard(),
};

const some = (...names) => names.map((name) => [name, pages[name]]);

/** The screens of a router in a state, in the order in which they have to be taken. */
export function screensFor(size) {
  const all = Object.keys(lists);
  if (size === "none") return some("queues", "tree", "hosts", ...all, "import", "history", "overview");
  if (size === "agent-away")
    return [
      ...some("queues", "queue", "hosts", ...all, "diagnostics", "overview"),
      ["commit-refused", commitRefused],
    ];
  if (size === "few")
    return [
      ...Object.entries(first),
      ...Object.entries(pages),
      ...Object.entries(states),
      ...(process.env.WEIR_API_PID ? Object.entries(silent) : []),
    ];
  return Object.entries(pages);
}
