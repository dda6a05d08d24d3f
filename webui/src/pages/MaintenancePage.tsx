// SPDX-License-Identifier: Apache-2.0
import { Button, Radio, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, ofSystem } from "@/api/queries";
import { AskPower, type PowerAction } from "@/app/AskPower";
import { Note, Page, Section } from "@/ui/blocks";
import { hostOf } from "@/ui/title";
import { say } from "@/ui/toast";
import { ReasonedButton } from "@/ui/ReasonedButton";

/** What is done to the machine itself; none of it is in a revision. */
export default function MaintenancePage() {
  const me = useQuery(meQuery).data;
  const admin = me?.scope === "admin";
  return (
    <Page title="Maintenance">
      {me && !admin ? <Note severity="notice">Only an administrator changes what is here.</Note> : null}
      {admin ? <Power /> : null}
      {admin ? <FactoryReset /> : null}
    </Page>
  );
}

function Power() {
  const [asking, setAsking] = useState<PowerAction | null>(null);
  return (
    <Section title="Power">
      <div className="stack">
        <p className="dim">Both end all traffic through this router.</p>
        <div className="row">
          <Button onClick={() => setAsking("restart")}>Restart</Button>
          <Button onClick={() => setAsking("off")}>Switch off</Button>
        </div>
      </div>
      {asking ? <AskPower action={asking} onClose={() => setAsking(null)} /> : null}
    </Section>
  );
}

type Mode = "keep" | "wipe";

/** The one thing that history does not take back, so the router's name has to be typed. */
function FactoryReset() {
  const host = useQuery(ofSystem(hostOf)).data ?? "weir";
  const [mode, setMode] = useState<Mode>("keep");
  const [typed, setTyped] = useState("");
  const reset = useMutation({
    mutationFn: () => need(api.POST("/api/v1/system/factory-reset", { body: { mode } })),
    onSuccess: () =>
      say(
        "notice",
        "The router restarts as a new one. It answers at the address of a new router, not at this one.",
      ),
    meta: { inline: true },
  });
  return (
    <Section title="Factory reset">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === host) reset.mutate();
        }}
      >
        <p className="dim">
          The router restarts as a new one: no queues, no accounts, the address of a new router. Take a backup
          first, if you are not sure.
        </p>
        <Radio.Group label="What happens to what it holds" value={mode} onChange={(value) => setMode(value)}>
          <div className="stack">
            <Radio
              size="xs"
              value="keep"
              label="Put aside: configuration and accounts stay on its data partition, logs stay"
            />
            <Radio size="xs" value="wipe" label="Wipe: everything goes, logs and history too" />
          </div>
        </Radio.Group>
        <TextInput
          label={`Type the router's name, ${host}, to go on`}
          value={typed}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {reset.error ? (
          <Note severity="error" live>
            {asProblem(reset.error).message} Nothing was changed.
          </Note>
        ) : null}
        <div className="row">
          <ReasonedButton
            type="submit"
            variant="filled"
            color="red"
            why={typed === host ? null : `type the router's name, ${host}, first`}
            loading={reset.isPending}
          >
            {mode === "wipe" ? "Wipe it and restart as new" : "Restart as new"}
          </ReasonedButton>
        </div>
      </form>
    </Section>
  );
}
