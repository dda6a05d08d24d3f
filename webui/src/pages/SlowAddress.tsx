// SPDX-License-Identifier: Apache-2.0
import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { whyQuery, type WhyAsked } from "@/api/diagnosis";
import { queueQuery } from "@/api/queries";
import type { Why } from "@/api/types";
import { Section } from "@/ui/blocks";
import { MeasuredAt, WhyAnswer } from "./queue/WhySlow";
import classes from "./SlowAddress.module.css";

/** Why a customer is slow, by address: who is in no queue has no page. */
export function SlowAddress() {
  const { address } = useSearch({ from: "/frame/diagnostics" });
  const navigate = useNavigate({ from: "/diagnostics" });
  const query = useQuery({ ...whyQuery({ address: address ?? "" }), enabled: address !== undefined });
  const asked = query.data;
  return (
    <Section title="Why is this customer slow?" aside={<MeasuredAt asked={asked} />}>
      <form
        key={address}
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          const typed = new FormData(event.currentTarget).get("address");
          const wanted = typeof typed === "string" ? typed.trim() : "";
          void navigate({ search: (old) => ({ ...old, address: wanted || undefined }), resetScroll: false });
          if (wanted === address) void query.refetch();
        }}
      >
        <TextInput
          name="address"
          label="Address of the customer"
          placeholder="10.64.0.2"
          defaultValue={address ?? ""}
          autoComplete="off"
          spellCheck={false}
          className={classes.address}
        />
        <Button type="submit">Look</Button>
      </form>
      {address === undefined ? null : (
        <>
          {asked?.found ? <Whose found={asked.found} /> : null}
          <Queued asked={asked} id={asked?.found?.queue?.id} />
        </>
      )}
    </Section>
  );
}

function Whose({ found }: { found: Why }) {
  return (
    <p className="dim">
      <span className="mono">{found.address}</span>
      {found.queue ? (
        <>
          , queue{" "}
          <Link to="/queues/$id" params={{ id: found.queue.id }}>
            {found.queue.name}
          </Link>
        </>
      ) : null}
      {found.towards !== null ? (
        <>
          , towards <span className="mono">{found.towards}</span>
        </>
      ) : found.uplink ? (
        `, by uplink ${found.uplink.id}`
      ) : null}
    </p>
  );
}

/** With the queue that limits the address, so that its limit can be raised here. */
function Queued({ asked, id }: { asked: WhyAsked | undefined; id: string | undefined }) {
  const queue = useQuery({ ...queueQuery(id ?? ""), enabled: id !== undefined });
  return <WhyAnswer asked={asked} queue={id === undefined ? undefined : queue.data} />;
}
