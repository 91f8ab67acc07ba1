"""The text that ``dispatch-xp config init`` writes: every key with its default."""

from __future__ import annotations

__all__ = ["TEMPLATE"]

TEMPLATE = """\
# dispatch-xp; in pyproject.toml the same keys go below [tool.dispatch_xp]

# "auto": the policy decides; "reference"; or one backend's name, used wherever it takes the call
backend = "auto"

# how much faster a backend has to be predicted: 1 cautious (3 times) ... 10 eager (0.9 times)
level = 5

# "cost-model", "threshold", "random", "fixed", "reference", or the name of an entry point
policy = "cost-model"

# which backends "auto" may use; those that aren't here are skipped
backends = ["threads", "torch", "cupy", "dpnp"]

# "match": never compute in less precision than the reference; "native": in the input's
precision = "match"

# run the reference too, return its result, and record how far the backend's was from it
verify = false

# what is said when a chosen backend fails and the reference runs the call: "quiet", "warn", "raise"
fallback = "quiet"

# where the machine profile is, if not in the user's data folder
# profile = "/path/to/profile.json"

# where the random policy starts
seed = 0

# pin single operations
# [operations."linalg.svd"]
# backend = "reference"

# for the threshold policy: elements of the largest argument
# [thresholds]
# default = 1000000
# matmul = 250000

# [limits]
# device_memory = "20 GB"
# trace_size = "256 MB"
"""
