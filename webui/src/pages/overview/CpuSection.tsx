// SPDX-License-Identifier: Apache-2.0
import { useLiveSystem } from "@/api/live";
import { StaticBar } from "@/table/RateBar";
import { Section } from "@/ui/blocks";
import { bytesText, percentText } from "@/ui/format";
import classes from "./Overview.module.css";

export function CpuSection() {
  const system = useLiveSystem();
  return (
    <Section
      title="Processors"
      aside={
        system ? (
          <span className="dim" data-live>
            load {system.load_1m.toFixed(2)}, memory{" "}
            {bytesText(system.memory_total_bytes - system.memory_available_bytes)} of{" "}
            {bytesText(system.memory_total_bytes)}
          </span>
        ) : null
      }
    >
      {system ? (
        <div className={classes.cpus}>
          {system.cpu_busy.map((busy, index) => (
            <div key={index} className={classes.cpu}>
              <span>CPU {index}</span>
              <StaticBar rateBps={busy} limitBps={1} label={percentText(busy)} />
            </div>
          ))}
        </div>
      ) : (
        <p className="dim">Waiting for the first measurement.</p>
      )}
    </Section>
  );
}
