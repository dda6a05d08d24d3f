// SPDX-License-Identifier: Apache-2.0
import { Menu, UnstyledButton } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import type { Mark } from "@/api/types";
import { SeverityIcon } from "@/ui/blocks";
import { plural, sentence, stampText } from "@/ui/format";
import { groupsOf, type Group } from "./marks";
import classes from "./MarkStrip.module.css";

interface MarkStripProps {
  marks: readonly Mark[];
  fromS: number;
  toS: number;
}

/** Commits, rollbacks and incidents above a graph, each where it happened; one leads to what it was. */
export function MarkStrip({ marks, fromS, toS }: MarkStripProps) {
  const groups = groupsOf(marks, fromS, toS);
  return (
    <ul className={classes.strip} aria-label="Commits and incidents of this time">
      {groups.map((group) => (
        <li
          key={group.marks[0]?.at}
          className={classes.place}
          style={{ left: `${(group.place * 100).toFixed(2)}%` }}
        >
          <Marked group={group} />
        </li>
      ))}
    </ul>
  );
}

function Marked({ group: { marks } }: { group: Group }) {
  const [first] = marks;
  const navigate = useNavigate();
  if (!first) return null;
  if (marks.length === 1)
    return (
      <Link {...placeOf(first)} className={classes.mark} title={textOf(first)} aria-label={textOf(first)}>
        <Sign mark={first} />
      </Link>
    );
  const worst = marks.find((mark) => mark.severity === "error") ?? first;
  return (
    <Menu withinPortal position="bottom">
      <Menu.Target>
        <UnstyledButton
          className={classes.mark}
          aria-label={`${plural(marks.length, "event")} from ${stampText(first.at)}`}
        >
          <Sign mark={worst} />
          <span className={classes.count}>{marks.length}</span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {marks.map((mark) => (
          <Menu.Item
            key={`${mark.revision ?? ""} ${mark.incident ?? ""}`}
            onClick={() => void navigate({ ...placeOf(mark) })}
          >
            {textOf(mark)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

const textOf = (mark: Mark): string => `${stampText(mark.at)} ${sentence(mark.sentence)}`;

const Sign = ({ mark }: { mark: Mark }) =>
  mark.kind === "commit" ? (
    <span className={classes.commit} aria-hidden="true" />
  ) : (
    <SeverityIcon severity={mark.severity} size={14} />
  );

/** Where it is told in full: an incident with its seconds, a revision with its changes. */
const placeOf = ({ incident, revision }: Mark) =>
  incident !== null
    ? ({ to: "/diagnostics", search: { incident } } as const)
    : ({ to: "/history", search: { from: Math.max(0, (revision ?? 0) - 1), to: revision ?? 0 } } as const);
