// SPDX-License-Identifier: Apache-2.0
import { Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { queueTypesQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { Note } from "@/ui/blocks";
import { fieldWords } from "@/ui/fieldText";
import { limitWords, parseDuration } from "@/ui/rates";
import { hoursText } from "@/ui/format";
import { Fold } from "./Fold";
import { HoursFields } from "./HoursFields";
import { ParentField } from "./ParentField";
import { longestBurstS, optionalRate, splitTargets, type Messages, type QueueValues } from "./queueValues";
import { PairField, RatePair } from "./RatePair";
import { builtInWords, typeWords } from "@/kinds/queue-type/words";
import { SoldHint } from "./SoldHint";
import { TargetHint } from "./TargetHint";
import { TotalFields } from "./TotalFields";
import { Whole } from "./Whole";

interface QueueFormProps {
  values: QueueValues;
  onChange: (values: QueueValues) => void;
  messages: Messages;
  /** The queue being edited, or null for a new one. */
  queue: Queue | null;
}

const pairText = (pair: { upload: string; download: string }, none: string): string =>
  pair.upload || pair.download ? `${pair.upload || none} / ${pair.download || none}` : none;
const hasError = (messages: Messages, ...fields: string[]): boolean =>
  Object.keys(messages).some((name) => fields.some((field) => name.startsWith(field)));

function BurstHint({ values }: { values: QueueValues }) {
  const words = (["upload", "download"] as const).map((direction) => {
    const limit = optionalRate(values.burst_limit_bps[direction]);
    const threshold = optionalRate(values.burst_threshold_bps[direction]);
    const time = parseDuration(values.burst_time_ms[direction] || "0");
    if (!limit.ok || !threshold.ok || !time.ok || limit.value === 0) return null;
    const seconds = longestBurstS(limit.value, threshold.value, time.value);
    return seconds === 0
      ? `${direction} never bursts: threshold and time must not be 0`
      : `longest ${direction} burst from idle: ${seconds.toFixed(seconds < 10 ? 1 : 0).replace(/\.0$/, "")} s at ${limitWords(limit.value)}`;
  });
  const said = words.filter((word) => word !== null);
  return said.length > 0 ? (
    <>{said.join("; ")}</>
  ) : (
    <>Above the limit for a short time, while the average stays under the threshold.</>
  );
}

/** The fields of a queue: name, target and limits first, the rest folded. */
export function QueueForm({ values, onChange, messages, queue }: QueueFormProps) {
  const set = (change: Partial<QueueValues>) => onChange({ ...values, ...change });
  const types = useQuery(queueTypesQuery).data?.items ?? [];
  const wordsOf = (name: string): string | undefined => {
    const type = types.find((item) => item.id === name);
    return type ? (builtInWords(type) ?? typeWords(type)) : undefined;
  };
  const typeNames = [
    ...new Set([
      values.queue_type.upload,
      values.queue_type.download,
      "default-small",
      ...types.map((type) => type.id),
    ]),
  ];
  const notes = queue?.enforcement ?? [];
  return (
    <div className="stack">
      <Whole>
        <TextInput
          label="Name"
          required
          data-autofocus
          value={values.name}
          error={messages["name"]}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Textarea
          label="Target"
          description="Whose traffic: addresses, prefixes or interfaces, one per line; 10.0.0.0/24@2 is one in domain 2."
          rows={Math.min(6, Math.max(2, values.target.split("\n").length))}
          styles={{ input: { fontFamily: "var(--mono)" } }}
          spellCheck={false}
          value={values.target}
          error={messages["target"]}
          onChange={(event) => set({ target: event.currentTarget.value })}
        />
      </Whole>
      <TargetHint targets={splitTargets(values.target)} ownId={queue?.id ?? null} />
      <RatePair
        label="Limit"
        field="max_limit_bps"
        none="unlimited"
        placeholder="10M"
        value={values.max_limit_bps}
        messages={messages}
        onChange={(max_limit_bps) => set({ max_limit_bps })}
      />
      <Whole>
        <ParentField
          value={values.parent}
          ownId={queue?.id ?? null}
          error={messages["parent"]}
          onChange={(parent) => set({ parent })}
        />
      </Whole>
      {values.parent ? (
        <SoldHint parent={values.parent} ownId={queue?.id ?? null} limits={values.max_limit_bps} />
      ) : null}
      {notes.map((note) => (
        <Note key={note.field} severity={note.enforced ? "notice" : "warning"}>
          {fieldWords("queue", note.field)}
          {note.enforced ? "" : ", kept but not enforced"}: {note.note}
        </Note>
      ))}
      <Fold
        title="Guarantee and priority"
        summary={`${pairText(values.limit_at_bps, "none")}, priority ${values.priority.upload} / ${values.priority.download}`}
        open={hasError(messages, "limit_at_bps", "priority")}
      >
        <RatePair
          label="Guaranteed rate"
          field="limit_at_bps"
          none="no guarantee"
          value={values.limit_at_bps}
          messages={messages}
          onChange={(limit_at_bps) => set({ limit_at_bps })}
        />
        <Whole>
          <PairField
            label="Priority for what is left, 1 (first) to 8"
            field="priority"
            value={values.priority}
            messages={messages}
            onChange={(priority) => set({ priority })}
          />
        </Whole>
      </Fold>
      <Fold
        title="Burst"
        summary={pairText(values.burst_limit_bps, "none")}
        open={hasError(messages, "burst")}
      >
        <RatePair
          label="Burst rate"
          field="burst_limit_bps"
          none="no burst"
          value={values.burst_limit_bps}
          messages={messages}
          onChange={(burst_limit_bps) => set({ burst_limit_bps })}
        />
        <RatePair
          label="Threshold"
          field="burst_threshold_bps"
          none="none"
          value={values.burst_threshold_bps}
          messages={messages}
          onChange={(burst_threshold_bps) => set({ burst_threshold_bps })}
        />
        <PairField
          label="Time over which the average is taken"
          field="burst_time_ms"
          placeholder="8s"
          value={values.burst_time_ms}
          messages={messages}
          onChange={(burst_time_ms) => set({ burst_time_ms })}
        >
          <BurstHint values={values} />
        </PairField>
      </Fold>
      <Whole>
        <Fold
          title="Schedule"
          summary={values.scheduled ? hoursText(values) : "always"}
          open={hasError(messages, "time")}
        >
          <Checkbox
            label="Only at certain hours"
            checked={values.scheduled}
            onChange={(event) => set({ scheduled: event.currentTarget.checked })}
          />
          {values.scheduled ? (
            <HoursFields value={values} path="time" messages={messages} onChange={set} />
          ) : null}
        </Fold>
        <Fold
          title="Queue type and bucket"
          summary={`${values.queue_type.upload} / ${values.queue_type.download}`}
          open={hasError(messages, "queue_type", "bucket")}
        >
          {(["upload", "download"] as const).map((direction) => (
            <NativeSelect
              key={direction}
              label={`Queue type, ${direction}`}
              description={wordsOf(values.queue_type[direction])}
              data={typeNames}
              value={values.queue_type[direction]}
              error={messages[`queue_type.${direction}`] ?? messages["queue_type"]}
              onChange={(event) =>
                set({ queue_type: { ...values.queue_type, [direction]: event.currentTarget.value } })
              }
            />
          ))}
          <PairField
            label="Bucket size (time at the limit)"
            field="bucket_size_ms"
            value={values.bucket_size_ms}
            messages={messages}
            onChange={(bucket_size_ms) => set({ bucket_size_ms })}
          />
        </Fold>
      </Whole>
      <TotalFields
        values={values.total}
        onChange={(total) => set({ total })}
        messages={messages}
        typeNames={typeNames}
      />
      <Whole>
        <Fold
          title="Destination and order"
          summary={`${values.dst || "anywhere"}${values.position === "" ? "" : `, position ${values.position}`}`}
          open={hasError(messages, "dst", "position")}
        >
          <TextInput
            label="Destination"
            description="Only traffic between the target and this prefix or interface. Looked at where a packet leaves, so after port forwarding."
            styles={{ input: { fontFamily: "var(--mono)" } }}
            placeholder="such as 198.51.100.0/24 or wan0"
            value={values.dst}
            error={messages["dst"]}
            onChange={(event) => set({ dst: event.currentTarget.value })}
          />
          <TextInput
            label="Position"
            description="The list is read from low to high; the first match wins."
            inputMode="numeric"
            value={values.position}
            error={messages["position"]}
            onChange={(event) => set({ position: event.currentTarget.value })}
          />
        </Fold>
      </Whole>
      <Textarea
        label="Comment"
        rows={2}
        value={values.comment}
        error={messages["comment"]}
        onChange={(event) => set({ comment: event.currentTarget.value })}
      />
      <Checkbox
        label="Disabled: keeps its place, limits nothing"
        checked={values.disabled}
        onChange={(event) => set({ disabled: event.currentTarget.checked })}
      />
    </div>
  );
}
