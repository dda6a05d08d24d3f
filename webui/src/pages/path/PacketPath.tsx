// SPDX-License-Identifier: Apache-2.0
/** What the router would do with a packet: asked in the address of the page, so that a link shows the same. */
import { Button, Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { pathQuery } from "@/api/diagnosis";
import { candidateQuery, interfacesQuery } from "@/api/queries";
import { PROTOCOLS, WITH_PORTS } from "@/kinds/firewall/protocols";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { asProblem } from "@/api/problem";
import { clause, sentence } from "@/ui/format";
import { packetOf, queryOf, searchOf, type Packet } from "./packet";
import { PathAnswer } from "./PathLine";
import { PathProof } from "./PathProof";
import classes from "./PacketPath.module.css";

const BY_SOURCE = { value: "", label: "By the source" };
const ROUTER = { value: "-", label: "The router itself" };

export function PacketPath() {
  const search = useSearch({ from: "/frame/diagnostics" });
  const navigate = useNavigate({ from: "/diagnostics" });
  const packet = packetOf(search);
  const query = useQuery(pathQuery(packet === null ? null : queryOf(packet)));
  return (
    <Section title="What would the router do with this packet?">
      <PacketForm
        key={JSON.stringify(packet)}
        packet={packet}
        onAsk={(wanted) => {
          void navigate({ search: (old) => ({ ...old, ...searchOf(wanted) }), resetScroll: false });
          if (JSON.stringify(wanted) === JSON.stringify(packet)) void query.refetch();
        }}
      />
      {packet === null ? null : query.isError ? (
        <Refused error={query.error} />
      ) : query.data ? (
        <>
          <PathAnswer found={query.data} />
          <PathProof key={JSON.stringify(packet)} packet={packet} />
        </>
      ) : (
        <Skeleton lines={6} />
      )}
    </Section>
  );
}

function Refused({ error }: { error: unknown }) {
  const { status, message } = asProblem(error);
  const isRefused = status >= 400 && status < 500;
  return (
    <Note severity={isRefused ? "error" : "warning"} live>
      {isRefused ? sentence(message) : `Not known: ${clause(message)}`}
    </Note>
  );
}

function PacketForm({ packet, onAsk }: { packet: Packet | null; onAsk: (wanted: Packet) => void }) {
  const interfaces = useQuery(interfacesQuery).data?.items ?? [];
  const pending = useQuery(candidateQuery).data?.change_count ?? 0;
  const names = [...new Set([...interfaces.filter((item) => !item.disabled).map((item) => item.id)])];
  const known = packet?.in && packet.in !== "-" && !names.includes(packet.in) ? [packet.in, ...names] : names;
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget);
        const word = (name: string) => {
          const value = typed.get(name);
          return typeof value === "string" ? value.trim() : "";
        };
        onAsk({
          from: word("from"),
          to: word("to"),
          protocol: PROTOCOLS.find((each) => each === word("protocol")) ?? "tcp",
          port: word("port"),
          in: word("in"),
          pending: typed.get("pending") !== null,
        });
      }}
    >
      <NativeSelect
        name="in"
        label="Comes in by"
        defaultValue={packet?.in ?? ""}
        data={[BY_SOURCE, ROUTER, ...known]}
      />
      <Address name="from" label="Source" placeholder="10.64.0.2" value={packet?.from} />
      <Address name="to" label="Destination" placeholder="1.1.1.1" value={packet?.to} />
      <NativeSelect
        name="protocol"
        label="Protocol"
        defaultValue={packet?.protocol ?? "tcp"}
        data={[...PROTOCOLS]}
      />
      <TextInput
        name="port"
        label="Port"
        className={classes.port}
        inputMode="numeric"
        pattern="[0-9]{1,5}"
        title={`Of the destination; for ${WITH_PORTS.join(", ")}`}
        defaultValue={packet?.port ?? ""}
      />
      <Button type="submit">Look</Button>
      {pending > 0 || packet?.pending ? (
        <Checkbox
          name="pending"
          className={classes.pending}
          label="With what is pending"
          defaultChecked={packet?.pending ?? false}
        />
      ) : null}
    </form>
  );
}

function Address({
  name,
  label,
  placeholder,
  value,
}: {
  name: string;
  label: string;
  placeholder: string;
  value: string | undefined;
}) {
  return (
    <TextInput
      name={name}
      label={label}
      placeholder={placeholder}
      defaultValue={value ?? ""}
      required
      autoComplete="off"
      spellCheck={false}
      className={classes.address}
    />
  );
}
