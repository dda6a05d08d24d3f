// SPDX-License-Identifier: Apache-2.0
import { Button, Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useInterfaces } from "@/api/interfaces";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { routesQuery } from "@/api/queries";
import type { Change, StaticRoute, StaticRouteInput } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { useKeys } from "@/app/keyboard";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import type { Messages } from "@/forms/queueValues";
import { VrfSelect } from "@/forms/VrfSelect";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { Split } from "@/ui/Split";

interface Values {
  destination: string;
  way: "gateway" | "interface" | "blackhole";
  gateway: string;
  interface: string;
  distance: string;
  /** "": in none. */
  vrf: string;
  comment: string;
  disabled: boolean;
}

const BLANK: Values = {
  destination: "",
  way: "gateway",
  gateway: "",
  interface: "",
  distance: "1",
  vrf: "",
  comment: "",
  disabled: false,
};

const valuesOf = (route: StaticRoute): Values => ({
  destination: route.destination,
  way: route.blackhole ? "blackhole" : route.gateway ? "gateway" : "interface",
  gateway: route.gateway ?? "",
  interface: route.interface ?? "",
  distance: String(route.distance),
  vrf: route.vrf ?? "",
  comment: route.comment,
  disabled: route.disabled,
});

function readRoute(values: Values): { input: StaticRouteInput; messages: Messages } {
  const messages: Messages = {};
  if (values.destination.trim() === "")
    messages["destination"] = "A prefix, such as 10.0.0.0/8, or 0.0.0.0/0 for everything.";
  if (values.way === "gateway" && values.gateway.trim() === "")
    messages["gateway"] = "The next router's address.";
  if (values.way === "interface" && values.interface === "") messages["interface"] = "Choose an interface.";
  if (!/^\d+$/.test(values.distance.trim())) messages["distance"] = "1 to 255; the lowest wins.";
  const input: StaticRouteInput = {
    destination: values.destination.trim(),
    gateway: values.way === "gateway" ? values.gateway.trim() || null : null,
    interface: values.way === "blackhole" ? null : values.interface || null,
    blackhole: values.way === "blackhole",
    distance: Number(values.distance),
    vrf: values.vrf === "" ? null : values.vrf,
    comment: values.comment,
    disabled: values.disabled,
  };
  return { input, messages };
}

const way = (route: StaticRoute) =>
  route.blackhole ? (
    <Tag>dropped</Tag>
  ) : (
    <span className="mono">{[route.gateway, route.interface].filter(Boolean).join(" on ")}</span>
  );

/** Stored routes with what is staged of them, and the staged new ones. */
function withStaged(items: readonly StaticRoute[], staged: ReadonlyMap<string, Change>): StaticRoute[] {
  const known = items.map((route) => ({
    ...route,
    ...(staged.get(route.id)?.new as Partial<StaticRoute> | null),
  }));
  const added = [...staged.values()]
    .filter((change) => change.action === "add")
    .map((change) => ({ ...(change.new as unknown as StaticRoute), id: change.id, warnings: [] }));
  return [...known, ...added];
}

