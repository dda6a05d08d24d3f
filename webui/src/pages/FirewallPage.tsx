// SPDX-License-Identifier: Apache-2.0
import { Button, NumberInput, Switch, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { ONLY_READS, useMay } from "@/api/may";
import { asProblem, messagesByField } from "@/api/problem";
import { firewallQuery } from "@/api/queries";
import type { Firewall } from "@/api/types";
import { baseOf, useStage, useStagedChanges } from "@/api/writes";
import { useDraft } from "@/forms/draft";
import { useMadeOn } from "@/forms/madeOn";
import classes from "@/forms/forms.module.css";
import type { Messages } from "@/forms/queueValues";
import { Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { say } from "@/ui/toast";

interface Values {
  masquerade: boolean;
  drop_new_from_wan: boolean;
  allow_ping_from_wan: boolean;
  ports: string;
  /** Text while it is being typed. */
  connections_per_source: number | string;
}

export default function FirewallPage() {
  const query = useQuery(firewallQuery);
  const staged = useStagedChanges("firewall").get("firewall");
  const policy = query.data ? { ...query.data, ...(staged?.new as Partial<Firewall> | undefined) } : null;
  return (
    <Page title="Firewall" actions={staged ? <Tag tone="accent">change pending</Tag> : null}>
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      {policy ? (
        <Policy key={JSON.stringify(policy)} policy={policy} base={baseOf(staged, query.data?.etag)} />
      ) : query.isPending ? (
        <Skeleton />
      ) : null}
    </Page>
  );
}

/** Reads `22, 443`; null when something is no port. */
export function parsePorts(text: string): number[] | null {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  const ports = parts.map(Number);
  return ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535) ? ports : null;
}

function Policy({ policy, base }: { policy: Firewall; base: string }) {
  const initial = useMemo<Values>(
    () => ({
      masquerade: policy.masquerade,
      drop_new_from_wan: policy.drop_new_from_wan,
      allow_ping_from_wan: policy.allow_ping_from_wan,
      ports: policy.allowed_wan_tcp_ports.join(", "),
      connections_per_source: policy.connections_per_source,
    }),
    [policy],
  );
  const [values, setValues, forget, touched] = useDraft("firewall", initial);
  const [madeOn] = useMadeOn("firewall", base, touched);
  const [messages, setMessages] = useState<Messages>({});
  const stage = useStage(true);
  const may = useMay("write");
  const set = (change: Partial<Values>) => setValues({ ...values, ...change });
  const save = () => {
    const ports = parsePorts(values.ports);
    if (ports === null) {
      setMessages({ allowed_wan_tcp_ports: "Ports are numbers from 1 to 65535, with commas between them." });
      return;
    }
    setMessages({});
    const { ports: _ports, ...flags } = values;
    stage.mutate(
      [{ kind: "firewall", id: "firewall", new: { ...flags, allowed_wan_tcp_ports: ports }, base: madeOn }],
      {
        onSuccess: (whose) => {
          forget();
          if (whose === "mine") say("notice", "The firewall policy is pending until it is committed.");
        },
        onError: (error) =>
          setMessages(messagesByField(asProblem(error), ["allowed_wan_tcp_ports", "connections_per_source"])),
      },
    );
  };
  return (
    <Section title="Between LAN and WAN">
      <fieldset className={`${classes.fields ?? ""} stack`} disabled={!may}>
        {may ? null : <Note severity="notice">{ONLY_READS}</Note>}
        {policy.warnings.map((finding) => (
          <Note key={finding.code} severity={finding.severity}>
            {finding.message}
          </Note>
        ))}
        {messages[""] ? (
          <Note severity="error" live>
            {messages[""]}
          </Note>
        ) : null}
        <Switch
          label="Masquerade: customers share the WAN address"
          description="Uploads are still counted by the customer's own address, before it is rewritten."
          checked={values.masquerade}
          onChange={(event) => set({ masquerade: event.currentTarget.checked })}
        />
        <Switch
          label="Drop new connections from the WAN"
          description="Replies to what was asked from the LAN always pass."
          checked={values.drop_new_from_wan}
          onChange={(event) => set({ drop_new_from_wan: event.currentTarget.checked })}
        />
        <Switch
          label="Answer ping from the WAN"
          checked={values.allow_ping_from_wan}
          onChange={(event) => set({ allow_ping_from_wan: event.currentTarget.checked })}
        />
        <TextInput
          label="TCP ports of the router that the WAN may reach"
          description="Empty: none."
          placeholder="22, 443"
          maw={360}
          value={values.ports}
          error={messages["allowed_wan_tcp_ports"]}
          onChange={(event) => set({ ports: event.currentTarget.value })}
        />
        <NumberInput
          label="Connections of one address at once"
          description="Of an IPv6 /64 together; new ones beyond it are dropped. 0: any number, and one customer can fill the router's table."
          maw={360}
          min={0}
          allowDecimal={false}
          value={values.connections_per_source}
          error={messages["connections_per_source"]}
          onChange={(value) => set({ connections_per_source: value })}
        />
        {may ? (
          <div className="row">
            <Button variant="filled" disabled={!touched} loading={stage.isPending} onClick={save}>
              Stage the change
            </Button>
            {touched ? <Button onClick={forget}>Undo</Button> : null}
          </div>
        ) : null}
      </fieldset>
    </Section>
  );
}
