// SPDX-License-Identifier: Apache-2.0
import { Checkbox, NativeSelect, Textarea, TextInput } from "@mantine/core";
import type { Interface } from "@/api/types";
import type { InterfaceValues } from "./interfaceValues";
import type { Messages } from "./queueValues";
import { VrfSelect } from "./VrfSelect";

const ROLES = [
  { value: "none", label: "none: not part of shaping" },
  { value: "lan", label: "LAN: faces the customers" },
  { value: "wan", label: "WAN: faces the internet" },
];
const SHAPERS = [
  { value: "auto", label: "automatic: the best this kernel can do" },
  { value: "edt", label: "EDT: paced by fq" },
  { value: "police", label: "police: drops above the rate" },
  { value: "htb", label: "HTB: the classic tree" },
];
const UNKNOWN = [
  { value: "allow", label: "let through: unlimited, but for a queue on this interface" },
  { value: "queue", label: "into the queue that has this interface as target; without one dropped" },
  { value: "drop", label: "drop" },
];
const REVERSE_PATHS = [
  { value: "off", label: "any" },
  { value: "loose", label: "that there is a way to" },
  { value: "strict", label: "whose way back is this interface" },
];
const FAST_PATHS = [
  { value: "auto", label: "auto: in XDP what need not wait, where that is possible" },
  { value: "off", label: "off: all packets through the stack" },
];
const PROTOCOLS = [
  { value: "802.1Q", label: "802.1Q: customers' VLANs" },
  { value: "802.1ad", label: "802.1ad: the outer tag of QinQ" },
];
const ADDRESSING_MODES = [
  { value: "static", label: "as given below" },
  { value: "dhcp", label: "by DHCP, with the route to the internet" },
];
const MONO = { input: { fontFamily: "var(--mono)" } };

interface FieldsProps {
  values: InterfaceValues;
  set: (change: Partial<InterfaceValues>) => void;
  messages: Messages;
  /** Those that a VLAN may be on: configured ones with at most one tag. */
  parents: readonly Interface[];
  /** The names of the VRFs that it may be in. */
  vrfs: readonly string[];
  isNew: boolean;
}

/** Named after the port that it will be on, or one that there is. */
const exampleName = (values: InterfaceValues, parents: readonly Interface[]): string =>
  `${values.parent || (parents[0]?.id ?? "port")}.${/^\d+$/.test(values.tag) ? values.tag : "100"}`;

export function InterfaceFields(props: FieldsProps) {
  const { values, set, messages, isNew, parents } = props;
  return (
    <>
      {isNew ? (
        <TextInput
          label="Name"
          required
          data-autofocus
          placeholder={`such as ${values.isVrf ? "blue" : exampleName(values, parents)}`}
          maxLength={15}
          styles={MONO}
          value={values.name}
          error={messages["id"]}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
      ) : null}
      {values.isVrf ? <VrfFields {...props} /> : <PortFields {...props} />}
      <TextInput
        label="Description"
        value={values.description}
        error={messages["description"]}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      <Checkbox
        label="Disabled: taken down"
        checked={values.disabled}
        onChange={(event) => set({ disabled: event.currentTarget.checked })}
      />
    </>
  );
}

function VrfFields({ values, set, messages }: FieldsProps) {
  return (
    <>
      <TextInput
        label="Routing table"
        description="1 to 65535. Empty: the router chooses one, which stays."
        inputMode="numeric"
        value={values.table}
        error={messages["vrf_table"]}
        onChange={(event) => set({ table: event.currentTarget.value })}
      />
      <Textarea
        label="Addresses"
        description="Of the router itself in this VRF, if it needs one that is on no interface; one per line."
        rows={2}
        styles={MONO}
        spellCheck={false}
        value={values.addresses}
        error={messages["addresses"]}
        onChange={(event) => set({ addresses: event.currentTarget.value })}
      />
    </>
  );
}

