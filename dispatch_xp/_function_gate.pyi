from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

class Gate:
    def __new__(
        cls,
        path: str,
        handle: Callable[..., Any],
        current: ContextVar[Any],
        process: object,
        quiet: object,
        tuples: bool,
    ) -> Gate: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Door:
    def __new__(
        cls,
        gate: Gate,
        reference: Callable[..., Any],
        active: list[int],
    ) -> Door: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def key(path: str, /, *args: Any, **kwargs: Any) -> tuple[Any, ...]: ...
