// SPDX-License-Identifier: Apache-2.0
/** Which rule decides about a packet: asked above the lists of firewall and NAT rules. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import type { components } from "@/api/schema";
import { Note } from "@/ui/blocks";
import classes from "./Decision.module.css";
import { MadeBy } from "./MadeBy";
import { PROTOCOLS, WITH_PORTS } from "./protocols";
import { Ruleset } from "./Ruleset";

type Answer = components["schemas"]["Decision"];

/** Above the lists of firewall and NAT rules. */
export default function Above() {
  return (
    <>
      <Decision />
      <Ruleset />
    </>
  );
}

function Decision() {
  const [source, setSource] = useState("");
  const [destination, setDestination] = useState("");
  const [protocol, setProtocol] = useState<(typeof PROTOCOLS)[number]>("tcp");
  const [port, setPort] = useState("");
  const [sourcePort, setSourcePort] = useState("");
  const [sourceMac, setSourceMac] = useState("");
  const [dscp, setDscp] = useState("");
  const [at, setAt] = useState("");
  const hasPorts = WITH_PORTS.includes(protocol);
  const asked = useMutation({
    mutationFn: () =>
      need(
        api.GET("/api/v1/firewall/decision", {
          params: {
            query: {
              source: source.trim(),
              destination: destination.trim(),
              protocol,
              port: hasPorts ? Number(port) : 0,
              ...(hasPorts && sourcePort ? { source_port: Number(sourcePort) } : {}),
              ...(sourceMac.trim() ? { source_mac: sourceMac.trim() } : {}),
              ...(dscp ? { dscp: Number(dscp) } : {}),
              ...(at ? { at } : {}),
            },
          },
        }),
      ),
  });
  const ask = (event: SyntheticEvent) => {
    event.preventDefault();
    asked.mutate();
  };
  return (
    <details className={classes.panel}>
      <summary>Which rule decides?</summary>
      <form className={classes.form} onSubmit={ask} onChange={asked.reset}>
        <TextInput label="From" value={source} required onChange={(e) => setSource(e.target.value)} />
        <TextInput label="To" value={destination} required onChange={(e) => setDestination(e.target.value)} />
        <NativeSelect
          label="Protocol"
          data={[...PROTOCOLS]}
          value={protocol}
          onChange={(e) => setProtocol(e.target.value as (typeof PROTOCOLS)[number])}
        />
        {hasPorts ? (
          <>
            <NumberText label="Port" digits={5} required value={port} onChange={setPort} />
            <NumberText
              label="Source port"
              placeholder="any"
              digits={5}
              value={sourcePort}
              onChange={setSourcePort}
            />
          </>
        ) : null}
        <TextInput
          label="Source MAC"
          placeholder="not known"
          value={sourceMac}
          onChange={(e) => setSourceMac(e.target.value)}
        />
        <NumberText label="DSCP" placeholder="any" digits={2} value={dscp} onChange={setDscp} />
        <TextInput
          type="datetime-local"
          label="At (now if empty)"
          value={at}
          onChange={(e) => setAt(e.target.value)}
        />
        <Button type="submit" loading={asked.isPending}>
          Ask
        </Button>
      </form>
      {asked.isError ? (
        <Note severity="error" live>
          {asProblem(asked.error).message}
        </Note>
      ) : null}
      {asked.data ? <Told answer={asked.data} /> : null}
    </details>
  );
}

interface NumberTextProps {
  label: string;
  digits: number;
  placeholder?: string;
  required?: boolean;
  value: string;
  onChange: (value: string) => void;
}

function NumberText({ digits, onChange, ...rest }: NumberTextProps) {
  return (
    <TextInput
      {...rest}
      className={classes.port}
      inputMode="numeric"
      pattern={`[0-9]{1,${digits}}`}
      onChange={(e) => onChange(e.target.value)}
    />
  );
}

const VERDICTS: Readonly<Record<string, string>> = {
  accept: "It passes",
  drop: "It is dropped",
  reject: "It is rejected",
};

function Told({ answer }: { answer: Answer }) {
  const from = answer.in_interface ?? "the router";
  // Of what is dropped before connections are looked up no route is known either.
  const to = answer.chain === "raw/prerouting" ? "" : ` to ${answer.out_interface ?? "the router"}`;
  return (
    <div className={classes.answer} role="status">
      <p>
        <strong>{VERDICTS[answer.verdict]}</strong>, from {from}
        {to}: <MadeBy {...answer.decided_by} words={answer.decided_by.text} />
      </p>
      {answer.translations.map((each, at) => (
        <p key={at}>
          NAT: <MadeBy {...each} words={each.text} />
        </p>
      ))}
      {answer.resting.map((each, i) => (
        <p key={i}>
          Not at {answer.at.replace("T", " ")}: <MadeBy {...each} words={each.text} />
        </p>
      ))}
      {answer.unsure.map((text) => (
        <p key={text} className="dim">
          Not known: {text}.
        </p>
      ))}
      <p className="dim">
        This is by the configuration that runs, not by what is pending. Limits of queues are not in it.
      </p>
    </div>
  );
}
