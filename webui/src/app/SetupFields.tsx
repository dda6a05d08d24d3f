// SPDX-License-Identifier: Apache-2.0
/** The fields of the first visit: the account, the ports of a preset, or LAN and WAN by hand. */
import { NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useId, type ReactNode } from "react";
import type { Setup } from "@/api/types";
import {
  portsFor,
  portText,
  presetOf,
  assigned,
  type PortUse,
  type SetupDraft,
  type SetupErrors,
} from "./setupDraft";
import classes from "./SignIn.module.css";

const WAYS = [
  { value: "dhcp", label: "by DHCP: nothing to fill in" },
  { value: "static", label: "in a letter: a fixed one" },
];
const UNKNOWN = [
  { value: "drop", label: "are not forwarded until they have one" },
  { value: "allow", label: "pass without a limit" },
];
const zones = (): string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

export interface FieldsProps {
  setup: Setup;
  draft: SetupDraft;
  put: (change: Partial<SetupDraft>) => void;
  errors: SetupErrors;
}
type Some = Omit<FieldsProps, "setup">;

export const Group = ({ title, children }: { title: string; children: ReactNode }) => (
  <fieldset className={`${classes.group ?? ""} stack`}>
    <legend>{title}</legend>
    {children}
  </fieldset>
);

export function Account({ draft, put, errors }: FieldsProps) {
  return (
    <Group title="Administrator">
      <p>
        The user name is <strong>admin</strong>.
      </p>
      <PasswordInput
        size="sm"
        label="Password"
        description="At least 10 characters; a few words are good."
        autoComplete="new-password"
        required
        minLength={10}
        value={draft.password}
        error={errors.password}
        onChange={(event) => put({ password: event.currentTarget.value })}
        autoFocus
      />
      <PasswordInput
        size="sm"
        label="Password again"
        autoComplete="new-password"
        required
        value={draft.again}
        error={errors.again}
        onChange={(event) => put({ again: event.currentTarget.value })}
      />
      <NativeSelect
        size="sm"
        label="Time zone"
        description="Queues with hours follow it."
        data={zones()}
        value={draft.zone}
        error={errors.zone}
        onChange={(event) => put({ zone: event.currentTarget.value })}
      />
    </Group>
  );
}

export function PortsByHand({ setup, draft, put, errors }: FieldsProps) {
  const ports = setup.ports.map((port) => ({ value: port.id, label: portText(port) }));
  const chooseLan = (lan: string) => put({ lan, wan: draft.wan === lan ? "" : draft.wan });
  return (
    <>
      <NativeSelect
        size="sm"
        label="LAN port"
        description="Faces the customers."
        data={ports}
        value={draft.lan}
        error={errors.lan}
        onChange={(event) => chooseLan(event.currentTarget.value)}
      />
      <LanAddress draft={draft} put={put} errors={errors} />
      <NativeSelect
        size="sm"
        label="WAN port"
        description="Faces the internet."
        data={[{ value: "", label: "none yet" }, ...ports.filter((port) => port.value !== draft.lan)]}
        value={draft.wan}
        error={errors.wan}
        onChange={(event) => put({ wan: event.currentTarget.value })}
      />
      {draft.wan ? <WanAddress draft={draft} put={put} errors={errors} /> : null}
    </>
  );
}

/** Each port and what it is used for; several of the LAN are a bridge. */
export function PortsOfPreset({ setup, draft, put, errors }: FieldsProps) {
  const second = presetOf(draft.preset, setup)?.second ?? null;
  const remark = useId();
  const uses: { value: PortUse; label: string }[] = [
    { value: "lan", label: "LAN" },
    { value: "wan", label: "Internet (WAN)" },
    ...(second ? [{ value: "second" as const, label: second.label }] : []),
    { value: "none", label: "Not used" },
  ];
  const own = portsFor("second", draft);
  return (
    <>
      {setup.ports.map((port) => (
        <NativeSelect
          key={port.id}
          size="sm"
          label={portText(port)}
          data={uses}
          value={draft.uses[port.id] ?? "none"}
          aria-describedby={errors.uses ? remark : undefined}
          onChange={(event) =>
            put({ uses: assigned(port.id, event.currentTarget.value as PortUse, draft.uses) })
          }
        />
      ))}
      {errors.uses ? (
        <p id={remark} className={classes.remark} role="alert">
          {errors.uses}
        </p>
      ) : null}
      <p className="dim">{presetOf(draft.preset, setup)?.lan} Several ports of the LAN are one network.</p>
      <WanAddress draft={draft} put={put} errors={errors} />
      <LanAddress draft={draft} put={put} errors={errors} />
      {second ? (
        <>
          <TextInput
            size="sm"
            label={`${second.label}: the router's address`}
            description={second.about}
            required
            value={draft.secondAddress}
            error={errors.secondAddress}
            onChange={(event) => put({ secondAddress: event.currentTarget.value })}
          />
          {own.length === 0 ? (
            <TextInput
              size="sm"
              label={`${second.label}: VLAN`}
              description="No port is theirs, so they come by the LAN's ports with this tag."
              inputMode="numeric"
              required
              value={draft.vlan}
              error={errors.vlan}
              onChange={(event) => put({ vlan: event.currentTarget.value })}
            />
          ) : null}
        </>
      ) : null}
      {draft.preset === "isp" ? (
        <NativeSelect
          size="sm"
          label="Customers without a queue"
          description="Addresses of customers that no queue limits yet."
          data={UNKNOWN}
          value={draft.unknown}
          error={errors.unknown}
          onChange={(event) => put({ unknown: event.currentTarget.value as SetupDraft["unknown"] })}
        />
      ) : null}
    </>
  );
}

function LanAddress({ draft, put, errors }: Some) {
  return (
    <TextInput
      size="sm"
      label="LAN address"
      description="The router's own, with prefix length: 192.168.88.1/24"
      required
      value={draft.lanAddress}
      error={errors.lanAddress}
      onChange={(event) => put({ lanAddress: event.currentTarget.value })}
    />
  );
}

function WanAddress({ draft, put, errors }: Some) {
  return (
    <>
      <NativeSelect
        size="sm"
        label="The provider gives the address"
        data={WAYS}
        value={draft.wanBy}
        error={errors.wanBy}
        onChange={(event) => put({ wanBy: event.currentTarget.value as SetupDraft["wanBy"] })}
      />
      {draft.wanBy === "static" ? (
        <>
          <TextInput
            size="sm"
            label="WAN address"
            description="With prefix length, as the provider gave it: 198.51.100.2/30"
            required
            value={draft.wanAddress}
            error={errors.wanAddress}
            onChange={(event) => put({ wanAddress: event.currentTarget.value })}
          />
          <TextInput
            size="sm"
            label="Gateway"
            description="The provider's router. Empty: no way out yet."
            value={draft.gateway}
            error={errors.gateway}
            onChange={(event) => put({ gateway: event.currentTarget.value })}
          />
        </>
      ) : null}
    </>
  );
}
