# SPDX-License-Identifier: Apache-2.0
"""The resources of the API, one module per group: parse, call the service, render."""
