// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField } from "@/api/problem";
import { meQuery, queryClient, setupQuery } from "@/api/queries";
import { setSession } from "@/api/session";
import type { Setup, SetupPort, SetupWishes } from "@/api/types";
import { Note } from "@/ui/blocks";

const zones = (): string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
const portText = (port: SetupPort): string => `${port.id}${port.mac ? ` (${port.mac})` : ""}${port.carrier ? ", cable in" : ""}`;

interface Draft {
  password: string;
  again: string;
  zone: string;
  lan: string;
  lanAddress: string;
  wan: string;
  wanAddress: string;
  gateway: string;
}

const draftOf = (setup: Setup): Draft => ({
  password: "", again: "", zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
  lan: setup.lan?.interface ?? setup.ports[0]?.id ?? "", lanAddress: setup.lan?.address ?? "192.168.88.1/24", wan: "", wanAddress: "", gateway: "",
});

/** What was left as it is, is not sent. */
function wishesOf(draft: Draft, setup: Setup): SetupWishes {
  const sameLan = draft.lan === setup.lan?.interface && draft.lanAddress.trim() === setup.lan.address;
  return {
    password: draft.password,
    time_zone: draft.zone,
    lan: sameLan || draft.lan === "" ? null : { interface: draft.lan, addresses: [draft.lanAddress.trim()] },
    wan: draft.wan === "" ? null : { interface: draft.wan, addresses: draft.wanAddress.trim() ? [draft.wanAddress.trim()] : [], gateways: draft.gateway.trim() ? [draft.gateway.trim()] : [] },
  };
}

/** The first visit to a new router: whoever is here makes its account. */
export default function SetupPage({ setup, onDone }: { setup: Setup; onDone: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(setup));
  const put = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const wishes = wishesOf(draft, setup);
  const finish = useMutation({
    mutationFn: async () => {
      await need(api.POST("/api/v1/setup", { body: wishes }));
      const signed = await need(api.POST("/api/v1/auth/sign-in", { body: { username: "admin", password: draft.password } }));
      await queryClient.query({ ...meQuery, staleTime: 0 });
      setSession("in", signed.csrf_token);
      await queryClient.invalidateQueries({ queryKey: setupQuery.queryKey });
    },
    onSuccess: onDone,
    meta: { inline: true },
  });
  const differs = draft.again !== "" && draft.password !== draft.again;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (draft.password === draft.again && !finish.isPending) finish.mutate();
  };
  return (
    <form onSubmit={submit} className="stack">
      <p className="dim">This router is new: nobody has an account on it. Choose the password of its administrator, admin.</p>
      <PasswordInput size="sm" label="Password" description="At least 10 characters; a few words are good." autoComplete="new-password" required minLength={10} value={draft.password} onChange={(event) => put({ password: event.currentTarget.value })} autoFocus />
      <PasswordInput size="sm" label="Password again" autoComplete="new-password" required value={draft.again} error={differs ? "The two are not the same." : undefined} onChange={(event) => put({ again: event.currentTarget.value })} />
      <NativeSelect size="sm" label="Time zone" data={zones()} value={draft.zone} onChange={(event) => put({ zone: event.currentTarget.value })} />
      {setup.reason ? <Note severity="warning">{setup.reason}</Note> : <Ports setup={setup} draft={draft} put={put} />}
      {wishes.lan ? <Note severity="notice">The router leaves its present address. If this page does not answer any more, open https://{draft.lanAddress.split("/")[0]} from that network.</Note> : null}
      {finish.error ? <Refusal error={finish.error} /> : null}
      <Button type="submit" size="sm" variant="filled" loading={finish.isPending}>
        Set up the router
      </Button>
    </form>
  );
}

function Ports({ setup, draft, put }: { setup: Setup; draft: Draft; put: (change: Partial<Draft>) => void }) {
  const ports = setup.ports.map((port) => ({ value: port.id, label: portText(port) }));
  return (
    <>
      <NativeSelect size="sm" label="LAN port" data={ports} value={draft.lan} onChange={(event) => put({ lan: event.currentTarget.value })} />
      <TextInput size="sm" label="LAN address" description="With prefix length, such as 192.168.88.1/24." required value={draft.lanAddress} onChange={(event) => put({ lanAddress: event.currentTarget.value })} />
      <NativeSelect size="sm" label="WAN port" data={[{ value: "", label: "none yet" }, ...ports.filter((port) => port.value !== draft.lan)]} value={draft.wan} onChange={(event) => put({ wan: event.currentTarget.value })} />
      {draft.wan ? (
        <>
          <TextInput size="sm" label="WAN address" description="With prefix length, as the provider gave it." value={draft.wanAddress} onChange={(event) => put({ wanAddress: event.currentTarget.value })} />
          <TextInput size="sm" label="Gateway" value={draft.gateway} onChange={(event) => put({ gateway: event.currentTarget.value })} />
        </>
      ) : null}
    </>
  );
}

function Refusal({ error }: { error: unknown }) {
  const problem = asProblem(error);
  const fields = Object.values(messagesByField(problem));
  return (
    <Note severity="error" live>
      {fields.length > 0 ? fields.join(" ") : problem.message}
    </Note>
  );
}
