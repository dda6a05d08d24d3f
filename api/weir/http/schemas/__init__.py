# SPDX-License-Identifier: Apache-2.0
"""The shapes of the REST API. Input schemas bound every value; answer schemas document what is sent."""
