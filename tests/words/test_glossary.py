import pytest

from clsviz import words
from clsviz.words import glossary

PAGES = {name: terms for name, terms in vars(glossary).items() if name.isupper() and isinstance(terms, tuple)}


@pytest.mark.parametrize("page", PAGES)
def test_each_page_explains_terms_that_are_known_each_once(page: str) -> None:
    assert set(PAGES[page]) <= words.glossary.TERMS.keys()
    assert len(set(PAGES[page])) == len(PAGES[page])


def test_every_term_is_met_on_some_page_and_takes_few_sentences() -> None:
    assert len(PAGES) == 6
    assert set().union(*PAGES.values()) == set(words.glossary.TERMS)
    for meaning in words.glossary.TERMS.values():
        assert meaning.endswith(".")
        assert 1 <= meaning.count(". ") + 1 <= 3
        assert len(meaning.split()) < 50
