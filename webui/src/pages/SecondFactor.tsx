// SPDX-License-Identifier: Apache-2.0
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField } from "@/api/problem";
import { queryClient, sessionsQuery } from "@/api/queries";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { stampText } from "@/ui/format";
import { QrCode, ShownOnce } from "@/ui/ShownOnce";
import { say } from "@/ui/toast";
import classes from "./SecondFactor.module.css";

const LOW = 3;

const secondFactorQuery = queryOptions({
  queryKey: ["accounts", "second-factor"],
  queryFn: () => need(api.GET("/api/v1/auth/second-factor")),
});

async function refresh(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: secondFactorQuery.queryKey }),
    queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  ]);
}

/** The authenticator app that the account signs in with beside its password; security keys are `SecurityKeys`. */
export function SecondFactor() {
  const query = useQuery(secondFactorQuery);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  return (
    <Section title="Authenticator app">
      {codes ? (
        <RecoveryCodes codes={codes} by="app" onDone={() => setCodes(null)} />
      ) : query.isError ? (
        <Note severity="error">{asProblem(query.error).message}</Note>
      ) : query.isPending ? (
        <Skeleton />
      ) : !query.data.app ? (
        <SetUp left={query.data.since === null ? null : query.data.recovery_codes_left} onSet={setCodes} />
      ) : (
        <Remove since={query.data.since ?? ""} left={query.data.recovery_codes_left} />
      )}
    </Section>
  );
}

interface SetUpProps {
  /** Recovery codes of an account that asks for security keys already; null: it asks for nothing yet. */
  left: number | null;
  onSet: (codes: readonly string[]) => void;
}

function SetUp({ left, onSet }: SetUpProps) {
  const offer = useMutation({
    mutationFn: () => need(api.POST("/api/v1/auth/second-factor/offer")),
    meta: { inline: true },
  });
  if (offer.data) return <Prove {...offer.data} onSet={onSet} onCancel={offer.reset} />;
  return (
    <div className="stack">
      <p className="dim">
        {left === null
          ? "Without a second factor the password is enough to sign in. With one, a code of an authenticator app on your telephone is needed, too."
          : `A security key is asked for after the password. With an app, its code does as well. ${leftText(left)}`}
      </p>
      {offer.isError ? (
        <Note severity="error" live>
          {asProblem(offer.error).message}
        </Note>
      ) : null}
      <div>
        <Button onClick={() => offer.mutate()} loading={offer.isPending}>
          Set up an authenticator app
        </Button>
      </div>
    </div>
  );
}

interface ProveProps {
  secret: string;
  qr_svg: string;
  onSet: (codes: readonly string[]) => void;
  onCancel: () => void;
}

function Prove({ secret, qr_svg: picture, onSet, onCancel }: ProveProps) {
  const [code, setCode] = useState("");
  const [password, setPassword] = useState("");
  const begin = useMutation({
    mutationFn: async () => {
      const body = { secret, password, code: code.replaceAll(" ", "") };
      const made = await need(api.PUT("/api/v1/auth/second-factor", { body }));
      if (made.recovery_codes.length > 0) onSet(made.recovery_codes);
      else say("ok", "The app's code signs you in from now on, as your security keys do.");
      await refresh();
    },
    meta: { inline: true },
  });
  const problem = begin.error ? asProblem(begin.error) : null;
  const messages = problem ? messagesByField(problem) : {};
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!begin.isPending) begin.mutate();
  };
  return (
    <form onSubmit={submit} className="stack">
      <p>Scan this with the app, or type the key into it. Then type the code that the app shows.</p>
      <QrCode alt="QR code of the key" svg={picture} />
      <p>
        Key: <span className="mono">{secret.match(/.{4}/g)?.join(" ")}</span>
      </p>
      <TextInput
        size="sm"
        label="Code"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        value={code}
        error={messages["code"]}
        onChange={(event) => setCode(event.currentTarget.value)}
        autoFocus
      />
      <PasswordInput
        size="sm"
        label="Your password"
        autoComplete="current-password"
        required
        value={password}
        error={messages["password"]}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {problem && !messages["code"] && !messages["password"] ? (
        <Note severity="error" live>
          {problem.message}
        </Note>
      ) : null}
      <div className="row">
        <Button type="submit" variant="filled" loading={begin.isPending}>
          Ask for a code from now on
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

const leftText = (left: number): string => `${left} recovery ${left === 1 ? "code is" : "codes are"} left.`;

interface RecoveryCodesProps {
  codes: readonly string[];
  by: "app" | "key";
  onDone: () => void;
}

/** They do not come back, so closing them is a choice. */
export function RecoveryCodes({ codes, by, onDone }: RecoveryCodesProps) {
  return (
    <div className="stack">
      <Note severity="ok" live>
        {by === "app" ? "The app's code" : "The security key"} is needed from now on. Your other sessions have
        ended.
      </Note>
      <p>
        Keep these recovery codes where the {by === "app" ? "telephone" : "key"} is not. Each signs you in
        once without the {by}; they are shown only now.
      </p>
      <ul className={classes.codes} aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code} className="mono">
            {code}
          </li>
        ))}
      </ul>
      <ShownOnce
        text={`${codes.join("\n")}\n`}
        file="weir-recovery-codes.txt"
        kept="I have kept them"
        onDone={onDone}
      />
    </div>
  );
}

function Remove({ since, left }: { since: string; left: number }) {
  const [password, setPassword] = useState("");
  const remove = useMutation({
    mutationFn: async () => {
      await need(api.POST("/api/v1/auth/second-factor/remove", { body: { password } }));
      await refresh();
    },
    onSuccess: () => say("ok", "The authenticator app was removed."),
    meta: { inline: true },
  });
  const messages = remove.error ? messagesByField(asProblem(remove.error)) : {};
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!remove.isPending) remove.mutate();
  };
  return (
    <form onSubmit={submit} className="stack">
      <p>
        After the password the code of an authenticator app signs you in. A second factor is asked for since{" "}
        {stampText(since)}. {leftText(left)}
      </p>
      {left < LOW ? (
        <Note severity="warning">Remove it and set it up again to get new recovery codes.</Note>
      ) : null}
      <PasswordInput
        size="sm"
        label="Your password"
        autoComplete="current-password"
        required
        value={password}
        error={messages["password"] ?? messages[""]}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      <div>
        <Button type="submit" color="red" variant="light" loading={remove.isPending}>
          Remove the app
        </Button>
      </div>
    </form>
  );
}
