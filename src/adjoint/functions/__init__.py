"""Public functions made of declared operations, one file per family.

A family is imported when one of its functions is first used: `names.py` lists the functions of each family.
"""
