// SPDX-License-Identifier: Apache-2.0
import { Button, Menu } from "@mantine/core";
import { IconChevronDown, IconPlus } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { asCustomersSee, useInterfaces } from "@/api/interfaces";
import { useDoubt } from "@/api/known";
import { useLiveInterfaces } from "@/api/live";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { systemQuery } from "@/api/queries";
import type { Interface, Lease } from "@/api/types";
import { useKeys } from "@/app/keyboard";
import { InterfaceFields } from "@/forms/InterfaceFields";
import { NEW_VLAN, NEW_VRF, readInterface, valuesOf } from "@/forms/interfaceValues";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import { MADE, NEW } from "@/kinds/newInterfaces";
import { PortsPicture } from "@/ports/PortsPicture";
import { perSecond } from "@/table/LiveCell";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { stampText } from "@/ui/format";
import { longRate, shortRate } from "@/ui/rates";
import { Split } from "@/ui/Split";
import classes from "./Interfaces.module.css";
import { IS_GENERIC, MadeDrawer, MadeOf } from "./made";

const FAST_PATH_STATES = { off: "off", on: "on", established: "on, for connections" };

function RateCell({ item, direction }: { item: Interface; direction: "upload" | "download" }) {
  const stats = useLiveInterfaces()?.items.find((found) => found.id === item.id);
  if (!stats) return <span className="dim">–</span>;
  return (
    <span data-live title={`received ${longRate(stats.rx_bps)}, sent ${longRate(stats.tx_bps)}`}>
      {shortRate(asCustomersSee(item.role, stats.rx_bps, stats.tx_bps)[direction])}
    </span>
  );
}

function DropsCell({ id }: { id: string }) {
  const stats = useLiveInterfaces()?.items.find((item) => item.id === id);
  if (!stats) return <span className="dim">–</span>;
  const drops = stats.rx_drops_ps + stats.tx_drops_ps;
  return (
    <span
      data-live
      data-zero={drops === 0}
      title={`received ${perSecond(stats.rx_drops_ps)}, sent ${perSecond(stats.tx_drops_ps)}`}
    >
      {perSecond(drops)}
    </span>
  );
}

/** Those that are configured, or else the kernel's; with what a DHCP server gave. */
function Addresses({ item }: { item: Interface }) {
  const lease = item.state?.lease ?? null;
  const own =
    item.addresses.length > 0 || item.addressing === "dhcp" ? item.addresses : (item.state?.addresses ?? []);
  return (
    <span className="mono nowrap">
      {own.map((address) => (
        <div key={address}>{address}</div>
      ))}
      {lease ? (
        <div title={leaseWords(lease)}>
          {lease.address} <span className="dim">DHCP</span>
        </div>
      ) : null}
      {lease === null && item.addressing === "dhcp" ? (
        <span className="dim">{item.disabled ? "DHCP" : "no DHCP answer yet"}</span>
      ) : null}
      {own.length === 0 && item.addressing !== "dhcp" ? "–" : null}
    </span>
  );
}

const leaseWords = (lease: Lease) =>
  [
    `from ${lease.server}`,
    lease.gateway ? `gateway ${lease.gateway}` : "no gateway",
    lease.dns.length > 0 ? `DNS ${lease.dns.join(", ")}` : "no DNS server",
    `until ${stampText(lease.expires_at)} unless prolonged`,
  ].join("; ");

/** What it is made of, as it is configured, or as the kernel has it; and the VRF that it is in. */
const Link = ({ item }: { item: Interface }) => {
  const vrf = item.configured ? item.vrf : item.state?.vrf;
  return (
    <span className="nowrap">
      <MadeOf item={item} />
      {vrf ? (
        <div>
          <span className="dim">in VRF</span> <span className="mono">{vrf}</span>
        </div>
      ) : null}
    </span>
  );
};

function Name({ item, isStaged, onOpen }: { item: Interface; isStaged: boolean; onOpen: () => void }) {
  return (
    <>
      <span className="row">
        <Button size="compact-xs" variant="subtle" onClick={onOpen}>
          <span className="mono">{item.id}</span>
        </Button>
        {isStaged ? <Tag tone="accent">change pending</Tag> : null}
      </span>
      {item.description ? <div className={`dim ${classes.description ?? ""}`}>{item.description}</div> : null}
    </>
  );
}

/** What is done to packets, and why not more. */
function Handling({ item: { state } }: { item: Interface }) {
  if (!state) return <>–</>;
  const { shaper, shaper_reason: why, fast_path: path, fast_path_reason: whyPath } = state;
  return (
    <span className={classes.handling}>
      <div title={why ?? undefined}>
        {shaper ?? "none"}
        {why ? <span className="dim"> {why}</span> : null}
      </div>
      <div title={whyPath ?? undefined}>
        fast path {FAST_PATH_STATES[path ?? "off"]}
        {path === "off" && whyPath ? <span className="dim"> {whyPath}</span> : null}
      </div>
    </span>
  );
}

/** `known`: the agent has told which interfaces there are. */
const stateTag = (item: Interface, isNew: boolean, known: boolean) => {
  if (isNew) return <Tag>not made yet</Tag>;
  if (!known) return <Tag>unknown</Tag>;
  if (!item.state) return <Tag tone="bad">✕ missing</Tag>;
  if (item.disabled) return <Tag>off</Tag>;
  return item.state.up ? <Tag tone="ok">✓ up</Tag> : <Tag tone="bad">✕ down</Tag>;
};

