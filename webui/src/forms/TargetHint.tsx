// SPDX-License-Identifier: Apache-2.0
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queueSearchQuery } from "@/api/queries";
import classes from "./forms.module.css";

/** What is searched for: an address in any domain. */
const withoutDomain = (text: string): string => text.split("@", 1)[0] ?? "";

const isAddress = (text: string): boolean => /^[0-9a-f.:]+(\/\d+)?$/i.test(text) && /[.:]/.test(text);

/** Names the other queues that hold the first typed address: in the list, the first match wins. */
export function TargetHint({ targets, ownId }: { targets: readonly string[]; ownId: string | null }) {
  const [first] = useDebouncedValue(targets.map(withoutDomain).find(isAddress) ?? "", 300);
  const found = useQuery({ ...queueSearchQuery(first, 5), enabled: first !== "", retry: false }).data;
  const others = (first === "" ? [] : (found?.items ?? [])).filter((queue) => queue.id !== ownId);
  if (others.length === 0) return null;
  return (
    <p className={classes.hintLine}>
      <span className="mono">{first}</span> is also in{" "}
      {others.slice(0, 3).map((queue, index) => (
        <span key={queue.id}>
          {index > 0 ? ", " : ""}
          <Link to="/queues/$id" params={{ id: queue.id }}>
            {queue.name}
          </Link>{" "}
          (position {queue.position})
        </span>
      ))}
      . Inside one parent the lowest position wins.
    </p>
  );
}
