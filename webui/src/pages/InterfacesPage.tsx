// SPDX-License-Identifier: Apache-2.0
import { Button, Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useLiveInterfaces } from "@/api/live";
import { asProblem } from "@/api/problem";
import { interfacesQuery } from "@/api/queries";
import type { Interface, InterfaceInput } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import { splitTargets, type Messages } from "@/forms/queueValues";
import { perSecond } from "@/table/LiveCell";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { longRate, shortRate } from "@/ui/rates";
import { Split } from "@/ui/Split";

const ROLES = [
  { value: "none", label: "none: not part of shaping" },
  { value: "lan", label: "LAN: faces the customers" },
  { value: "wan", label: "WAN: faces the internet" },
];
const SHAPERS = [
  { value: "auto", label: "automatic: the best this kernel can do" },
  { value: "edt", label: "EDT: paced by fq" },
  { value: "police", label: "police: drops above the rate" },
  { value: "htb", label: "HTB: the classic tree" },
];

const FAST_PATHS = [
  { value: "auto", label: "auto: in XDP what need not wait, where that is possible" },
  { value: "off", label: "off: all packets through the stack" },
];

const FAST_PATH_STATES = { off: "off", on: "on", established: "on, for connections" };

interface Values {
  role: InterfaceInput["role"];
  addresses: string;
  mtu: string;
  description: string;
  overhead: string;
  shaper: InterfaceInput["shaper"];
  fastPath: InterfaceInput["fast_path"];
  domain: string;
  disabled: boolean;
}

const valuesOf = (item: Interface): Values => ({
  role: item.role as Values["role"], addresses: item.addresses.join("\n"), mtu: item.mtu === null ? "" : String(item.mtu), description: item.description,
  overhead: String(item.overhead_bytes), shaper: item.shaper as Values["shaper"], fastPath: item.fast_path as Values["fastPath"], domain: String(item.domain), disabled: item.disabled,
});

function readInterface(values: Values): { input: InterfaceInput; messages: Messages } {
  const messages: Messages = {};
  if (values.mtu.trim() !== "" && !/^\d+$/.test(values.mtu.trim())) messages["mtu"] = "A number of bytes, such as 1500, or nothing.";
  if (!/^-?\d+$/.test(values.overhead.trim())) messages["overhead_bytes"] = "A number of bytes, such as 0 or 18.";
  if (!/^\d{1,2}$/.test(values.domain.trim())) messages["domain"] = "A number from 0 to 15.";
  const input: InterfaceInput = {
    role: values.role, addresses: splitTargets(values.addresses), mtu: values.mtu.trim() === "" ? null : Number(values.mtu), description: values.description,
    overhead_bytes: Number(values.overhead), shaper: values.shaper, fast_path: values.fastPath, domain: Number(values.domain), disabled: values.disabled,
  };
  return { input, messages };
}

function LiveCells({ id }: { id: string }) {
  const stats = useLiveInterfaces()?.items.find((item) => item.id === id);
  if (!stats) return <span className="dim">–</span>;
  return <span data-live title={`received ${longRate(stats.rx_bps)}, sent ${longRate(stats.tx_bps)}`}>{shortRate(stats.rx_bps)} / {shortRate(stats.tx_bps)}</span>;
}

function DropsCell({ id }: { id: string }) {
  const stats = useLiveInterfaces()?.items.find((item) => item.id === id);
  if (!stats) return <span className="dim">–</span>;
  const drops = stats.rx_drops_ps + stats.tx_drops_ps;
  return <span data-live data-zero={drops === 0} title={`received ${perSecond(stats.rx_drops_ps)}, sent ${perSecond(stats.tx_drops_ps)}`}>{perSecond(drops)}</span>;
}

const Addresses = ({ list }: { list: readonly string[] }) => (
  <span className="mono nowrap">
    {list.length === 0 ? "–" : list.map((address) => <div key={address}>{address}</div>)}
  </span>
);

const stateTag = (item: Interface) => {
  if (!item.state) return <Tag tone="bad">✕ missing</Tag>;
  if (item.disabled) return <Tag>off</Tag>;
  return item.state.up ? <Tag tone="ok">✓ up</Tag> : <Tag tone="bad">✕ down</Tag>;
};

