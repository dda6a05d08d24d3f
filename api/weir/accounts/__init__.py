# SPDX-License-Identifier: Apache-2.0
"""Who is asking: accounts, how they prove themselves, what each may do, and the trail of what they did.

Nothing here knows the configuration or the agent, so that somebody can sign in while the rest of the API is
still being loaded (docs/adr/0281): the layers keep it that way.
"""
