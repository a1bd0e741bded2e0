"""The public names: one table that Python reads, and a stub for type checkers that says the same."""

import ast
from pathlib import Path

import retvec_lite as rl


def test_type_checkers_read_the_same_names() -> None:
    stub = ast.parse(Path(rl.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found, exported = {}, None
    for statement in stub.body:
        if isinstance(statement, ast.ImportFrom):
            module = (statement.module or "").removeprefix("retvec_lite").removeprefix(".")
            for name in statement.names:
                found[name.asname or name.name] = f"{module}:{name.name}" if module else name.name
        elif isinstance(statement, ast.Assign):
            exported = ast.literal_eval(statement.value)
    assert found == rl._PLACES and exported == list(rl._PLACES) == rl.__all__


def test_every_name_is_kept_when_it_has_been_imported() -> None:
    for name in rl.__all__:
        assert getattr(rl, name) is vars(rl)[name]
