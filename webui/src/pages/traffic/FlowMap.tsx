// SPDX-License-Identifier: Apache-2.0
import { Link } from "@tanstack/react-router";
import type { Direction } from "@/table/liveColumns";
import { longRate, shortRate } from "@/ui/rates";
import type { Flow, FlowLink, FlowNode } from "./flow";
import classes from "./FlowMap.module.css";

/** Of the map's width, in percent. */
const NODE = 1;
/** A name needs so much height, beside the gap. */
const NAMED_PX = 8;

const left = (depth: number, columns: number): number => (depth * 100) / columns;

/** The names are HTML over the drawing, so that they are cut off and can be followed. */
export function FlowMap({ flow, direction }: { flow: Flow; direction: Direction }) {
  const named = flow.nodes.filter((node) => node.height >= NAMED_PX || node.depth === 0);
  return (
    <div className={classes.map} style={{ height: flow.height }} data-direction={direction} data-live>
      <svg
        className={classes.drawing}
        viewBox={`0 0 100 ${flow.height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        {flow.links.map((link) => (
          <path key={link.key} className={classes.link} d={band(link, flow.depth)} />
        ))}
        {flow.nodes.map((node) => (
          <rect
            key={node.key}
            className={classes.node}
            data-none={node.id === null}
            x={left(node.depth, flow.depth)}
            y={node.top}
            width={NODE}
            height={Math.max(node.height, 1)}
          />
        ))}
      </svg>
      <ul className="plain-list" aria-label={`Flow of the ${direction} by queue`}>
        {named.map((node) => (
          <Name key={node.key} node={node} columns={flow.depth} />
        ))}
      </ul>
    </div>
  );
}

function Name({ node, columns }: { node: FlowNode; columns: number }) {
  const style = {
    left: `${left(node.depth, columns) + NODE}%`,
    width: `${100 / columns - NODE}%`,
    top: node.top + node.height / 2,
  };
  return (
    <li className={classes.name} style={style} title={`${node.name}: ${longRate(node.rateBps)}`}>
      {node.id === null ? (
        <span className="dim">{node.name}</span>
      ) : (
        <Link to="/queues/$id" params={{ id: node.id }}>
          {node.name}
        </Link>
      )}{" "}
      <span className={classes.rate}>{shortRate(node.rateBps)}</span>
    </li>
  );
}

function band({ depth, from, to, height }: FlowLink, columns: number): string {
  const x0 = left(depth, columns) + NODE;
  const x1 = left(depth + 1, columns);
  const middle = (x0 + x1) / 2;
  const curve = (start: number, end: number, x: number) =>
    `C ${middle} ${start}, ${middle} ${end}, ${x} ${end}`;
  return [
    `M ${x0} ${from}`,
    curve(from, to, x1),
    `L ${x1} ${to + height}`,
    curve(to + height, from + height, x0),
    "Z",
  ].join(" ");
}
