"""Elementwise functions of the standard.

The operands broadcast; numbers of Python take the other operand's dtype. ValueError if the shapes
don't broadcast or the operands are pinned to different devices, OverflowError if an integer of
Python is out of the range of the other's dtype, TypeError if an operand is neither an `Array` nor a
number.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from dispatch_xp.array.array import Array, host, operand
from dispatch_xp.array.calls import apply, plain
from dispatch_xp.array.core import core
from dispatch_xp.array.elementwise import BINARY, UNARY
from dispatch_xp.array.routed import Routed

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

_ABS = UNARY["abs"].number
_ACOS = UNARY["acos"].number
_ACOSH = UNARY["acosh"].number
_ASIN = UNARY["asin"].number
_ASINH = UNARY["asinh"].number
_ATAN = UNARY["atan"].number
_ATANH = UNARY["atanh"].number
_BITWISE_INVERT = UNARY["bitwise_invert"].number
_CEIL = UNARY["ceil"].number
_CONJ = UNARY["conj"].number
_COS = UNARY["cos"].number
_COSH = UNARY["cosh"].number
_EXP = UNARY["exp"].number
_EXPM1 = UNARY["expm1"].number
_FLOOR = UNARY["floor"].number
_ISFINITE = UNARY["isfinite"].number
_ISINF = UNARY["isinf"].number
_ISNAN = UNARY["isnan"].number
_LOG = UNARY["log"].number
_LOG10 = UNARY["log10"].number
_LOG1P = UNARY["log1p"].number
_LOG2 = UNARY["log2"].number
_LOGICAL_NOT = UNARY["logical_not"].number
_NEGATIVE = UNARY["negative"].number
_POSITIVE = UNARY["positive"].number
_RECIPROCAL = UNARY["reciprocal"].number
_SIGN = UNARY["sign"].number
_SIGNBIT = UNARY["signbit"].number
_SIN = UNARY["sin"].number
_SINH = UNARY["sinh"].number
_SQRT = UNARY["sqrt"].number
_SQUARE = UNARY["square"].number
_TAN = UNARY["tan"].number
_TANH = UNARY["tanh"].number
_TRUNC = UNARY["trunc"].number
_ADD = BINARY["add"].number
_ATAN2 = BINARY["atan2"].number
_BITWISE_AND = BINARY["bitwise_and"].number
_BITWISE_LEFT_SHIFT = BINARY["bitwise_left_shift"].number
_BITWISE_OR = BINARY["bitwise_or"].number
_BITWISE_RIGHT_SHIFT = BINARY["bitwise_right_shift"].number
_BITWISE_XOR = BINARY["bitwise_xor"].number
_COPYSIGN = BINARY["copysign"].number
_DIVIDE = BINARY["divide"].number
_EQUAL = BINARY["equal"].number
_FLOOR_DIVIDE = BINARY["floor_divide"].number
_GREATER = BINARY["greater"].number
_GREATER_EQUAL = BINARY["greater_equal"].number
_HYPOT = BINARY["hypot"].number
_LESS = BINARY["less"].number
_LESS_EQUAL = BINARY["less_equal"].number
_LOGADDEXP = BINARY["logaddexp"].number
_LOGICAL_AND = BINARY["logical_and"].number
_LOGICAL_OR = BINARY["logical_or"].number
_LOGICAL_XOR = BINARY["logical_xor"].number
_MAXIMUM = BINARY["maximum"].number
_MINIMUM = BINARY["minimum"].number
_MULTIPLY = BINARY["multiply"].number
_NEXTAFTER = BINARY["nextafter"].number
_NOT_EQUAL = BINARY["not_equal"].number
_POW = BINARY["pow"].number
_REMAINDER = BINARY["remainder"].number
_SUBTRACT = BINARY["subtract"].number
_ROUND = UNARY["rint"].number
_CLIP = Routed("numpy.clip")


def abs(x: Array, /) -> Array:
    """Return the absolute value of each element; the magnitude of a complex one.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the dtype of `x`, real if that is complex. The least of signed integers stays as it is.
    """
    return core.unary(_ABS, x)


def acos(x: Array, /) -> Array:
    """Return the inverse cosine of each element, in radians.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        From 0 to pi. NaN outside [-1, 1] for real `x`; of complex `x` the real part is in [0, pi],
        the branch cuts are the real axis below -1 and above 1.
    """
    return core.unary(_ACOS, x)


def acosh(x: Array, /) -> Array:
    """Return the inverse hyperbolic cosine of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Not negative. NaN below 1 for real `x`; of complex `x` the imaginary part is in [-pi, pi],
        the branch cut is the real axis below 1.
    """
    return core.unary(_ACOSH, x)


def add(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the sum of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or number
        Of numeric dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype; integers wrap around.
    """
    return core.binary(_ADD, x1, x2)


