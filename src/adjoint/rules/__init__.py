"""The derivatives, declared once each, one file per family; `TABLE` holds them all by name.

A family is imported when one of its operations is first used: `names.py` says which operations it has.
"""

from .declare import TABLE, Rule

__all__ = ["TABLE", "Rule"]
