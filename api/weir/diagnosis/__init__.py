# SPDX-License-Identifier: Apache-2.0
"""From samples of the running system to what ails it: pure rules, and their texts (docs/diagnosis.md)."""

from __future__ import annotations
