// SPDX-License-Identifier: Apache-2.0
/** The fields of the first visit: the account, the ports of a preset, or LAN and WAN by hand. */
import { NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useId, type ChangeEvent, type ReactNode } from "react";
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
import { zones } from "@/ui/zones";
import classes from "./SignIn.module.css";

const WAYS = [
  { value: "dhcp", label: "by DHCP: nothing to fill in" },
  { value: "static", label: "in a letter: a fixed one" },
];
const UNKNOWN = [
  { value: "drop", label: "are not forwarded until they have one" },
  { value: "allow", label: "pass without a limit" },
];

export interface FieldsProps {
  setup: Setup;
  draft: SetupDraft;
  put: (change: Partial<SetupDraft>) => void;
  errors: SetupErrors;
}
type Some = Omit<FieldsProps, "setup">;

/** What a field of the draft has in common with the others. */
const bound = <Name extends Exclude<keyof SetupDraft, "uses">>(name: Name, { draft, put, errors }: Some) => ({
  size: "sm" as const,
  value: draft[name],
  error: errors[name],
  onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) =>
    put({ [name]: event.currentTarget.value }),
});

export const Group = ({ title, children }: { title: string; children: ReactNode }) => (
  <fieldset className={`${classes.group ?? ""} stack`}>
    <legend>{title}</legend>
    {children}
  </fieldset>
);

export function Account(some: Some) {
  return (
    <Group title="Administrator">
      <p>
        The user name is <strong>admin</strong>.
      </p>
      <PasswordInput
        {...bound("password", some)}
        label="Password"
        description="At least 10 characters; a few words are good."
        autoComplete="new-password"
        required
        minLength={10}
        autoFocus
      />
      <PasswordInput {...bound("again", some)} label="Password again" autoComplete="new-password" required />
      <NativeSelect
        {...bound("zone", some)}
        label="Time zone"
        description="Queues with hours follow it."
        data={zones()}
      />
    </Group>
  );
}

export function PortsByHand({ setup, ...some }: FieldsProps) {
  const { draft, put, errors } = some;
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
      <LanAddress {...some} />
      <NativeSelect
        {...bound("wan", some)}
        label="WAN port"
        description="Faces the internet."
        data={[{ value: "", label: "none yet" }, ...ports.filter((port) => port.value !== draft.lan)]}
      />
      {draft.wan ? <WanAddress {...some} /> : null}
    </>
  );
}

/** Each port and what it is used for; several of the LAN are a bridge. */
export function PortsOfPreset({ setup, ...some }: FieldsProps) {
  const { draft, put, errors } = some;
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
      <WanAddress {...some} />
      <LanAddress {...some} />
      {second ? (
        <>
          <TextInput
            {...bound("secondAddress", some)}
            label={`${second.label}: the router's address`}
            description={second.about}
            required
          />
          {own.length === 0 ? (
            <TextInput
              {...bound("vlan", some)}
              label={`${second.label}: VLAN`}
              description="No port is theirs, so they come by the LAN's ports with this tag."
              inputMode="numeric"
              required
            />
          ) : null}
        </>
      ) : null}
      {draft.preset === "isp" ? (
        <NativeSelect
          {...bound("unknown", some)}
          label="Customers without a queue"
          description="Addresses of customers that no queue limits yet."
          data={UNKNOWN}
        />
      ) : null}
    </>
  );
}

function LanAddress(some: Some) {
  return (
    <TextInput
      {...bound("lanAddress", some)}
      label="LAN address"
      description="The router's own, with prefix length: 192.168.88.1/24"
      required
    />
  );
}

function WanAddress(some: Some) {
  return (
    <>
      <NativeSelect {...bound("wanBy", some)} label="The provider gives the address" data={WAYS} />
      {some.draft.wanBy === "static" ? (
        <>
          <TextInput
            {...bound("wanAddress", some)}
            label="WAN address"
            description="With prefix length, as the provider gave it: 198.51.100.2/30"
            required
          />
          <TextInput
            {...bound("gateway", some)}
            label="Gateway"
            description="The provider's router. Empty: no way out yet."
          />
        </>
      ) : null}
    </>
  );
}
