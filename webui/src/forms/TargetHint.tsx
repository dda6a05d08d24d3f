// SPDX-License-Identifier: Apache-2.0
import { useDebouncedValue } from "@mantine/hooks";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queueSearchQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import classes from "./forms.module.css";

/** What is searched for: an address in any domain. */
const withoutDomain = (text: string): string => text.split("@", 1)[0] ?? "";

const isAddress = (text: string): boolean => /^[0-9a-f.:]+(\/\d+)?$/i.test(text) && /[.:]/.test(text);

const MOST_ADDRESSES = 8;
const MOST_NAMES = 3;

/** Names the other queues that hold one of the typed addresses: in the list, the first match wins. */
export function TargetHint({ targets, ownId }: { targets: readonly string[]; ownId: string | null }) {
  const [typed] = useDebouncedValue(
    targets.map(withoutDomain).filter(isAddress).slice(0, MOST_ADDRESSES).join(" "),
    300,
  );
  const addresses = [...new Set(typed.split(" ").filter(Boolean))];
  const found = useQueries({
    queries: addresses.map((address) => ({ ...queueSearchQuery(address, MOST_NAMES + 1), retry: false })),
  });
  return addresses.map((address, index) => (
    <Others
      key={address}
      address={address}
      queues={(found[index]?.data?.items ?? []).filter((queue) => queue.id !== ownId)}
    />
  ));
}

function Others({ address, queues }: { address: string; queues: readonly Queue[] }) {
  if (queues.length === 0) return null;
  return (
    <p className={classes.hintLine}>
      <span className="mono">{address}</span> is also in{" "}
      {queues.slice(0, MOST_NAMES).map((queue, index) => (
        <span key={queue.id}>
          {index > 0 ? ", " : ""}
          <Link to="/queues/$id" params={{ id: queue.id }}>
            {queue.name}
          </Link>{" "}
          (position {queue.position})
        </span>
      ))}
      {queues.length > MOST_NAMES ? " and more" : ""}. Inside one parent the lowest position wins.
    </p>
  );
}
