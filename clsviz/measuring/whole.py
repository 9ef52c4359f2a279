"""What is known of a whole corpus, of which the sample holds the first sentences only."""

from dataclasses import replace

from clsviz import measuring
from clsviz.measuring.found import Found
from clsviz.measuring.part import missing, n_between
from clsviz.measuring.part_file import Key, Part
from clsviz.measuring.store import Store
from clsviz.progress import Progress


def counted(found: Found, store: Store, key: Key, progress: Progress) -> Found:
    """What was found of the sample, with the census of all sentences, or how many are left to be measured.

    The same where the sample is not of a whole corpus. Raises StoreError, and CancelledError if cancelled.
    """
    if found.sample.whole is None:
        return found
    n = found.sample.n_sentences
    n_missing = n_between(missing(store.parts(key).values(), n))
    damaged: list[Part] = []
    # through the face: SciPy loads only now
    census = None if n_missing else measuring.take_census(store, key, n, progress, damaged.append)
    if damaged:  # and deleted, so that they are missing now
        return counted(replace(found, damaged_parts=found.damaged_parts + len(damaged)), store, key, progress)
    n_left = n_missing - (len(found.sentences) - len(found.measurements))
    return replace(found, census=census, n_left=max(n_left, 0))


def is_counted(found: Found, store: Store, key: Key) -> bool:
    """Whether `counted` takes but a moment: nothing is to be counted, or what was is kept."""
    if found.sample.whole is None:
        return True
    return measuring.is_kept(store, key, found.sample.n_sentences)
