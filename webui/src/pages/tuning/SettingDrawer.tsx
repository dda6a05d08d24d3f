// SPDX-License-Identifier: Apache-2.0
import { TextInput } from "@mantine/core";
import { useState } from "react";
import { ONLY_READS, useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import type { Setting } from "@/api/types";
import { sayStaged, useStage } from "@/api/writes";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Facts, Note } from "@/ui/blocks";
import { Panel } from "@/ui/Panel";
import { ReasonedButton } from "@/ui/ReasonedButton";
import { MEASURED_WORDS, SCOPE_WORDS } from "./settings";
import { StateTag } from "./StateTag";

type Place = Setting["places"][number];

const mono = (text: string | null) => (text === null ? null : <span className="mono">{text}</span>);

const COLUMNS: readonly Column<Place>[] = [
  { id: "place", title: "Where", render: (place) => <span className="mono">{place.place}</span> },
  { id: "wanted", title: "Wanted", render: (place) => mono(place.wanted) },
  { id: "held", title: "Is", render: (place) => mono(place.held) },
  { id: "state", title: "State", render: (place) => <StateTag state={place.state} /> },
  {
    id: "why",
    title: "Why",
    wide: true,
    blank: true,
    render: (place) => (place.why ? <span className="dim">{place.why}</span> : null),
  },
];

interface SettingDrawerProps {
  setting: Setting;
  overrides: Record<string, string>;
  onClose: () => void;
}

/** One setting with its reason; its value may be replaced, left to the kernel, or given back to the product. */
export function SettingDrawer({ setting, overrides, onClose }: SettingDrawerProps) {
  const override = overrides[setting.id];
  const [text, setText] = useState(override ?? setting.value);
  const stage = useStage(true);
  const may = useMay("write");
  const send = (value: string | null, words: string) => {
    const { [setting.id]: _before, ...others } = overrides;
    const next = value === null ? others : { ...others, [setting.id]: value };
    stage.mutate([{ kind: "tuning", id: "tuning", new: { overrides: next } }], {
      onSuccess: () => {
        sayStaged(`${setting.id}: ${words}. Pending until it is committed.`);
        onClose();
      },
    });
  };
  const save = () =>
    text.trim() === setting.value
      ? send(null, "the product's value")
      : send(text.trim(), text.trim() === "" ? "left to the kernel" : text.trim());
  return (
    <Panel
      title={setting.id}
      onClose={onClose}
      onSubmit={may ? save : undefined}
      footer={
        may ? (
          <>
            <ReasonedButton
              variant="filled"
              loading={stage.isPending}
              why={text.trim() === (override ?? setting.value) ? "the value is the same as before" : null}
              onClick={save}
            >
              Stage the change
            </ReasonedButton>
            <ReasonedButton
              loading={stage.isPending}
              why={override === undefined ? "it has the product's value already" : null}
              onClick={() => send(null, "the product's value")}
            >
              Back to {setting.value}
            </ReasonedButton>
            <ReasonedButton
              ml="auto"
              variant="subtle"
              loading={stage.isPending}
              why={override === "" ? "it is left to the kernel already" : null}
              onClick={() => send("", "left to the kernel")}
            >
              Leave to the kernel
            </ReasonedButton>
          </>
        ) : null
      }
    >
      <div className="stack">
        <p>{setting.reason}</p>
        <Facts
          items={[
            [
              SCOPE_WORDS[setting.scope],
              <span key="key" className="mono">
                {setting.key}
              </span>,
            ],
            [
              "Product's value",
              <span key="value" className="mono">
                {setting.value}
              </span>,
            ],
            ["Evidence", setting.evidence],
            ["Measured", MEASURED_WORDS[setting.measured]],
          ]}
        />
        {setting.scope === "cmdline" ? (
          <Note severity="notice">
            A change comes with the next start of the router. If the router does not come up well with it, it
            starts without it the next time.
          </Note>
        ) : null}
        {may ? null : <Note severity="notice">{ONLY_READS}</Note>}
        {stage.error ? (
          <Note severity="error" live>
            {asProblem(stage.error).message} Nothing was changed.
          </Note>
        ) : null}
        <TextInput
          label="Value"
          description="Empty: what the kernel has is left alone."
          disabled={!may}
          title={may ? undefined : ONLY_READS}
          styles={{ input: { fontFamily: "var(--mono)" } }}
          value={text}
          maxLength={128}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {setting.places.length > 0 ? (
          <SimpleTable
            caption={`Places of ${setting.id}`}
            columns={COLUMNS}
            rows={setting.places}
            rowKey={(place) => place.place}
          />
        ) : (
          <p className="dim">It fits nothing in this router.</p>
        )}
      </div>
    </Panel>
  );
}
