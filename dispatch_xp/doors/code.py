"""Functions written in Python: their code is exchanged, the function objects stay.

Whoever holds the function (an earlier ``from numpy.linalg import solve``, a closure, a default
argument, a table keyed by it) therefore goes through the door, and afterwards no longer does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from dispatch_xp.doors.handler import Handler
from dispatch_xp.state import ACTIVE

__all__ = ["copy_of", "stub_code", "swap_code"]

# warnings.warn(stacklevel=...) passes over the frames of importlib, by their file name: with such
# a name the door isn't counted, and a warning of the reference points at the user's line
_FILE = "<dispatch_xp door, importlib._bootstrap>"

# the names after the return are never read: they make the interpreter set up the closure, without
# which a debugger that looks at the frame's variables crashes
_TEMPLATE = """\
def enclosing({closure}):
    def door({parameters}):
        active, handle, reference = '@active', '@handle', '@reference'
        if active[0]:
            outcome = handle({arguments})
            if outcome is not None:
                if outcome.done:
                    return outcome.result
                with outcome:
                    return outcome.finish(reference({arguments}))
        return reference({arguments})
        {closure}
    return door
"""


def _parameters(code: CodeType) -> tuple[str, str]:
    """Return the source of a code object's parameters, and of passing them on unchanged."""
    names = code.co_varnames
    positional = list(names[: code.co_argcount])
    keyword_only = list(names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    position = code.co_argcount + code.co_kwonlyargcount
    parameters, arguments = list(positional), list(positional)
    if code.co_posonlyargcount:
        parameters.insert(code.co_posonlyargcount, "/")
    if code.co_flags & inspect.CO_VARARGS:
        parameters.append(f"*{names[position]}")
        arguments.append(f"*{names[position]}")
        position += 1
    elif keyword_only:
        parameters.append("*")
    parameters += keyword_only
    arguments += [f"{name}={name}" for name in keyword_only]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parameters.append(f"**{names[position]}")
        arguments.append(f"**{names[position]}")
    return ", ".join(parameters), ", ".join(arguments)


def stub_code(like: CodeType, handle: Handler, reference: Callable[..., Any]) -> CodeType:
    """Return the code of a door with the parameters, the names and the closure of `like`.

    Parameters
    ----------
    like : code
        The code of the function behind the door.
    handle : callable
        Decides about a call.
    reference : callable
        The function itself.
    """
    parameters, arguments = _parameters(like)
    # `door` and its three locals must not meet a parameter of the same name
    closure = ", ".join(like.co_freevars)
    source = _TEMPLATE.format(parameters=parameters, arguments=arguments, closure=closure)
    for local in ("active", "handle", "reference", "outcome"):
        if local in (*like.co_varnames, *like.co_freevars):
            raise ValueError(f"a parameter is called {local!r}")
    code = _compiled(source, like.co_freevars)
    objects = {("@active", "@handle", "@reference"): (ACTIVE, handle, reference)}
    constants = tuple(
        objects.get(value, value) if isinstance(value, tuple) else value for value in code.co_consts
    )
    if constants == code.co_consts or code.co_freevars != like.co_freevars:
        raise RuntimeError("the interpreter compiles doors in an unknown way")
    return code.replace(
        co_consts=constants,
        co_name=like.co_name,
        co_qualname=like.co_qualname,
    )


@cache
def _compiled(source: str, variables: tuple[str, ...]) -> CodeType:
    # many functions have the same parameters
    namespace: dict[str, Any] = {}
    exec(compile(source, _FILE, "exec"), namespace)
    code: CodeType = namespace["enclosing"](*variables).__code__
    return code


def copy_of(function: FunctionType) -> FunctionType:
    """Return another function with the same code, defaults, closure and attributes."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    return copy


def swap_code(
    function: FunctionType, handle: Handler, reference: Callable[..., Any]
) -> Callable[[], None]:
    """Put a door before a function.

    Returns
    -------
    callable
        Takes it away again.
    """
    original = function.__code__
    stub = stub_code(original, handle, reference)
    function.__code__ = stub

    def undo() -> None:
        # somebody who exchanged the code after us keeps what they put there
        if function.__code__ is stub:
            function.__code__ = original

    return undo