def asin(x: Array, /) -> Array:
    """Return the inverse sine of each element, in radians.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        From -pi/2 to pi/2. NaN outside [-1, 1] for real `x`; of complex `x` that is the range of
        the real part, and the branch cuts are the real axis below -1 and above 1.
    """
    return core.unary(_ASIN, x)


def asinh(x: Array, /) -> Array:
    """Return the inverse hyperbolic sine of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of complex `x` the imaginary part is in [-pi/2, pi/2], the branch cuts are the imaginary
        axis below -1j and above 1j.
    """
    return core.unary(_ASINH, x)


def atan(x: Array, /) -> Array:
    """Return the inverse tangent of each element, in radians.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        From -pi/2 to pi/2. Of complex `x` that is the range of the real part, and the branch cuts
        are the imaginary axis below -1j and above 1j.
    """
    return core.unary(_ATAN, x)


def atan2(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the angle of each point (x2, x1), in radians, from -pi to pi.

    Parameters
    ----------
    x1 : Array or float
        The ordinates; of real floating dtype.
    x2 : Array or float
        The abscissae; of real floating dtype, and broadcast with `x1`.

    Returns
    -------
    Array
        Of the common dtype. On the negative x-axis, the sign of a zero in `x1` is the sign of pi.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_ATAN2, x1, x2)


def atanh(x: Array, /) -> Array:
    """Return the inverse hyperbolic tangent of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Infinite at -1 and 1, NaN beyond for real `x`; of complex `x` the imaginary part is in
        [-pi/2, pi/2], the branch cuts are the real axis below -1 and above 1.
    """
    return core.unary(_ATANH, x)