function PortFields({ values, set, messages, parents, vrfs }: FieldsProps) {
  return (
    <>
      {values.isVlan ? <VlanFields values={values} set={set} messages={messages} parents={parents} /> : null}
      <NativeSelect
        label="Role"
        data={ROLES}
        value={values.role}
        error={messages["role"]}
        onChange={(event) => set({ role: event.currentTarget.value as InterfaceValues["role"] })}
      />
      <NativeSelect
        label="IPv4 address"
        data={ADDRESSING_MODES}
        value={values.addressing}
        error={messages["addressing"]}
        onChange={(event) => set({ addressing: event.currentTarget.value as InterfaceValues["addressing"] })}
      />
      <Textarea
        label={values.addressing === "dhcp" ? "Further addresses" : "Addresses"}
        description="With prefix length, one per line: 192.0.2.1/24"
        rows={3}
        styles={MONO}
        spellCheck={false}
        value={values.addresses}
        error={messages["addresses"]}
        onChange={(event) => set({ addresses: event.currentTarget.value })}
      />
      <TextInput
        label="MTU"
        description={values.isVlan ? "Empty: that of its parent." : "Empty: as the kernel has it."}
        inputMode="numeric"
        value={values.mtu}
        error={messages["mtu"]}
        onChange={(event) => set({ mtu: event.currentTarget.value })}
      />
      <TextInput
        label="Overhead per packet, bytes"
        description="Added to each packet's IP length when it is counted against a limit: 0 for IP packets alone, 18 for the Ethernet frame (22 with a tag), 38 for all that it takes on the wire, with preamble and gap. Small packets are mostly overhead."
        inputMode="numeric"
        list="overheads"
        value={values.overhead}
        error={messages["overhead_bytes"]}
        onChange={(event) => set({ overhead: event.currentTarget.value })}
      />
      <datalist id="overheads">
        <option value="0">IP packets alone</option>
        <option value="18">Ethernet frame</option>
        <option value="22">Ethernet frame with a VLAN tag</option>
        <option value="38">Ethernet with preamble and gap</option>
      </datalist>
      <NativeSelect
        label="Shaper"
        data={SHAPERS}
        value={values.shaper}
        error={messages["shaper"]}
        onChange={(event) => set({ shaper: event.currentTarget.value as InterfaceValues["shaper"] })}
      />
      <NativeSelect
        label="Fast path"
        data={FAST_PATHS}
        value={values.fastPath}
        error={messages["fast_path"]}
        onChange={(event) => set({ fastPath: event.currentTarget.value as InterfaceValues["fastPath"] })}
      />
      <NativeSelect
        label="Addresses without a queue"
        description="What becomes of their packets when they would be forwarded."
        data={UNKNOWN}
        value={values.unknown}
        error={messages["unknown"]}
        onChange={(event) => set({ unknown: event.currentTarget.value as InterfaceValues["unknown"] })}
      />
      <NativeSelect
        label="Forward sources"
        description="A check against forged addresses. Not strict where several routes are equal."
        data={REVERSE_PATHS}
        value={values.reversePath}
        error={messages["reverse_path"]}
        onChange={(event) =>
          set({ reversePath: event.currentTarget.value as InterfaceValues["reversePath"] })
        }
      />
      <VrfSelect
        description="Routes and addresses of their own; traffic stays among the interfaces in it, and the router answers nothing there but ping."
        value={values.vrf}
        error={messages["vrf"]}
        vrfs={vrfs}
        onChange={(vrf) => set({ vrf })}
      />
      <TextInput
        label="Domain of addresses"
        description="Domains keep overlapping addresses apart: in domain 2 a target is written 10.0.0.0/24@2, in domain 0 10.0.0.0/24."
        inputMode="numeric"
        value={values.domain}
        error={messages["domain"]}
        onChange={(event) => set({ domain: event.currentTarget.value })}
      />
    </>
  );
}

function VlanFields({ values, set, messages, parents }: Omit<FieldsProps, "isNew" | "vrfs">) {
  const names = parents.map((item) => item.id).filter((id) => id !== values.name);
  const choices = values.parent === "" || names.includes(values.parent) ? names : [...names, values.parent];
  return (
    <>
      <NativeSelect
        label="On"
        description="A configured interface; another VLAN for frames with two tags."
        data={[{ value: "", label: "choose" }, ...choices]}
        value={values.parent}
        error={messages["vlan.parent"]}
        onChange={(event) => set({ parent: event.currentTarget.value })}
      />
      <TextInput
        label="VLAN id"
        description="1 to 4094"
        required
        inputMode="numeric"
        value={values.tag}
        error={messages["vlan.id"]}
        onChange={(event) => set({ tag: event.currentTarget.value })}
      />
      <NativeSelect
        label="Tag"
        data={PROTOCOLS}
        value={values.protocol}
        error={messages["vlan.protocol"]}
        onChange={(event) => set({ protocol: event.currentTarget.value as InterfaceValues["protocol"] })}
      />
    </>
  );
}
