"""Write the tree of a Docker Space of Hugging Face into a folder: python deploy/space.py DIR.

The folder may be a clone of the Space: what an earlier call wrote there is replaced, and .git is left alone.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TREE = ("app.py", "requirements.txt", ".dockerignore", ".streamlit", "clsviz", "deploy/showcase.toml")
"""What the Dockerfile takes, where it takes it from."""

SETTINGS = """\
# A Space is shown in a frame of another site, where a browser sends no other cookie along with an upload.
ENV STREAMLIT_SERVER_XSRF_COOKIE_SAME_SITE=none
"""


def write_space(folder: Path) -> None:
    """Write the tree; raises ValueError for a folder that holds anything but a Space."""
    readme = folder / "README.md"
    is_space = readme.is_file() and "\nsdk: docker\n" in readme.read_text(encoding="utf-8")
    holds = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if not is_space and holds - {".git", ".gitattributes", "README.md"}:
        raise ValueError(f"{folder} holds something else than a Space. Name a new folder, or a clone of the Space.")
    for name in TREE:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    (folder / "Dockerfile").write_text(dockerfile.replace("USER 1000\n", f"{SETTINGS}USER 1000\n"), encoding="utf-8")
    shutil.copyfile(ROOT / "deploy" / "space.md", readme)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        sys.exit("Name a folder: make space DIR=../my-space")
    try:
        write_space(Path(sys.argv[1]))
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    print(f"{sys.argv[1]} is ready to push: deploy/README.md says how.")
