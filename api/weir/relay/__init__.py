# SPDX-License-Identifier: Apache-2.0
"""The DHCP relay: a process of its own that the agent starts (docs/adr/0248). Its modules need no other part
of Weir but how rights are given up."""