export default function InterfacesPage() {
  const { edit } = useSearch({ from: "/frame/interfaces" });
  const navigate = useNavigate({ from: "/interfaces" });
  const { query, staged, items, vrfs, ports } = useInterfaces();
  const may = useMay("write");
  const system = useQuery(systemQuery);
  const known = useDoubt(system) === null && system.data?.agent.connected !== false;
  const parents = ports.filter(
    (item) => !(item.vlan && items.some((below) => below.id === item.vlan?.parent && below.vlan)),
  );
  const open = (id: string | undefined) => void navigate({ search: { edit: id } });
  const edited = items.find((item) => item.id === edit);
  const made = edited ? undefined : MADE.find((word) => word === edit);
  useKeys(
    may ? MADE.map((word) => ({ keys: NEW[word].key, label: NEW[word].title, run: () => open(word) })) : [],
  );
  const columns: readonly Column<Interface>[] = [
    {
      id: "name",
      title: "Name",
      render: (item) => <Name item={item} isStaged={staged.has(item.id)} onOpen={() => open(item.id)} />,
    },
    {
      id: "state",
      title: "State",
      render: (item) => stateTag(item, staged.get(item.id)?.action === "add" && !item.state, known),
    },
    { id: "link", title: "Kind", render: (item) => <Link item={item} /> },
    {
      id: "role",
      title: "Role",
      render: (item) => (
        <span className="nowrap">
          {item.role === "none" ? <span className="dim">none</span> : item.role.toUpperCase()}
          {item.domain === 0 ? null : (
            <span className="mono" title={`domain ${item.domain}`}>
              {" "}
              @{item.domain}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "upload",
      title: "↑ Upload",
      numeric: true,
      render: (item) => <RateCell item={item} direction="upload" />,
    },
    {
      id: "download",
      title: "↓ Download",
      numeric: true,
      render: (item) => <RateCell item={item} direction="download" />,
    },
    { id: "drops", title: "Drops/s", numeric: true, render: (item) => <DropsCell id={item.id} /> },
    {
      id: "speed",
      title: "Speed, MTU",
      numeric: true,
      render: (item) => (
        <div>
          {item.state?.speed_bps ? <div>{shortRate(item.state.speed_bps)}</div> : null}
          <div className="dim">{item.state?.mtu ?? item.mtu ?? "–"}</div>
        </div>
      ),
    },
    { id: "addresses", title: "Addresses", render: (item) => <Addresses item={item} /> },
    { id: "shaper", title: "Shaper, fast path", width: "26%", render: (item) => <Handling item={item} /> },
  ];
  return (
    <Split
      drawer={
        (made ?? edited) === undefined ? null : IS_GENERIC(edited, made) ? (
          <MadeDrawer
            key={edited ? `${edited.id} ${edited.etag ?? ""} ${staged.has(edited.id)}` : made}
            item={edited}
            made={made}
            staged={edited ? (staged.get(edited.id)?.action ?? null) : null}
            onClose={() => open(undefined)}
          />
        ) : (
          <ObjectDrawer
            key={edited ? `${edited.id} ${edited.etag ?? ""} ${staged.has(edited.id)}` : made}
            kind="interface"
            id={edited?.id ?? null}
            etag={edited?.etag ?? null}
            title={edited?.id ?? NEW[made ?? "new"].title}
            initial={edited ? valuesOf(edited) : made === "new:vrf" ? NEW_VRF : NEW_VLAN}
            read={(values) => refuseTaken(readInterface(values), edited ? [] : items)}
            onClose={() => open(undefined)}
            removable={edited?.configured ?? false}
          >
            {(values, set, messages) => (
              <InterfaceFields
                values={values}
                set={set}
                messages={messages}
                parents={parents}
                vrfs={vrfs}
                isNew={!edited}
              />
            )}
          </ObjectDrawer>
        )
      }
    >
      <Page
        title="Interfaces"
        actions={
          may ? (
            <Menu position="bottom-end" width={220}>
              <Menu.Target>
                <Button
                  variant="filled"
                  leftSection={<IconPlus size={15} />}
                  rightSection={<IconChevronDown size={15} />}
                >
                  New interface
                </Button>
              </Menu.Target>
              <Menu.Dropdown>
                {MADE.map((word) => (
                  <Menu.Item
                    key={word}
                    rightSection={<span className="dim">{NEW[word].key}</span>}
                    onClick={() => open(word)}
                  >
                    {NEW[word].item}
                  </Menu.Item>
                ))}
              </Menu.Dropdown>
            </Menu>
          ) : null
        }
      >
        {query.isError ? (
          <Note severity="error" live>
            {asProblem(query.error).message}
          </Note>
        ) : null}
        {items
          .flatMap((item) => item.warnings)
          .map((finding) => (
            <Note key={`${finding.id} ${finding.code}`} severity={finding.severity}>
              {finding.message}
            </Note>
          ))}
        <PortsPicture items={items} />
        <Section
          title="What the router has"
          flush
          aside={
            <span className="dim">
              upload and download as customers see them; unconfigured ones as the kernel has them
            </span>
          }
        >
          {query.isPending ? (
            <Skeleton />
          ) : items.length > 0 ? (
            <SimpleTable
              caption="Interfaces"
              columns={columns}
              rows={items}
              rowKey={(item) => item.id}
              rowMuted={(item) => item.disabled}
              rowCurrent={(item) => item.id === edit}
            />
          ) : query.isError ? null : (
            <Empty title="No interfaces are known">
              <p className="dim">
                The agent tells which ones the machine has, and it does not answer now; none is configured
                either.
              </p>
            </Empty>
          )}
        </Section>
      </Page>
    </Split>
  );
}

/** A new one must not take the place of an interface that has its name. */
function refuseTaken(
  found: ReturnType<typeof readInterface>,
  items: readonly Interface[],
): ReturnType<typeof readInterface> {
  if (!items.some((item) => item.id === found.id)) return found;
  return { ...found, messages: { ...found.messages, id: "There is an interface of this name." } };
}