def bitwise_and(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits set in both elements of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Of integer or bool dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype.

    Raises
    ------
    TypeError
        For a floating dtype.
    """
    return core.binary(_BITWISE_AND, x1, x2)


def bitwise_invert(x: Array, /) -> Array:
    """Return each element with all bits inverted; of integers and bools.

    Parameters
    ----------
    x : Array
        Of integer or bool dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        For a floating dtype.
    """
    return core.unary(_BITWISE_INVERT, x)


def bitwise_left_shift(x1: Array | int, x2: Array | int, /) -> Array:
    """Return each element of `x1` with its bits moved left by `x2`.

    Parameters
    ----------
    x1 : Array or int
        Of integer dtype.
    x2 : Array or int
        By how many bits, not negative; of integer dtype, and broadcast with `x1`.

    Returns
    -------
    Array
        Of the common dtype. What is moved out is lost: 0 if no bit is left.

    Raises
    ------
    TypeError
        For a floating dtype.
    """
    return core.binary(_BITWISE_LEFT_SHIFT, x1, x2)


def bitwise_or(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits set in either element of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Of integer or bool dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype.

    Raises
    ------
    TypeError
        For a floating dtype.
    """
    return core.binary(_BITWISE_OR, x1, x2)


def bitwise_right_shift(x1: Array | int, x2: Array | int, /) -> Array:
    """Return each element of `x1` with its bits moved right by `x2`, the sign kept.

    Parameters
    ----------
    x1 : Array or int
        Of integer dtype.
    x2 : Array or int
        By how many bits, not negative; of integer dtype, and broadcast with `x1`.

    Returns
    -------
    Array
        Of the common dtype: ``x1 // 2**x2``, which ends at 0, at -1 for negative `x1`.

    Raises
    ------
    TypeError
        For a floating dtype.
    """
    return core.binary(_BITWISE_RIGHT_SHIFT, x1, x2)


def bitwise_xor(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits set in one element only of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Of integer or bool dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype.

    Raises
    ------
    TypeError
        For a floating dtype.
    """
    return core.binary(_BITWISE_XOR, x1, x2)


def ceil(x: Array, /) -> Array:
    """Return each element rounded to the next whole number above.

    Parameters
    ----------
    x : Array
        Of real dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; integers as they are.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.unary(_CEIL, x)


def clip(x: Array, /, min: float | Array | None = None, max: float | Array | None = None) -> Array:
    """Return each element moved into the closed interval from `min` to `max`; None is no bound.

    Parameters
    ----------
    x : Array
        Of real dtype.
    min, max : Array or number, optional
        The bounds, of the dtype of `x`; they broadcast with it. An int may lie beyond
        the range of an integer `x`: it binds there like the end of the range.

    Returns
    -------
    Array
        Of the common dtype, which is that of `x` unless a bound is of a higher kind. NaN where `x`
        or a bound is; `max` where `min` is greater.

    Raises
    ------
    TypeError
        If a bound is neither an Array nor a number.
    """
    low, high = (None if bound is None else operand(bound) for bound in (min, max))
    return _clip(x, low, high)


def conj(x: Array, /) -> Array:
    """Return the complex conjugate of each element.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; real numbers as they are.
    """
    return core.unary(_CONJ, x)


def copysign(x1: Array | float, x2: Array | float, /) -> Array:
    """Return each element of `x1` with the sign of `x2`.

    Parameters
    ----------
    x1 : Array or float
        The magnitudes; of real floating dtype.
    x2 : Array or float
        The signs, also those of -0.0 and NaN; of real floating dtype, and broadcast with `x1`.

    Returns
    -------
    Array
        Of the common dtype.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_COPYSIGN, x1, x2)


def cos(x: Array, /) -> Array:
    """Return the cosine of each element, given in radians.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`. NaN at infinity for real `x`.
    """
    return core.unary(_COS, x)


def cosh(x: Array, /) -> Array:
    """Return the hyperbolic cosine of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.
    """
    return core.unary(_COSH, x)


def divide(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the quotient of each pair of elements, of floating dtype.

    Parameters
    ----------
    x1, x2 : Array or number
        Of numeric dtype, the dividends and the divisors; they broadcast.

    Returns
    -------
    Array
        Of the common dtype, float64 for integers. Infinite, or NaN for 0 / 0, where a divisor is 0.
    """
    return core.binary(_DIVIDE, x1, x2)


def equal(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether the elements of each pair are equal, as bool.

    Parameters
    ----------
    x1, x2 : Array or number
        Of any dtype; they broadcast.

    Returns
    -------
    Array
        Of dtype bool. NaN equals nothing, -0.0 equals 0.0; complex numbers are equal if
        both parts are.
    """
    return core.binary(_EQUAL, x1, x2)


def exp(x: Array, /) -> Array:
    """Return e to the power of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.
    """
    return core.unary(_EXP, x)


def expm1(x: Array, /) -> Array:
    """Return e to the power of each element, less 1; exact for small elements.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.
    """
    return core.unary(_EXPM1, x)


def floor(x: Array, /) -> Array:
    """Return each element rounded to the next whole number below.

    Parameters
    ----------
    x : Array
        Of real dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; integers as they are.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.unary(_FLOOR, x)


def floor_divide(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the quotient of each pair, rounded to the next whole number below.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype, the dividends and the divisors; they broadcast.

    Returns
    -------
    Array
        Of the common dtype. Where a divisor is 0: 0 for integers, else infinite, or NaN for 0 / 0.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_FLOOR_DIVIDE, x1, x2)


def greater(x1: Array | float, x2: Array | float, /) -> Array:
    """Return whether `x1` is greater than `x2`, pair by pair, as bool.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype; they broadcast.

    Returns
    -------
    Array
        Of dtype bool; false where either is NaN.
    """
    return core.binary(_GREATER, x1, x2)


def greater_equal(x1: Array | float, x2: Array | float, /) -> Array:
    """Return whether `x1` is greater than `x2` or equal, pair by pair, as bool.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype; they broadcast.

    Returns
    -------
    Array
        Of dtype bool; false where either is NaN.
    """
    return core.binary(_GREATER_EQUAL, x1, x2)


def hypot(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the length of the hypotenuse of each pair of legs, without overflow on the way.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real floating dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype. Infinite where either is, even if the other is NaN.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_HYPOT, x1, x2)


def imag(x: Array, /) -> Array:
    """Return the imaginary part of each element of a complex array.

    Parameters
    ----------
    x : Array
        Of complex dtype.

    Returns
    -------
    Array
        Of the real dtype of the same precision.

    Raises
    ------
    TypeError
        If `x` isn't complex.
    """
    return plain(_imag, x)


def isfinite(x: Array, /) -> Array:
    """Return whether each element is neither infinite nor NaN, as bool.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of dtype bool; for complex `x`, whether both parts are finite.
    """
    return core.unary(_ISFINITE, x)


def isinf(x: Array, /) -> Array:
    """Return whether each element is infinite, as bool.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of dtype bool; for complex `x`, whether either part is infinite.
    """
    return core.unary(_ISINF, x)


def isnan(x: Array, /) -> Array:
    """Return whether each element is NaN, as bool.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of dtype bool; for complex `x`, whether either part is NaN.
    """
    return core.unary(_ISNAN, x)


def less(x1: Array | float, x2: Array | float, /) -> Array:
    """Return whether `x1` is less than `x2`, pair by pair, as bool.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype; they broadcast.

    Returns
    -------
    Array
        Of dtype bool; false where either is NaN.
    """
    return core.binary(_LESS, x1, x2)


def less_equal(x1: Array | float, x2: Array | float, /) -> Array:
    """Return whether `x1` is less than `x2` or equal, pair by pair, as bool.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype; they broadcast.

    Returns
    -------
    Array
        Of dtype bool; false where either is NaN.
    """
    return core.binary(_LESS_EQUAL, x1, x2)


def log(x: Array, /) -> Array:
    """Return the natural logarithm of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        -inf at 0, NaN below for real `x`; of complex `x` the imaginary part is in [-pi, pi],
        the branch cut is the negative real axis.
    """
    return core.unary(_LOG, x)


def log10(x: Array, /) -> Array:
    """Return the logarithm to base 10 of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        -inf at 0, NaN below for real `x`; of complex `x` the branch cut is the negative real
        axis.
    """
    return core.unary(_LOG10, x)


def log1p(x: Array, /) -> Array:
    """Return the natural logarithm of 1 plus each element; exact for small elements.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        -inf at -1, NaN below for real `x`; of complex `x` the imaginary part is in [-pi, pi], the
        branch cut is the real axis below -1.
    """
    return core.unary(_LOG1P, x)


def log2(x: Array, /) -> Array:
    """Return the logarithm to base 2 of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        -inf at 0, NaN below for real `x`; of complex `x` the branch cut is the negative real
        axis.
    """
    return core.unary(_LOG2, x)


def logaddexp(x1: Array | float, x2: Array | float, /) -> Array:
    """Return ``log(exp(x1) + exp(x2))`` pair by pair, without overflow on the way.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real floating dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_LOGADDEXP, x1, x2)


def logical_and(x1: Array | bool, x2: Array | bool, /) -> Array:
    """Return whether both elements of each pair are true, as bool.

    Parameters
    ----------
    x1, x2 : Array or bool
        Of dtype bool; they broadcast. Of another dtype, all but 0 is true.

    Returns
    -------
    Array
        Of dtype bool.
    """
    return core.binary(_LOGICAL_AND, x1, x2)


def logical_not(x: Array, /) -> Array:
    """Return whether each element is zero, as bool.

    Parameters
    ----------
    x : Array
        Of dtype bool. Of another dtype, all but 0 is true.

    Returns
    -------
    Array
        Of dtype bool.
    """
    return core.unary(_LOGICAL_NOT, x)


def logical_or(x1: Array | bool, x2: Array | bool, /) -> Array:
    """Return whether either element of each pair is true, as bool.

    Parameters
    ----------
    x1, x2 : Array or bool
        Of dtype bool; they broadcast. Of another dtype, all but 0 is true.

    Returns
    -------
    Array
        Of dtype bool.
    """
    return core.binary(_LOGICAL_OR, x1, x2)


def logical_xor(x1: Array | bool, x2: Array | bool, /) -> Array:
    """Return whether one element only of each pair is true, as bool.

    Parameters
    ----------
    x1, x2 : Array or bool
        Of dtype bool; they broadcast. Of another dtype, all but 0 is true.

    Returns
    -------
    Array
        Of dtype bool.
    """
    return core.binary(_LOGICAL_XOR, x1, x2)


def maximum(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the greater element of each pair; NaN if either is.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype. Of 0.0 and -0.0 it may be either.
    """
    return core.binary(_MAXIMUM, x1, x2)


def minimum(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the lesser element of each pair; NaN if either is.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype. Of 0.0 and -0.0 it may be either.
    """
    return core.binary(_MINIMUM, x1, x2)


def multiply(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the product of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or number
        Of numeric dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype; integers wrap around.
    """
    return core.binary(_MULTIPLY, x1, x2)


def negative(x: Array, /) -> Array:
    """Return each element with the other sign.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; unsigned integers wrap around.

    Raises
    ------
    TypeError
        For dtype bool.
    """
    return core.unary(_NEGATIVE, x)


def nextafter(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the next number after `x1` towards `x2`, pair by pair.

    Parameters
    ----------
    x1 : Array or float
        Where to start; of real floating dtype.
    x2 : Array or float
        Where to go; of the same dtype, and broadcast with `x1`.

    Returns
    -------
    Array
        Of the common dtype: `x2` where the two are equal, NaN where either is.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_NEXTAFTER, x1, x2)


def not_equal(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether the elements of each pair differ, as bool.

    Parameters
    ----------
    x1, x2 : Array or number
        Of any dtype; they broadcast.

    Returns
    -------
    Array
        Of dtype bool. NaN differs from all, -0.0 not from 0.0; complex numbers do if
        either part does.
    """
    return core.binary(_NOT_EQUAL, x1, x2)


def positive(x: Array, /) -> Array:
    """Return each element as it is, in an array of its own.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        For dtype bool.
    """
    return core.unary(_POSITIVE, x)


def pow(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return `x1` to the power of `x2`, pair by pair.

    Parameters
    ----------
    x1 : Array or number
        The bases; of numeric dtype.
    x2 : Array or number
        The exponents; of numeric dtype, and broadcast with `x1`.

    Returns
    -------
    Array
        Of the common dtype; integers wrap around. 1 where `x2` is 0, for a base of NaN too. NaN for
        a negative real base with a fractional exponent; a complex base has the branch cut of `log`.

    Raises
    ------
    ValueError
        If both are integers and an exponent is negative.
    """
    return core.binary(_POW, x1, x2)


def real(x: Array, /) -> Array:
    """Return the real part of each element.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the real dtype of the same precision; a real `x` as it is.
    """
    return plain(_real, x)


def reciprocal(x: Array, /) -> Array:
    """Return 1 divided by each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`. Infinite at 0 for real `x`.
    """
    return core.unary(_RECIPROCAL, x)


def remainder(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the remainder of each division, with the sign of the divisor.

    Parameters
    ----------
    x1, x2 : Array or float
        Of real dtype, the dividends and the divisors; they broadcast.

    Returns
    -------
    Array
        Of the common dtype. Where a divisor is 0: 0 for integers, else NaN.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.binary(_REMAINDER, x1, x2)


def round(x: Array, /) -> Array:
    """Return each element rounded to the nearest whole number, halves to even.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; integers as they are, both parts of complex numbers rounded.

    Raises
    ------
    TypeError
        For dtype bool.
    """
    return core.unary(_ROUND if _is_inexact(x) else _POSITIVE, x)


def sign(x: Array, /) -> Array:
    """Return the sign of each element: -1, 0 or 1; its direction if it is complex.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`: NaN for NaN, ``x / abs(x)`` for complex numbers but 0.

    Raises
    ------
    TypeError
        For dtype bool.
    """
    return core.unary(_SIGN, x)


def signbit(x: Array, /) -> Array:
    """Return whether the sign bit of each element is set, as bool: true for -0.0.

    Parameters
    ----------
    x : Array
        Of real floating dtype.

    Returns
    -------
    Array
        Of dtype bool; of NaN, the bit it has.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.unary(_SIGNBIT, x)


def sin(x: Array, /) -> Array:
    """Return the sine of each element, given in radians.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`. NaN at infinity for real `x`.
    """
    return core.unary(_SIN, x)


def sinh(x: Array, /) -> Array:
    """Return the hyperbolic sine of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.
    """
    return core.unary(_SINH, x)


def sqrt(x: Array, /) -> Array:
    """Return the principal square root of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        NaN below 0 for real `x`; of complex `x` the real part isn't negative, the branch cut is the
        negative real axis.
    """
    return core.unary(_SQRT, x)


def square(x: Array, /) -> Array:
    """Return each element multiplied by itself.

    Parameters
    ----------
    x : Array
        Of numeric dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; integers wrap around.
    """
    return core.unary(_SQUARE, x)


def subtract(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the difference of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or number
        Of numeric dtype; they broadcast.

    Returns
    -------
    Array
        Of the common dtype; integers wrap around.

    Raises
    ------
    TypeError
        If both are bool.
    """
    return core.binary(_SUBTRACT, x1, x2)


def tan(x: Array, /) -> Array:
    """Return the tangent of each element, given in radians.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`. NaN at infinity for real `x`.
    """
    return core.unary(_TAN, x)


def tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent of each element.

    Parameters
    ----------
    x : Array
        Of real or complex floating dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`.
    """
    return core.unary(_TANH, x)


def trunc(x: Array, /) -> Array:
    """Return each element without its fraction: the next whole number towards zero.

    Parameters
    ----------
    x : Array
        Of real dtype.

    Returns
    -------
    Array
        Of the shape and dtype of `x`; integers as they are.

    Raises
    ------
    TypeError
        For a complex dtype.
    """
    return core.unary(_TRUNC, x)


def _is_inexact(x: Any) -> bool:
    return np.asarray(host(x)).dtype.kind in "fc"


def _real(x: Any) -> Any:
    return np.real(x) if x.dtype.kind == "c" else x.copy()


def _imag(x: Any) -> Any:
    if x.dtype.kind != "c":
        raise TypeError(f"imag() takes complex arrays, not {x.dtype}")
    return np.imag(x)


def _clip(x: Array, low: Any, high: Any) -> Array:
    """Clip to the bounds; numbers beyond the range of integers count as its ends."""
    dtype = x.dtype
    if low is None and high is None:
        return core.unary(_POSITIVE, x)
    if dtype.kind in "iu":
        low, high = _whole(low, dtype), _whole(high, dtype)
    return apply(_CLIP, x, low, high)


def _whole(bound: Any, dtype: np.dtype[Any]) -> Any:
    """Return a bound that the dtype can hold: beyond its range a bound binds nothing."""
    if type(bound) is int:
        info = np.iinfo(dtype)
        return builtins.min(builtins.max(bound, int(info.min)), int(info.max))
    return bound
