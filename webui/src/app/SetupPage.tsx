// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField } from "@/api/problem";
import { meQuery, queryClient, setupQuery } from "@/api/queries";
import { setSession } from "@/api/session";
import type { Setup } from "@/api/types";
import { Note } from "@/ui/blocks";
import { draftOf, fieldOf, newAddress, portText, wishesOf, type SetupDraft } from "./setupDraft";
import classes from "./SignIn.module.css";

const WAYS = [
  { value: "dhcp", label: "by DHCP: nothing to fill in" },
  { value: "static", label: "in a letter: a fixed one" },
];
/** An answer that has not come by then went out over an address that the router left. */
const MOVED_AFTER_MS = 20_000;
const zones = (): string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

/** `moved`: the router took the wishes, or did not answer, and is to be looked for at its new address. */
type Outcome = "in" | "moved" | "sign-in";

async function finishSetup(draft: SetupDraft, setup: Setup): Promise<Outcome> {
  const wishes = wishesOf(draft, setup);
  const moves = newAddress(wishes) !== null;
  try {
    await need(
      api.POST("/api/v1/setup", {
        body: wishes,
        signal: moves ? AbortSignal.timeout(MOVED_AFTER_MS) : undefined,
      }),
    );
  } catch (error) {
    if (moves && asProblem(error).code === "unreachable") return "moved";
    throw error;
  }
  try {
    const signed = await need(
      api.POST("/api/v1/auth/sign-in", {
        body: { username: "admin", password: draft.password },
        signal: moves ? AbortSignal.timeout(MOVED_AFTER_MS) : undefined,
      }),
    );
    await queryClient.query({ ...meQuery, staleTime: 0 });
    setSession("in", signed.csrf_token);
    return "in";
  } catch {
    return moves ? "moved" : "sign-in";
  }
}

type Errors = Partial<Record<keyof SetupDraft, string>>;
interface FieldsProps {
  setup: Setup;
  draft: SetupDraft;
  put: (change: Partial<SetupDraft>) => void;
  errors: Errors;
}

/** The first visit to a new router: the first visitor creates its account. */
export default function SetupPage({ setup, onDone }: { setup: Setup; onDone: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(setup));
  const finish = useMutation({
    mutationFn: () => finishSetup(draft, setup),
    onSuccess: async (outcome) => {
      if (outcome === "moved") return;
      await queryClient.invalidateQueries({ queryKey: setupQuery.queryKey });
      if (outcome === "in") onDone();
    },
    meta: { inline: true },
  });
  const put = (change: Partial<SetupDraft>): void => {
    setDraft((before) => ({ ...before, ...change }));
    if (finish.isError) finish.reset();
  };
  const wishes = wishesOf(draft, setup);
  const problem = finish.error ? asProblem(finish.error) : null;
  const field = problem ? fieldOf(problem, draft) : null;
  const errors: Errors = problem && field ? { [field]: Object.values(messagesByField(problem))[0] } : {};
  if (draft.again !== "" && draft.password !== draft.again) errors.again = "The two are not the same.";
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (draft.password === draft.again && !finish.isPending) finish.mutate();
  };
  if (finish.data === "moved")
    return <Moved address={newAddress(wishes) ?? ""} prefix={wishes.lan?.addresses[0] ?? ""} />;
  const fields = { setup, draft, put, errors };
  return (
    <form onSubmit={submit} className="stack">
      <p className="dim">
        This router is new: nobody has an account on it. Everything but the password can be changed later.
      </p>
      <Account {...fields} />
      <Group title="Network">
        {setup.reason ? <Note severity="warning">{setup.reason}</Note> : <Ports {...fields} />}
      </Group>
      {wishes.lan ? (
        <Note severity="notice">
          The router leaves its present address and this page with it. Open https://{newAddress(wishes)} then.
        </Note>
      ) : null}
      {problem ? (
        <Note severity="error" live>
          {field ? "Nothing was changed: see the remark at its field." : problem.message}
        </Note>
      ) : null}
      <Button type="submit" size="sm" variant="filled" loading={finish.isPending}>
        Set up the router
      </Button>
    </form>
  );
}

const Group = ({ title, children }: { title: string; children: ReactNode }) => (
  <fieldset className={`${classes.group ?? ""} stack`}>
    <legend>{title}</legend>
    {children}
  </fieldset>
);

function Account({ draft, put, errors }: FieldsProps) {
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

function Ports({ setup, draft, put, errors }: FieldsProps) {
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
      <TextInput
        size="sm"
        label="LAN address"
        description="The router's own, with prefix length: 192.168.88.1/24"
        required
        value={draft.lanAddress}
        error={errors.lanAddress}
        onChange={(event) => put({ lanAddress: event.currentTarget.value })}
      />
      <NativeSelect
        size="sm"
        label="WAN port"
        description="Faces the internet."
        data={[{ value: "", label: "none yet" }, ...ports.filter((port) => port.value !== draft.lan)]}
        value={draft.wan}
        error={errors.wan}
        onChange={(event) => put({ wan: event.currentTarget.value })}
      />
      {draft.wan ? (
        <NativeSelect
          size="sm"
          label="The provider gives the address"
          data={WAYS}
          value={draft.wanBy}
          error={errors.wanBy}
          onChange={(event) => put({ wanBy: event.currentTarget.value as SetupDraft["wanBy"] })}
        />
      ) : null}
      {draft.wan && draft.wanBy === "static" ? (
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

/** The last thing this page can say: from here on the router answers elsewhere. */
function Moved({ address, prefix }: { address: string; prefix: string }) {
  return (
    <div className="stack">
      <Note severity="ok" live>
        The router has left this address.
      </Note>
      <p>
        Give this computer an address in the network of <span className="mono">{prefix}</span>, then open{" "}
        <a href={`https://${address}/`}>https://{address}/</a> and sign in as <strong>admin</strong> with the
        password that you have just chosen.
      </p>
      <p className="dim">
        Does it ask for a first setup there, or is it still here? Then it did not take these settings: load
        this page again.
      </p>
    </div>
  );
}
