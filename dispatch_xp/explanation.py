"""``explain()``: the predicted time of a call on each backend, and the choice."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch_xp.config import load
from dispatch_xp.context import state_of
from dispatch_xp.decision import REFERENCE, Decision, Prediction
from dispatch_xp.errors import DispatchError, Unsupported
from dispatch_xp.functions import FUNCTIONS
from dispatch_xp.levels import LEVELS
from dispatch_xp.operations import OPERATIONS
from dispatch_xp.question import call_of
from dispatch_xp.reasons import Reason
from dispatch_xp.recorder import Table, seconds_text
from dispatch_xp.router import decide
from dispatch_xp.state import State, current

if TYPE_CHECKING:
    from dispatch_xp.backends.interface import Backend
    from dispatch_xp.call import Call
