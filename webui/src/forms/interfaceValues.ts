// SPDX-License-Identifier: Apache-2.0
import type { Interface, InterfaceInput } from "@/api/types";
import { splitTargets, type Messages } from "./queueValues";

type Protocol = NonNullable<InterfaceInput["vlan"]>["protocol"];

export interface InterfaceValues {
  /** Of a new one; of others it cannot change. */
  name: string;
  role: InterfaceInput["role"];
  addresses: string;
  addressing: InterfaceInput["addressing"];
  mtu: string;
  description: string;
  overhead: string;
  shaper: InterfaceInput["shaper"];
  fastPath: InterfaceInput["fast_path"];
  unknown: InterfaceInput["unknown"];
  reversePath: InterfaceInput["reverse_path"];
  domain: string;
  isVlan: boolean;
  parent: string;
  tag: string;
  protocol: Protocol;
  /** The VRF that it is in, or "". */
  vrf: string;
  isVrf: boolean;
  /** Its routing table; "": the router chooses. */
  table: string;
  disabled: boolean;
}

export const NEW_VLAN: InterfaceValues = {
  name: "",
  role: "lan",
  addresses: "",
  addressing: "static",
  mtu: "",
  description: "",
  overhead: "22",
  shaper: "auto",
  fastPath: "auto",
  unknown: "allow",
  reversePath: "off",
  domain: "0",
  isVlan: true,
  parent: "",
  tag: "",
  protocol: "802.1Q",
  vrf: "",
  isVrf: false,
  table: "",
  disabled: false,
};
export const NEW_VRF: InterfaceValues = {
  ...NEW_VLAN,
  role: "none",
  overhead: "0",
  isVlan: false,
  isVrf: true,
};

export const valuesOf = (item: Interface): InterfaceValues => ({
  name: item.id,
  role: item.role as InterfaceValues["role"],
  addresses: item.addresses.join("\n"),
  addressing: item.addressing as InterfaceValues["addressing"],
  mtu: item.mtu === null ? "" : String(item.mtu),
  description: item.description,
  overhead: String(item.overhead_bytes),
  shaper: item.shaper as InterfaceValues["shaper"],
  fastPath: item.fast_path as InterfaceValues["fastPath"],
  domain: String(item.domain),
  unknown: item.unknown as InterfaceValues["unknown"],
  reversePath: item.reverse_path as InterfaceValues["reversePath"],
  isVlan: item.vlan !== null,
  parent: item.vlan?.parent ?? "",
  tag: item.vlan ? String(item.vlan.id) : "",
  protocol: (item.vlan?.protocol ?? "802.1Q") as Protocol,
  vrf: item.vrf ?? "",
  isVrf: item.vrf_table !== null,
  table: item.vrf_table ? String(item.vrf_table) : "",
  disabled: item.disabled,
});

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$/;

export function readInterface(values: InterfaceValues): {
  id: string;
  input: InterfaceInput;
  messages: Messages;
} {
  const messages: Messages = {};
  if (!NAME.test(values.name)) messages["id"] = "Up to 15 letters, digits, '_', '.' or '-'.";
  if (values.isVlan && values.parent === "")
    messages["vlan.parent"] = "Choose the interface that the frames come in through.";
  if (
    values.isVlan &&
    !(/^\d{1,4}$/.test(values.tag.trim()) && Number(values.tag) >= 1 && Number(values.tag) <= 4094)
  )
    messages["vlan.id"] = "A number from 1 to 4094.";
  if (values.mtu.trim() !== "" && !/^\d+$/.test(values.mtu.trim()))
    messages["mtu"] = "A number of bytes, such as 1500, or nothing.";
  if (!/^-?\d+$/.test(values.overhead.trim()))
    messages["overhead_bytes"] = "A number of bytes, such as 0 or 18.";
  if (!/^\d{1,2}$/.test(values.domain.trim())) messages["domain"] = "A number from 0 to 15.";
  if (!/^\d{0,5}$/.test(values.table.trim()) || Number(values.table) > 65535)
    messages["vrf_table"] = "A number from 1 to 65535, or nothing.";
  const input: InterfaceInput = {
    role: values.role,
    addresses: splitTargets(values.addresses),
    addressing: values.addressing,
    mtu: values.mtu.trim() === "" ? null : Number(values.mtu),
    description: values.description,
    overhead_bytes: Number(values.overhead),
    shaper: values.shaper,
    fast_path: values.fastPath,
    unknown: values.unknown,
    reverse_path: values.reversePath,
    domain: Number(values.domain),
    vlan: values.isVlan ? { parent: values.parent, id: Number(values.tag), protocol: values.protocol } : null,
    vrf: values.vrf === "" ? null : values.vrf,
    vrf_table: values.isVrf ? Number(values.table) : null,
    disabled: values.disabled,
  };
  return { id: values.name, input, messages };
}
