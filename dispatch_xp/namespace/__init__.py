"""The Array API namespace, standard 2025.12: what :mod:`dispatch_xp` offers as ``xp``.

One file per chapter of the standard; :mod:`dispatch_xp.chapters` lists their names.
"""
