// SPDX-License-Identifier: Apache-2.0
import { Button, Radio } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient, setupQuery } from "@/api/queries";
import { setSession } from "@/api/session";
import type { Setup, SetupPlan } from "@/api/types";
import { Note } from "@/ui/blocks";
import { DiffView } from "@/ui/DiffView";
import {
  choosePreset,
  draftOf,
  errorsOf,
  newAddress,
  planOf,
  unplacedOf,
  wishesOf,
  type SetupDraft,
} from "./setupDraft";
import { Account, Group, PortsByHand, PortsOfPreset, type FieldsProps } from "./SetupFields";

/** An answer that has not come by then went out over an address that the router left. */
const MOVED_AFTER_MS = 20_000;

/** `moved`: the router took the wishes, or did not answer, and is to be looked for at its new address. */
type Outcome = "in" | "moved" | "sign-in";

async function finishSetup(draft: SetupDraft, setup: Setup): Promise<Outcome> {
  const wishes = wishesOf(draft, setup);
  const moves = newAddress(wishes, setup) !== null;
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
  const goesTo = newAddress(wishes, setup);
  const plan = usePlan(planOf(draft, setup));
  const problem = finish.error ? asProblem(finish.error) : null;
  const refused = problem ? errorsOf(problem, draft) : {};
  const errors = { ...(plan.error ? errorsOf(asProblem(plan.error), draft) : {}), ...refused };
  if (draft.again !== "" && draft.password !== draft.again) errors.again = "The two are not the same.";
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (draft.password === draft.again && !finish.isPending) finish.mutate();
  };
  if (finish.data === "moved")
    return <Moved address={goesTo ?? ""} prefix={draft.lanAddress.trim().split(/\s+/)[0] ?? ""} />;
  const fields = { setup, draft, put, errors };
  const said = Object.keys(refused).length;
  return (
    <form onSubmit={submit} className="stack">
      <p className="dim">
        This router is new: nobody has an account on it. Everything but the password can be changed later.
      </p>
      <Account {...fields} />
      {setup.reason ? (
        <Note severity="warning">{setup.reason}</Note>
      ) : (
        <>
          {setup.presets.length > 0 ? <Presets {...fields} /> : null}
          <Group title="Network">
            {draft.preset === "" ? <PortsByHand {...fields} /> : <PortsOfPreset {...fields} />}
          </Group>
          {draft.preset === "" ? null : <Plan plan={plan} draft={draft} />}
        </>
      )}
      {goesTo && !plan.isError ? (
        <Note severity="notice">
          The router leaves its present address and this page with it. Open https://{goesTo} then.
        </Note>
      ) : null}
      {problem ? (
        <Note severity="error" live>
          {[
            ...(said > 0
              ? [
                  `Nothing was changed: see the ${said === 1 ? "remark at its field" : "remarks at their fields"}.`,
                ]
              : []),
            ...unplacedOf(problem, draft),
          ].join(" ")}
        </Note>
      ) : null}
      <Button type="submit" size="sm" variant="filled" loading={finish.isPending}>
        Set up the router
      </Button>
    </form>
  );
}

/** What a preset would make, asked for a moment after it was chosen or typed. */
function usePlan(wanted: SetupPlan | null) {
  const present = JSON.stringify(wanted);
  const [asked] = useDebouncedValue(present, 300);
  const answer = useQuery({
    queryKey: ["setup-plan", asked],
    queryFn: () => need(api.POST("/api/v1/setup/plan", { body: JSON.parse(asked) as SetupPlan })),
    enabled: asked !== "null",
    placeholderData: keepPreviousData,
    retry: false,
    meta: { inline: true },
  });
  return { ...answer, isOfBefore: asked !== present || answer.isPlaceholderData };
}

function Presets({ setup, draft, put }: FieldsProps) {
  return (
    <Group title="What is this router for?">
      <Radio.Group
        aria-label="Preset"
        value={draft.preset}
        onChange={(id) => put(choosePreset(id, setup, draft))}
      >
        <div className="stack">
          {setup.presets.map((preset) => (
            <Radio
              key={preset.id}
              size="xs"
              value={preset.id}
              label={preset.name}
              description={preset.about}
              disabled={setup.ports.length < 2}
            />
          ))}
          <Radio
            size="xs"
            value=""
            label="By hand"
            description="LAN and WAN only. Everything else is configured later."
          />
        </div>
      </Radio.Group>
      {setup.ports.length < 2 ? (
        <p className="dim">A preset needs two ports, and this router has one.</p>
      ) : null}
    </Group>
  );
}

/** The same words as before a commit. What cannot be made is said at the fields. */
function Plan({ plan, draft }: { plan: ReturnType<typeof usePlan>; draft: SetupDraft }) {
  const shown = plan.isError ? null : plan.data;
  const unplaced = plan.isError ? unplacedOf(asProblem(plan.error), draft) : [];
  return (
    <Group title="What will be made">
      {unplaced.length > 0 ? (
        <Note severity="warning">What will be made is not known: {unplaced.join(" ")}</Note>
      ) : null}
      {plan.isError && unplaced.length === 0 ? (
        <p className="dim">It is shown here once the fields above are in order.</p>
      ) : null}
      {shown ? (
        <>
          <DiffView changes={shown.changes} total={shown.changes.length} findings={shown.findings} />
          <p className="dim">
            {plan.isOfBefore
              ? "This is for what was chosen before; the new answer is on its way."
              : "These are ordinary objects: all of them can be changed afterwards."}
          </p>
        </>
      ) : null}
    </Group>
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
