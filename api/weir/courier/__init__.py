# SPDX-License-Identifier: Apache-2.0
"""One message to one receiver outside, in a process of its own without rights (docs/adr/0184)."""
