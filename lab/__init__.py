# SPDX-License-Identifier: Apache-2.0
"""The lab: client, router and internet as network namespaces, with the real router between them."""
