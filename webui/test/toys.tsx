// SPDX-License-Identifier: Apache-2.0
/** A kind that no router has, its objects, and its list: what the tests of all kinds look at. */
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import type { SetupServer } from "msw/node";
import { useState } from "react";
import { queryClient } from "@/api/queries";
import type { KindSearch } from "@/app/search";
import { theme } from "@/app/theme";
import type { Declared, Field } from "@/kinds/kinds";
import { KindList } from "@/kinds/list/KindList";
import type { Stored } from "@/kinds/objects";

export const field = (name: string, label: string, rest: object): Field =>
  ({ name, label, importance: "shown", required: false, nullable: true, ...rest }) as Field;

/** A kind that no router has, with every type of field. */
export const TOY: Declared = {
  singular: "toy",
  plural: "toys",
  short: "toy",
  path: "toys",
  page: "toys",
  area: "Services",
  isSingle: false,
  assignsIds: true,
  namedBy: "title",
  columns: ["colour", "size", "port", "tags"],
  purpose: "Toys are for children.",
  oneOf: {
    field: "kind",
    cases: [
      { name: "plain", help: "Only itself.", member: "" },
      { name: "car", help: "It has wheels.", member: "wheels" },
      { name: "doll", help: "It has a voice.", member: "voice" },
    ],
  },
  defaults: { colour: "red", size: 1, noisy: false, tags: [], disabled: false },
  fields: [
    field("kind", "Kind", { type: "choice", choices: ["plain", "car", "doll"], nullable: false }),
    field("title", "Title", { type: "text", most: 20, lines: false, required: true, example: "Bob" }),
    field("wheels", "Wheels", { type: "whole", low: 1, high: 8 }),
    field("voice", "Voice", { type: "text", most: 9, lines: false }),
    field("colour", "Colour", { type: "choice", choices: ["red", "blue"], nullable: false }),
    field("port", "Port", { type: "ref", kind: "interface", role: "interface" }),
    field("tags", "Open ports", { type: "many", most: 3, item: { type: "port", low: 1, high: 65535 } }),
    field("noisy", "Noisy", { type: "flag", nullable: false }),
    field("volume", "Volume", {
      type: "whole",
      low: 0,
      high: 1e12,
      unit: "bps",
      when: { field: "noisy", is: [true], unless: false },
    }),
    field("key", "Key", { type: "secret" }),
    field("size", "Size", { type: "whole", low: 1, high: 9, nullable: false, importance: "folded" }),
    field("disabled", "Disabled", { type: "flag", nullable: false }),
  ],
  state: [],
};

export const toy = (id: string, more: object): Stored => ({ ...TOY.defaults, id, etag: `"${id}"`, ...more });

function ShownAt({ first, declared }: { first: KindSearch; declared: Declared }) {
  const [search, setSearch] = useState(first);
  return (
    <KindList
      kind="toy"
      declared={declared}
      search={search}
      onSearch={(change) => setSearch((before) => ({ ...before, ...change }))}
    />
  );
}

/** Shows the list of toys of a mocked router. */
export const shower =
  ({ server }: { server: SetupServer }) =>
  (
    items: readonly Stored[],
    search: KindSearch = {},
    declared: Declared = TOY,
    states: readonly object[] | null = null,
  ) => {
    server.use(
      http.get("*/api/v1/toys", ({ request }) => {
        const query = new URL(request.url).searchParams;
        const found = items.filter((item) => JSON.stringify(item).includes(query.get("q") ?? ""));
        const from = Number(query.get("cursor") ?? 0);
        const next = from + 1000;
        return HttpResponse.json({
          items: found.slice(from, next),
          next_cursor: next < found.length ? String(next) : null,
          total: found.length,
          states: query.get("with") === "state" ? states : null,
        });
      }),
    );
    const page = createRouter({
      routeTree: createRootRoute({ component: () => <ShownAt first={search} declared={declared} /> }),
      history: createMemoryHistory(),
    });
    return render(
      <MantineProvider theme={theme} env="test">
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={page as never} />
        </QueryClientProvider>
      </MantineProvider>,
    );
  };

export const TOYS = [
  toy("t1", { title: "Bob", size: 3, port: "lan0", wheels: 4 }),
  toy("t2", { title: "Anna", size: 20, colour: "blue" }),
  toy("t3", { title: "Zed", size: 1, key: { set: true }, disabled: true }),
];