export default function RoutesPage() {
  const { edit } = useSearch({ from: "/frame/routes" });
  const navigate = useNavigate({ from: "/routes" });
  const query = useQuery(routesQuery);
  const may = useMay("write");
  const staged = useStagedChanges("static-route");
  const routes = withStaged(query.data?.items ?? [], staged);
  const open = (id: string | undefined) => void navigate({ search: { edit: id } });
  const edited = routes.find((route) => route.id === edit);
  useKeys(may ? [{ keys: "n", label: "New route", run: () => open("new") }] : []);
  const columns: readonly Column<StaticRoute>[] = [
    {
      id: "destination",
      title: "Destination",
      render: (route) => (
        <span className="row">
          <Button size="compact-xs" variant="subtle" onClick={() => open(route.id)}>
            <span className="mono">{route.destination}</span>
          </Button>
          {staged.has(route.id) ? (
            <Tag tone="accent">
              {staged.get(route.id)?.action === "remove" ? "removal pending" : "change pending"}
            </Tag>
          ) : null}
        </span>
      ),
    },
    { id: "way", title: "By", render: way },
    {
      id: "vrf",
      title: "VRF",
      render: (route) => (route.vrf ? <span className="mono">{route.vrf}</span> : null),
    },
    { id: "distance", title: "Distance", numeric: true, render: (route) => route.distance },
    { id: "state", title: "State", render: (route) => (route.disabled ? <Tag>off</Tag> : "on") },
    {
      id: "comment",
      title: "Comment",
      render: (route) => (route.comment ? <span className="dim">{route.comment}</span> : null),
    },
  ];
  return (
    <Split
      drawer={
        edit === "new" || edited ? (
          <ObjectDrawer
            key={edit}
            kind="static-route"
            id={edited?.id ?? null}
            etag={edited?.etag ?? null}
            title={edited ? `Route to ${edited.destination}` : "New route"}
            initial={edited ? valuesOf(edited) : BLANK}
            read={readRoute}
            onClose={() => open(undefined)}
            removable
          >
            {(values, set, messages) => <Fields values={values} set={set} messages={messages} />}
          </ObjectDrawer>
        ) : null
      }
    >
      <Page
        title="Routes"
        actions={
          may ? (
            <Button variant="filled" leftSection={<IconPlus size={15} />} onClick={() => open("new")}>
              New route
            </Button>
          ) : null
        }
      >
        {query.isError ? (
          <Note severity="error" live>
            {asProblem(query.error).message}
          </Note>
        ) : null}
        <Section title="Static routes" flush>
          {query.isPending ? (
            <Skeleton />
          ) : routes.length > 0 ? (
            <SimpleTable
              caption="Static routes"
              columns={columns}
              rows={routes}
              rowKey={(route) => route.id}
              rowMuted={(route) => route.disabled}
              rowCurrent={(route) => route.id === edit}
            />
          ) : (
            <Empty title="No static routes">
              <p className="dim">
                The router knows the networks of its own addresses. A route to 0.0.0.0/0 sends everything else
                to your provider.
              </p>
              {may ? <Button onClick={() => open("new")}>New route</Button> : null}
            </Empty>
          )}
        </Section>
      </Page>
    </Split>
  );
}

function Fields({
  values,
  set,
  messages,
}: {
  values: Values;
  set: (change: Partial<Values>) => void;
  messages: Messages;
}) {
  const { vrfs, ports } = useInterfaces();
  return (
    <>
      <TextInput
        label="Destination"
        required
        data-autofocus
        placeholder="such as 0.0.0.0/0"
        styles={{ input: { fontFamily: "var(--mono)" } }}
        value={values.destination}
        error={messages["destination"]}
        onChange={(event) => set({ destination: event.currentTarget.value })}
      />
      <NativeSelect
        label="Sent"
        data={[
          { value: "gateway", label: "to a gateway" },
          { value: "interface", label: "out of an interface" },
          { value: "blackhole", label: "nowhere: dropped" },
        ]}
        value={values.way}
        onChange={(event) => set({ way: event.currentTarget.value as Values["way"] })}
      />
      {values.way === "gateway" ? (
        <TextInput
          label="Gateway"
          placeholder="192.0.2.1"
          styles={{ input: { fontFamily: "var(--mono)" } }}
          value={values.gateway}
          error={messages["gateway"]}
          onChange={(event) => set({ gateway: event.currentTarget.value })}
        />
      ) : null}
      {values.way === "blackhole" ? null : (
        <NativeSelect
          label={values.way === "gateway" ? "Only out of (optional)" : "Interface"}
          data={[
            { value: "", label: values.way === "gateway" ? "any" : "choose" },
            ...ports.map((item) => item.id),
          ]}
          value={values.interface}
          error={messages["interface"]}
          onChange={(event) => set({ interface: event.currentTarget.value })}
        />
      )}
      <VrfSelect
        description=""
        value={values.vrf}
        error={messages["vrf"]}
        vrfs={vrfs}
        onChange={(vrf) => set({ vrf })}
      />
      <TextInput
        label="Distance"
        description=""
        inputMode="numeric"
        value={values.distance}
        error={messages["distance"]}
        onChange={(event) => set({ distance: event.currentTarget.value })}
      />
      <TextInput
        label="Comment"
        value={values.comment}
        error={messages["comment"]}
        onChange={(event) => set({ comment: event.currentTarget.value })}
      />
      <Checkbox
        label="Disabled"
        checked={values.disabled}
        onChange={(event) => set({ disabled: event.currentTarget.checked })}
      />
    </>
  );
}
