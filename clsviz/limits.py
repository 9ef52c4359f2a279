"""What one server allows its visitors: decided once, when it starts, and handed to whoever needs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    is_public: strangers may visit, so only models and corpora of the catalogue and uploads are open to them, without
        revisions, and no path of this machine.
    sample_size, probe_size: most sentences of a sample, and most of those whose vectors are measured.
    task_size: most sentences that are measured of the file of a published task.
    n_encoders: models that are kept in memory at the same time.
    unwatched_seconds: how long a run goes on once nobody watches it, so that reloading the page does not stop it; None
        means to its end.
    """

    is_public: bool
    sample_size: int
    probe_size: int
    task_size: int
    n_encoders: int
    unwatched_seconds: float | None


LOCAL = Limits(
    is_public=False,
    sample_size=1_000_000,
    probe_size=20_000,
    task_size=1_000_000,
    n_encoders=2,
    unwatched_seconds=None,
)
PUBLIC = Limits(
    is_public=True, sample_size=20_000, probe_size=5_000, task_size=5_000, n_encoders=1, unwatched_seconds=15.0
)


def limits_of(environment: Mapping[str, str], checkout: Path = Path(__file__).parents[1]) -> Limits:
    """PUBLIC where CLSVIZ_PUBLIC is set to anything but 0, LOCAL where it is 0; where it is not set, the host decides.

    Hosts that show an app to strangers are public on their own. Hugging Face Spaces say who they are. Streamlit
    Community Cloud documents no sign, so any one of three counts that are seen there: the name of the machine, the
    home folder, and where the repository is checked out.
    """
    if told := environment.get("CLSVIZ_PUBLIC"):
        return LOCAL if told == "0" else PUBLIC
    is_space = "SPACE_ID" in environment
    is_community_cloud = (
        environment.get("HOSTNAME") == "streamlit"
        or environment.get("HOME") == "/home/appuser"
        or checkout.is_relative_to("/mount/src")
    )
    return PUBLIC if is_space or is_community_cloud else LOCAL