export default function InterfacesPage() {
  const { edit } = useSearch({ from: "/frame/interfaces" });
  const navigate = useNavigate({ from: "/interfaces" });
  const query = useQuery(interfacesQuery);
  const staged = useStagedChanges("interface");
  const items = query.data?.items ?? [];
  const open = (id: string | undefined) => void navigate({ search: { edit: id } });
  const edited = items.find((item) => item.id === edit);
  const columns: readonly Column<Interface>[] = [
    { id: "name", title: "Name", render: (item) => <span className="row"><Button size="compact-xs" variant="subtle" onClick={() => open(item.id)}><span className="mono">{item.id}</span></Button>{staged.has(item.id) ? <Tag tone="accent">change pending</Tag> : null}</span> },
    { id: "state", title: "State", render: stateTag },
    { id: "role", title: "Role", render: (item) => (item.role === "none" ? <span className="dim">none</span> : item.role.toUpperCase()) },
    { id: "domain", title: "Domain", numeric: true, render: (item) => (item.domain === 0 ? null : <span className="mono">@{item.domain}</span>) },
    { id: "rate", title: "Received / sent", numeric: true, render: (item) => <LiveCells id={item.id} /> },
    { id: "drops", title: "Drops/s", numeric: true, render: (item) => <DropsCell id={item.id} /> },
    { id: "speed", title: "Speed", numeric: true, render: (item) => (item.state?.speed_bps ? shortRate(item.state.speed_bps) : null) },
    { id: "addresses", title: "Addresses", render: (item) => <Addresses list={item.addresses.length > 0 ? item.addresses : (item.state?.addresses ?? [])} /> },
    { id: "shaper", title: "Shaper", width: "24%", render: (item) => <span title={item.state?.shaper_reason ?? ""}>{item.state?.shaper ?? "none"}{item.state?.shaper_reason ? <span className="dim"> {item.state.shaper_reason}</span> : null}</span> },
    { id: "fast-path", title: "Fast path", width: "26%", render: (item) => <span title={item.state?.fast_path_reason ?? ""}>{FAST_PATH_STATES[item.state?.fast_path ?? "off"]}{item.state?.fast_path === "off" && item.state.fast_path_reason ? <span className="dim"> {item.state.fast_path_reason}</span> : null}</span> },
    { id: "mtu", title: "MTU", numeric: true, render: (item) => item.state?.mtu ?? item.mtu ?? "–" },
    { id: "description", title: "Description", render: (item) => (item.description ? <span className="dim">{item.description}</span> : null) },
  ];
  return (
    <Split
      drawer={
        edited ? (
          <ObjectDrawer key={`${edited.id} ${edited.etag ?? ""} ${staged.has(edited.id)}`} kind="interface" id={edited.id} title={edited.id} initial={valuesOf({ ...edited, ...(staged.get(edited.id)?.new as Partial<Interface> | undefined) })} read={readInterface} onClose={() => open(undefined)} removable={edited.configured}>
            {(values, set, messages) => <Fields values={values} set={set} messages={messages} />}
          </ObjectDrawer>
        ) : null
      }
    >
      <Page title="Interfaces">
        {query.isError ? <Note severity="error" live>{asProblem(query.error).message}</Note> : null}
        {items.flatMap((item) => item.warnings).map((finding) => <Note key={`${finding.id} ${finding.code}`} severity={finding.severity}>{finding.message}</Note>)}
        <Section title="What the router has" flush aside={<span className="dim">unconfigured ones are shown as the kernel has them</span>}>
          {query.isPending ? <Skeleton /> : items.length > 0 ? (
            <SimpleTable caption="Interfaces" columns={columns} rows={items} rowKey={(item) => item.id} rowMuted={(item) => item.disabled} rowCurrent={(item) => item.id === edit} />
          ) : (
            <Empty title="No interfaces are known">
              <p className="dim">The agent tells which ones the machine has, and it does not answer now; none is configured either.</p>
            </Empty>
          )}
        </Section>
      </Page>
    </Split>
  );
}

function Fields({ values, set, messages }: { values: Values; set: (change: Partial<Values>) => void; messages: Messages }) {
  return (
    <>
      <NativeSelect label="Role" data={ROLES} value={values.role} error={messages["role"]} onChange={(event) => set({ role: event.currentTarget.value as Values["role"] })} />
      <Textarea label="Addresses" description="With prefix length, one per line: 192.0.2.1/24" rows={3} styles={{ input: { fontFamily: "var(--mono)" } }} spellCheck={false} value={values.addresses} error={messages["addresses"]} onChange={(event) => set({ addresses: event.currentTarget.value })} />
      <TextInput label="MTU" description="Empty: as the kernel has it." inputMode="numeric" value={values.mtu} error={messages["mtu"]} onChange={(event) => set({ mtu: event.currentTarget.value })} />
      <TextInput label="Overhead per packet, bytes" description="Added to each packet's IP length when it is counted against a limit." inputMode="numeric" value={values.overhead} error={messages["overhead_bytes"]} onChange={(event) => set({ overhead: event.currentTarget.value })} />
      <NativeSelect label="Shaper" data={SHAPERS} value={values.shaper} error={messages["shaper"]} onChange={(event) => set({ shaper: event.currentTarget.value as Values["shaper"] })} />
      <NativeSelect label="Fast path" data={FAST_PATHS} value={values.fastPath} error={messages["fast_path"]} onChange={(event) => set({ fastPath: event.currentTarget.value as Values["fastPath"] })} />
      <TextInput label="Domain of addresses" description="Keeps overlapping addresses apart: where this is 2, the target 10.0.0.0/24@2 holds; where it is 0, 10.0.0.0/24." inputMode="numeric" value={values.domain} error={messages["domain"]} onChange={(event) => set({ domain: event.currentTarget.value })} />
      <TextInput label="Description" value={values.description} error={messages["description"]} onChange={(event) => set({ description: event.currentTarget.value })} />
      <Checkbox label="Disabled: taken down" checked={values.disabled} onChange={(event) => set({ disabled: event.currentTarget.checked })} />
    </>
  );
}
