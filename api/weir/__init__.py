# SPDX-License-Identifier: Apache-2.0
"""Weir's control plane."""

__version__ = "0.1.0"
