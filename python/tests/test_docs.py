"""The blocks of Python in the README and in docs/python.md, one after the other."""

import ast
import re
import shutil

import tenon
from conftest import DATA, SOURCE


def blocks_of(page):
    return re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)


def test_readme(monkeypatch, capsys):
    monkeypatch.chdir(SOURCE)
    page = (SOURCE / "README.md").read_text(encoding="utf-8")
    blocks = blocks_of(page)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    promised = re.findall(r"print\(.*# (.*)", "".join(blocks))
    assert promised and capsys.readouterr().out == "\n".join(promised) + "\n"


def test_blocks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(DATA / "net.onnx", "model.onnx")
    text = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = blocks_of(text)
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert len(blocks) > 5
    said = capsys.readouterr().out
    promised = re.search(r"# (input 'x': got .*)", text).group(1)
    assert promised in said


def test_stubs_name_what_there_is():
    """Every public name has a stub, and every name in the stubs is there."""
    tree = ast.parse((SOURCE / "python" / "tenon" / "__init__.pyi").read_text(encoding="utf-8"))
    stubs = {n.name: n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    assert {n for n in tenon.__all__ if n != "ops"} <= set(stubs)
    for name, node in stubs.items():
        if name.startswith("_"):
            continue
        assert hasattr(tenon, name), name
        members = [n.name for n in getattr(node, "body", []) if isinstance(n, ast.FunctionDef)]
        missing = [m for m in members if not hasattr(getattr(tenon, name), m)]
        assert not missing or isinstance(node, ast.FunctionDef), (name, missing)
        public = [m for m in vars(getattr(tenon, name)) if not m.startswith("_")] if members else []
        fields = [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]
        assert set(public) <= {*members, *fields}, (name, set(public) - {*members, *fields})
