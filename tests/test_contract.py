"""What users rely on by name stays as it is."""

from pathlib import Path

from contract import contract


def test_flags_links_public_names_and_keys_are_those_that_users_know(tmp_path: Path) -> None:
    """A change here breaks somebody's script: `python tests/contract.py > tests/contract.txt` writes it anew."""
    known = Path(__file__).with_name("contract.txt").read_text(encoding="utf-8").splitlines()
    found = list(contract())
    assert [line for line in known if line not in found] == []
    assert [line for line in found if line not in known] == []
