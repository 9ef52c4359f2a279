"""What one server allows its visitors: decided once, when it starts, and handed to whoever needs it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    is_public: strangers may visit, so only models and corpora of the catalogue and uploads are open to them, without
        revisions, and no path of this machine.
    sample_size, probe_size: most sentences of a sample, and most of those whose vectors are measured.
    n_encoders: models that are kept in memory at the same time.
    unwatched_seconds: how long a run goes on once nobody watches it, so that reloading the page does not stop it; None
        means to its end.
    """

    is_public: bool
    sample_size: int
    probe_size: int
    n_encoders: int
    unwatched_seconds: float | None


LOCAL = Limits(is_public=False, sample_size=1_000_000, probe_size=20_000, n_encoders=2, unwatched_seconds=None)
PUBLIC = Limits(is_public=True, sample_size=20_000, probe_size=5_000, n_encoders=1, unwatched_seconds=15.0)


def limits_of(environment: Mapping[str, str]) -> Limits:
    """PUBLIC where CLSVIZ_PUBLIC is set to anything but 0, else LOCAL."""
    return PUBLIC if environment.get("CLSVIZ_PUBLIC", "0") not in ("", "0") else LOCAL
